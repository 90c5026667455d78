"""The tasks of the command line besides taggers and classifiers: one table, from which all commands work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.cli._examples import Examples, Request, TaskScores


@dataclass(frozen=True)
class Option:
    """An option of ``fit`` that sets a parameter of the estimator, or names a further file.

    Attributes
    ----------
    name : the parameter, or the name of the file in `Request.files`.
    kind : str, int, float, bool, or list for values separated by commas.
    help : one line.
    is_file : whether the value is the name of a file that the reader of the training data needs.
    """

    name: str
    kind: type
    help: str
    is_file: bool = False

    @property
    def flag(self) -> str:
        """The option as it is written on the command line."""
        flag = f"--{self.name.replace('_', '-')}"
        return f"{flag}/--no-{flag[2:]}" if self.kind is bool else flag


@dataclass(frozen=True)
class Task:
    """What the commands need to know of an estimator whose data are files.

    Attributes
    ----------
    name : name of the command ``fit NAME``.
    estimator : public name of the estimator.
    summary : what is trained, for ``--help``.
    module : module of the command line with the functions below.
    read : name of the function that returns the examples of a file with their outputs.
    inputs : name of the function that yields inputs to predict, a batch at a time.
    write : name of the function that yields the text of the predictions of a batch.
    score : name of the function that returns the scores of predictions.
    options : further options of ``fit``.
    forms : other forms of the predictions, for ``predict --format``.
    numbered : whether the files have numbered features.
    resumes : whether an interrupted fit can continue from a checkpoint.
    """

    name: str
    estimator: str
    summary: str
    module: str
    read: str
    inputs: str
    write: str
    score: str
    options: tuple[Option, ...] = ()
    forms: tuple[str, ...] = ()
    numbered: bool = False
    resumes: bool = True

    def _function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(import_module(f"maxmargin.cli.{self.module}"), name)
        return function

    def examples(self, model: Any, source: str, request: Request) -> Examples:
        """Return the examples of a file with their outputs."""
        examples: Examples = self._function(self.read)(model, source, request)
        return examples

    def batches(self, model: Any, source: str, request: Request) -> Iterator[Examples]:
        """Yield inputs of a file to predict, a batch at a time."""
        yield from self._function(self.inputs)(model, source, request)

    def predictions(self, model: Any, source: str, request: Request) -> Iterator[str]:
        """Yield the text of the predictions for a file."""
        for examples in self.batches(model, source, request):
            yield from self._function(self.write)(model, examples, request)

    def scores(self, model: Any, examples: Examples, request: Request) -> TaskScores:
        """Return the scores of predictions."""
        scores: TaskScores = self._function(self.score)(model, examples, request)
        return scores


#: All tasks; the order is that of ``maxmargin fit --help``.
TASKS = (
    Task(
        "parser", "DependencyParser", "Train a dependency parser on CoNLL-U: the head and the relation of every word.",
        "_sentences", "read_dependencies", "read_words", "write_dependencies", "score_dependencies",
        (
            Option("tags", list, "Columns of tags to use, or none; by default upos,xpos, as far as the training "
                   "data have them. A file to be parsed must have them too."),
            Option("labelled", bool, "Learn relations too; by default if the training data have them."),
            Option("projective", bool, "Trees without crossing arcs."),
            Option("lift", bool, "Make true trees projective by lifting arcs."),
            Option("single_root", bool, "Exactly one word has the root as its head (default)."),
            Option("min_count", int, "Leave out features of fewer true arcs."),
        ),
    ),
    Task(
        "grammar", "ConstituencyParser", "Train a constituency parser on trees in brackets.",
        "_sentences", "read_phrases", "read_tokens", "write_phrases", "score_phrases",
        (
            Option("loss", str, "constituents (default), f1 or zero-one."),
            Option("parent_annotation", bool, "Symbols carry the label of their parent."),
            Option("horizontal", int, "Number of siblings that the next child of a rule depends on (1)."),
            Option("span_features", bool, "Features of constituents (default); without, rules alone."),
            Option("clean", bool, "Remove function tags, co-indices and traces (default)."),
            Option("min_count", int, "Leave out rarer words and pairs of tags."),
        ),
    ),
    Task(
        "measure", "MeasureSVC", "Train a classifier of svmlight rows for F1, ROC area or another measure of all rows.",
        "_rows", "read_rows", "row_inputs", "write_labels", "score_measure",
        (
            Option("measure", str, "f1 (default), f2, prbep, precision@10, recall@10, roc_auc, average_precision, mcc, "
                   "jaccard, error, balanced, ..."),
            Option("threshold", str, "learned (default), tuned or cv."),
            Option("bound", str, "auto (default), margin, slack, ramp or ramp-slack."),
            Option("average", str, "macro (default) or micro, with more than two labels."),
            Option("fit_intercept", bool, "A constant feature (default)."),
        ),
        numbered=True,
    ),
    Task(
        "ranker", "StructuredRanker", "Train a ranker on LETOR's format: RELEVANCE qid:QUERY FEATURE:VALUE ...",
        "_rows", "read_queries", "query_inputs", "write_ranking", "score_ranking",
        (
            Option("measure", str, "ndcg@10 (default), ndcg, pairwise, ap, precision@10, ..."),
            Option("bound", str, "auto (default), margin, ties or ramp."),
            Option("gain", str, "exponential (default) or linear, for NDCG."),
            Option("drop_empty", bool, "Leave out queries that cannot be learnt from without a warning, or make them "
                   "an error."),
        ),
        ("trec",), numbered=True,
    ),
    Task(
        "taxonomy", "TaxonomyClassifier", "Train a classifier of svmlight rows whose classes are nodes of a hierarchy.",
        "_rows", "read_classes", "class_inputs", "write_classes", "score_classes",
        (
            Option("hierarchy", str, "The hierarchy: lines CHILD PARENT; labels of rows are leaves.", is_file=True),
            Option("loss", str, "mixed (default), tree or zero-one."),
            Option("inner_nodes", bool, "All nodes are classes, not only leaves."),
            Option("fit_intercept", bool, "A constant feature (default)."),
        ),
        numbered=True,
    ),
    Task(
        "multilabel", "MultilabelSVM", "Train a classifier of svmlight rows with sets of labels: 0,3 FEATURE:VALUE ...",
        "_rows", "read_sets", "set_inputs", "write_sets", "score_sets",
        (
            Option("pairs", str, "Pairs of labels with a weight: all (default; at most 15 labels), tree or none."),
            Option("loss", str, "hamming (default) or f1."),
            Option("fit_intercept", bool, "A constant feature (default)."),
        ),
        numbered=True,
    ),
    Task(
        "folder", "RNAFolder", "Train a model of RNA structures on dot-bracket, CT, bpseq or Stockholm files.",
        "_sequences", "read_folded", "sequence_inputs", "write_folded", "score_folded",
        (
            Option("loss", str, "recall (default)."),
            Option("prior", str, "turner (default), Turner's energies, or none."),
            Option("max_per_group", int, "Maximum number of RNAs of one family (10)."),
            Option("compare_prior", bool, "Compare with the prior on held-out families (default)."),
            Option("impossible", str, "Structures that cannot be predicted: error (default), or drop pairs."),
            Option("canonical", bool, "Only A-U, C-G and G-U pair (default); without, all bases do."),
            Option("min_hairpin", int, "Least number of bases in a hairpin (3)."),
            Option("max_loop", int, "Maximum number of unpaired bases in a bulge or an interior loop (30)."),
            Option("decode", str, "risk (default) or map."),
        ),
    ),
    Task(
        "aligner", "PairwiseAligner", "Train an aligner on aligned FASTA: records 1 and 2, 3 and 4, ... are pairs.",
        "_sequences", "read_aligned", "pair_inputs", "write_aligned", "score_aligned",
        (
            Option("alphabet", str, "The letters, for example ACGT; amino acids by default."),
            Option("mode", str, "global (default), local or semiglobal."),
            Option("features", str, "simple, anova2, tensor, window (default) or profile."),
            Option("window", int, "Greatest distance of neighbouring positions (8)."),
            Option("loss", str, "recall (default), q4, precision or columns."),
            Option("prior", str, "log-odds (default), BLOSUM62 and other matrices, or none."),
        ),
    ),
    Task(
        "motif", "MotifFinder", "Train a finder of a motif in sequences: FASTA with label=1 and label=0 in titles.",
        "_sequences", "read_labelled", "labelled_inputs", "write_sites", "score_sites",
        (
            Option("negatives", str, "FASTA of sequences without the motif; TRAIN are those with it.", is_file=True),
            Option("length", int, "Length of the motif (11)."),
            Option("background_order", int, "Order of the Markov background (3)."),
            Option("alphabet", str, "The letters: ACGT by default."),
            Option("both_strands", bool, "The motif may be on the other strand."),
            Option("n_restarts", int, "Number of runs, of which the best is kept (5)."),
        ),
        resumes=False,
    ),
)  # fmt: skip


def task_of(model: Any) -> Task | None:
    """Return the task of a model; None if there is none."""
    return next((task for task in TASKS if task.estimator == type(model).__name__), None)
