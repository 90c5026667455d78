"""Weighted context-free grammars read off a treebank (Tsochantaridis et al. 2004, section 5.5).

Ψ(x, y) = how often y uses each rule (and features of its constituents)
Δ(y, ŷ) = 1 − F1 of labelled constituents, the number of wrong and missed ones, or whether ŷ ≠ y
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, is_list, whole_number
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.ragged import ONLY
from maxmargin._base.types import CodeArray, FloatArray
from maxmargin.core.planes import Answers
from maxmargin.core.structure import WeightTable
from maxmargin.features.text.brackets import TreeTuple
from maxmargin.features.text.treebank import (
    Token,
    TreeForm,
    check_tagged,
    constituents,
    read_sentence_tags,
    read_tree,
    shown_tree,
    tags_of,
)
from maxmargin.parts.structure import PartStructure
from maxmargin.structures.grammar.enumeration import all_trees
from maxmargin.structures.grammar.examples import COSTS, GrammarExamples, tree_losses
from maxmargin.structures.grammar.rules import GrammarRules
from maxmargin.structures.grammar.spans import TEMPLATES, SpanFeatures

LEAVES = ("auto", "tags", "words")


class Grammar(PartStructure):
    """Trees of sentences, by a weighted context-free grammar with the rules of the training trees.

    Each x is a sentence: a list of tags, or of pairs (word, tag). Each y is its tree: a string in brackets, nested
    tuples (label, child, …) or an nltk.Tree, whose leaves are the tags, or words below their tags. All rules that occur
    in the training trees belong to the grammar; unary rules are used in the chains that occur. Trees are found by the
    algorithm of Cocke, Kasami and Younger over right-hand sides of any length, without pruning. Ties go to the
    derivation whose last child begins first, and then to the rule seen first.

    Parameters
    ----------
    cost : {"f1", "constituents", "zero-one"}, default="f1"
        The loss: 1 − F1 of labelled constituents, the number of wrong and missed constituents, or 1 for every tree but
        the true one. A constituent is a label and the tokens below it; tags and the root (TOP, ROOT, S1 or '') are not
        constituents. Argmaxes with all three are exact; those with "f1" take 10 to 60 times as long as with
        "constituents".
    parent_annotation : bool, default=False
        Whether symbols of the grammar carry the label of their parent (Johnson 1998). A rule that occurs under one
        parent belongs to the grammar under all parents that its left-hand side has in the training trees.
    horizontal : int or None, default=None
        Number of siblings to the left that the next child of a long rule depends on; None for all, so only
        right-hand sides of the training trees occur.
    span_features : bool or list of str, default=False
        Features of constituents with their label: any of "first" and "last" (their first and last tags), "length",
        "split" (the tags where the last child begins), "context" (the tags around them) and "words" (words, where the
        others have tags). True for all.
    leaves : {"auto", "tags", "words"}, default="auto"
        What leaves of trees are; "auto" for words if nine of ten leaves of the training trees are only children.
    glue : bool, default=True
        What to predict for sentences that the grammar does not derive: a root over as few pieces as possible if True,
        otherwise None, with a warning.
    min_count : int, default=1
        Words, and pairs of tags, that occur less often in the training data are left out of `span_features`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> trees = ["(S (NP DT NN) (VP VBZ))", "(S (NP PRP) (VP VBZ (NP DT NN)))"]
    >>> X = [["DT", "NN", "VBZ"], ["PRP", "VBZ", "DT", "NN"]]
    >>> model = mm.StructuralSVM(mm.Grammar(), C=10.0).fit(X, trees)
    >>> model.predict([["DT", "NN", "VBZ", "DT", "NN"]])
    ['(S (NP DT NN) (VP VBZ (NP DT NN)))']
    """

    output_name: ClassVar[str] = "tree"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "sums"})
    learns: ClassVar[dict[str, type]] = {"form_": TreeForm, "rules_": GrammarRules, "spans_": SpanFeatures}

    def __init__(
        self,
        *,
        cost: str = "f1",
        parent_annotation: bool = False,
        horizontal: int | None = None,
        span_features: bool | Sequence[str] = False,
        leaves: str = "auto",
        glue: bool = True,
        min_count: int = 1,
    ) -> None:
        self.cost, self.parent_annotation, self.horizontal = cost, parent_annotation, horizontal
        self.span_features, self.leaves, self.glue, self.min_count = span_features, leaves, glue, min_count

    def check_parameters(self) -> None:
        if self.cost not in COSTS:
            raise ValueError(f"the loss of a grammar must be 'f1', 'constituents' or 'zero-one', found {self.cost!r}")
        check_flag(self.parent_annotation, "parent_annotation")
        if self.horizontal is not None:
            whole_number(self.horizontal, "horizontal", 0)
        self._templates()
        if self.leaves not in LEAVES:
            raise ValueError(f"leaves must be 'auto', 'tags' or 'words', found {self.leaves!r}")
        check_flag(self.glue, "glue")
        whole_number(self.min_count, "min_count")

    def _templates(self) -> tuple[str, ...]:
        """Return the templates of span features."""
        given = self.span_features
        if isinstance(given, bool | np.bool_):
            return TEMPLATES if given else ()
        if not is_list(given) or not all(isinstance(name, str) and name in TEMPLATES for name in given):
            raise ValueError(
                f"span_features must be True, False or a list of {', '.join(TEMPLATES)}, found {given!r:.60}"
            )
        if "words" in given and len(set(given) - {"words", "length"}) == 0:
            raise ValueError("span_features: 'words' needs 'first', 'last', 'split' or 'context', the places of words")
        return tuple(name for name in TEMPLATES if name in given)

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> GrammarExamples:
        sentences = [read_sentence_tags(x, Place("X", i)) for i, x in enumerate(X)]
        trees = None if Y is None else self._bare_trees(Y, sentences, learn)
        if learn:
            assert trees is not None
            self._set_options()
            self.rules_.fit(trees)
            self.spans_.templates = self._templates() if self.rules_.labels else ()
            self.spans_.fit(sentences)
        truths = None
        if trees is not None:
            truths = [
                self.rules_.code(tree, 4 * len(sentence), Place("Y", i))
                for i, (tree, sentence) in enumerate(zip(trees, sentences, strict=True))
            ]
        else:
            for i, sentence in enumerate(sentences):
                check_tagged(sentence, self.rules_.tags, self.form_.words, Place("X", i))
        rows = self.spans_.encode(sentences) if self.spans_.templates else None
        return GrammarExamples(self, sentences, rows, truths)

    def _bare_trees(self, Y: Sequence[Any], sentences: Sequence[list[Token]], learn: bool) -> list[TreeTuple]:
        """Return true trees with tags as leaves."""
        read = [read_tree(y, Place("Y", i)) for i, y in enumerate(Y)]
        if learn:
            self.form_.fit(Y, read, self.leaves)
        return [self._paired_tree(y, sentences[i], i) for i, y in enumerate(read)]

    def _set_options(self) -> None:
        """Hand the parameters to the encoders."""
        self.rules_.annotated = bool(self.parent_annotation)
        self.rules_.horizontal = None if self.horizontal is None else int(self.horizontal)
        self.spans_.min_count = int(self.min_count)

    def survey(self, X: Sequence[Any], Y: Sequence[Any]) -> dict[str, Any]:
        self.form_, self.rules_, self.spans_ = TreeForm(), GrammarRules(), SpanFeatures()
        sentences = [read_sentence_tags(x, Place("X", i)) for i, x in enumerate(X)]
        trees = self._bare_trees(Y, sentences, True)
        self._set_options()
        self.rules_.read(trees)
        self.spans_.templates = self._templates()
        rules = {name: getattr(self.rules_, name) for name in ("symbols", "rules", "chains", "starts")}
        return {"form": self.form_, "rules": rules, "spans": self.spans_.survey(sentences)}

    def learn_from(self, surveys: Sequence[dict[str, Any]]) -> None:
        self.form_, self.rules_, self.spans_ = surveys[0]["form"], GrammarRules(), SpanFeatures()
        for k, survey in enumerate(surveys):
            if survey["form"].get_state() != self.form_.get_state():
                raise ValueError(
                    f"the trees of part {k} of the data have other leaves than those of part 0; set leaves="
                )
        parts = [GrammarRules() for _ in surveys]
        for part, survey in zip(parts, surveys, strict=True):
            vars(part).update(survey["rules"])
        self._set_options()
        self.rules_.merge(parts)
        self.spans_.templates = self._templates() if self.rules_.labels else ()
        self.spans_.learn_from([survey["spans"] for survey in surveys])
        self._set_size()

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> GrammarExamples:
        examples = super().encode(X, Y)
        assert isinstance(examples, GrammarExamples)
        return examples

    def _paired_tree(self, y: TreeTuple, sentence: list[Token], i: int) -> TreeTuple:
        """Return the tree of tags of a true tree; raise an error if it does not fit its sentence."""
        tree, tokens = self.form_.bare(y, Place("Y", i))
        tags, expected = [tag for _, tag in tokens], [tag for _, tag in sentence]
        if tags != expected:
            raise error_at(
                Place("Y", i),
                f"the tree has the tags {' '.join(tags)!r:.60}, but X[{i}] has {' '.join(expected)!r:.60}",
            )
        for (word, _), (other, _) in zip(tokens, sentence, strict=True):
            if word is not None and other is not None and word != other:
                raise error_at(Place("Y", i), f"the tree has the word {word!r:.60} where X[{i}] has {other!r:.60}")
        return tree

    def code_of(self, y: Any, where: Where) -> CodeArray:
        tree, tokens = self.form_.bare(read_tree(y, where), where)
        return self.rules_.code(tree, 4 * len(tokens), where)

    def output_of(self, code: CodeArray) -> Any:
        """Return the tree of a code, with tags as leaves."""
        tags = self.rules_.leaf_tags(code)
        return shown_tree(self.rules_.tree(code, tags, self.rules_.root), self.form_.kind)

    # ------------------------------------------------------------------ outputs

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the loss `cost` of a tree ŷ; None means no tree, which counts as one without constituents."""
        form = getattr(self, "form_", None)
        if form is None:
            form = TreeForm()
            form.fit([y], [read_tree(y, "y")], self.leaves)
        true = form.bare(read_tree(y, "y"), "y")[0]
        predicted_tree = None if y_hat is None else form.bare(read_tree(y_hat, "y_hat"), "y_hat")[0]
        if predicted_tree is not None and len(tags_of(true)) != len(tags_of(predicted_tree)):
            raise ValueError(f"y has {len(tags_of(true))} tokens but y_hat has {len(tags_of(predicted_tree))}")
        if self.cost == "zero-one":
            return float(true != predicted_tree)
        expected, predicted = (Counter(constituents(tree)) if tree else Counter() for tree in (true, predicted_tree))
        matched = (expected & predicted).total()
        loss = float(tree_losses(COSTS[self.cost], expected.total(), predicted.total(), matched))
        return max(loss, 1.0) if predicted_tree is None else loss

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best trees with their scores, best first; fewer if there are fewer.

        For a sentence that the grammar does not derive, the only tree is the glued one, if there is one.
        """
        examples = self.encode([x])
        scores = examples.scores(np.asarray(w, float), ONLY)
        codes, values = examples.best_trees(scores, whole_number(k, "k")) if len(examples.tokens) else ([], [])
        if not codes and self.glue and len(examples.tokens):
            answers: Answers = examples.empty_answers()
            examples.decode_scores(scores, ONLY, np.zeros(1), answers)
            codes, values = [answers.codes], [float(answers.rises[0])]
        return [(examples.output(0, 0, code), score) for code, score in zip(codes, values, strict=True)]

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all trees of a sentence, for tests: there may be very many."""
        examples = self.encode([x])
        tags = [tag for _, tag in examples.sentences[0]]
        for tree in all_trees(self.rules_, tags):
            yield examples.output(0, 0, self.rules_.code(tree, 4 * len(tags), "y"))

    # ------------------------------------------------------------------ weights

    def tables(self) -> dict[str, WeightTable]:
        labels = self.rules_.labels
        tables = {"rules": WeightTable(self.rules_.column_names())}
        if self.spans_.templates:
            shapes = self.spans_.shape_names(labels)
            tables |= {"shapes": WeightTable(shapes)} if len(shapes) else {}
            tables |= {block: WeightTable(self.spans_.block_names(block), labels) for block in self.spans_.blocks}
        return tables

    def log_probabilities(self, X: Sequence[Any], Y: Sequence[Any], sample_weight: Any = None) -> FloatArray:
        """Return the weights of the maximum-likelihood grammar: the logarithms of relative frequencies of rules.

            w_r = log (Σ_i c_i n_r(y_i) / Σ_i c_i n_{left-hand side of r}(y_i))

        The weights of other features are 0; a rule that no tree uses gets −∞, as the grammar is larger than the trees.
        With `parent_annotation`, frequencies are smoothed: 5 more occurrences of each left-hand side are distributed
        over its rules as those of the grammar without annotations are.

        Parameters
        ----------
        X, Y : sequence
            Sentences and their trees, which the grammar derives.
        sample_weight : array-like of shape (n,), default=None
            c_i of each tree; 1 by default.

        Returns
        -------
        ndarray of shape (size,)
            The weights.
        """
        examples = self.encode(X, Y)
        weights = np.ones(examples.n_examples) if sample_weight is None else np.asarray(sample_weight, float)
        return examples.log_probabilities(weights)

    # ------------------------------------------------------------------ saving

    def pack_outputs(self, outputs: list[Any]) -> dict[str, Any]:
        return {"trees": [None if y is None else read_tree(y, "output") for y in outputs]}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        kind = self.form_.kind
        return [None if tree is None else shown_tree(read_tree(tree, "output"), kind) for tree in packed["trees"]]
