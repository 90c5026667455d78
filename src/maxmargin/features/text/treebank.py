"""Constituency trees of three kinds (bracket strings, nested tuples, nltk trees) and sentences of tags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Where, error_at, inside
from maxmargin._base.extras import missing_package
from maxmargin.features.text.brackets import BracketError, TreeTuple, parse_brackets, written
from maxmargin.features.text.sentences import are_tokens, check_order, untagged

#: Labels of roots, which are not constituents; evalb ignores TOP.
ROOTS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})
KINDS = ("brackets", "tuples", "nltk")
_EXPECTED_TREE = "a tree: a string in brackets, nested tuples (label, child, …) or an nltk.Tree"
_EXPECTED_SENTENCE = "a list of tags or of pairs (word, tag)"

#: A token: its word, or None if only its tag is known, and its tag.
Token = tuple[str | None, str]


def is_nltk(tree: Any) -> bool:
    """Return whether a value is an nltk tree; nltk is not imported."""
    module = sys.modules.get("nltk.tree")
    return module is not None and isinstance(tree, module.Tree)


@dataclass(frozen=True)
class ReadTree:
    """A tree that has been read: as nested tuples, with the kind that the user has.

    Attributes
    ----------
    tree : tuple
        The tree.
    kind : {"brackets", "nltk", "tuples"}
        The kind.
    """

    tree: TreeTuple
    kind: str


def kind_of(tree: Any) -> str:
    """Return the kind of a tree."""
    if isinstance(tree, ReadTree):
        return tree.kind
    return "brackets" if isinstance(tree, str) else "nltk" if is_nltk(tree) else "tuples"


def is_tree(x: Any) -> bool:
    """Return whether an input is a tree instead of a sentence: brackets, an nltk tree, or a label and subtrees."""
    if isinstance(x, str):
        return x.lstrip().startswith("(")
    if is_nltk(x):
        return True
    return isinstance(x, tuple) and len(x) > 1 and isinstance(x[0], str) and any(is_list(child) for child in x[1:])


def read_tree(y: Any, where: Where) -> TreeTuple:
    """Return a tree as nested tuples; raise an error if it is not a tree of labels and leaves."""
    if isinstance(y, ReadTree):
        return y.tree
    if isinstance(y, str):
        try:
            trees = list(parse_brackets(y))
        except BracketError as error:
            raise error_at(where, error.message) from None
        if len(trees) != 1:
            what = "an empty tree: expected one tree in brackets, found none" if not trees else (
                f"expected one tree in brackets, found {len(trees)}"
            )  # fmt: skip
            raise error_at(where, what)
        return trees[0]
    if is_nltk(y):
        return _tuples(y, is_nltk, _nltk_node, where)
    if not is_list(y) or hasattr(y, "to_numpy"):  # frames and series have no children by position
        raise error_at(where, f"expected {_EXPECTED_TREE}, found {type(y).__name__} {y!r:.60}")
    return _tuples(y, is_list, _list_node, where)


def _nltk_node(tree: Any, where: Where) -> tuple[str, list[Any]]:
    """Return the label and the children of a node of an nltk tree."""
    label = tree.label()
    if not isinstance(label, str):
        raise error_at(where, f"expected labels that are strings, found {type(label).__name__} {label!r:.60}")
    if len(tree) == 0:
        raise error_at(where, f"an empty tree: {label or 'the root'} has no children")
    return str(label), list(tree)


def _list_node(node: Any, where: Where) -> tuple[str, list[Any]]:
    """Return the label and the children of a node of nested lists."""
    if len(node) == 0 or not isinstance(node[0], str):
        shown = f"{type(node).__name__} {node!r:.60}" if len(node) else "an empty tree: ()"
        raise error_at(where, f"expected (label, child, …), found {shown}")
    if len(node) == 1:
        raise error_at(where, f"an empty tree: ({node[0]}) has no children")
    return str(node[0]), list(node[1:])


def _tuples(
    tree: Any, is_node: Callable[[Any], bool], opened: Callable[..., tuple[str, list[Any]]], where: Where
) -> Any:
    """Return a tree as nested tuples, without recursion: trees may be deeper than Python's stack."""
    label, children = opened(tree, where)
    nodes: list[tuple[list[Any], list[Any]]] = [([label], children[::-1])]
    while True:
        made, left = nodes[-1]
        if not left:
            nodes.pop()
            if not nodes:
                return tuple(made)
            nodes[-1][0].append(tuple(made))
        elif is_node(child := left.pop()):
            label, children = opened(child, where)
            nodes.append(([label], children[::-1]))
        else:
            made.append(_leaf(child, where))


def _leaf(leaf: Any, where: Where) -> str:
    if not isinstance(leaf, str) or not leaf:
        raise error_at(where, f"expected leaves that are strings, found {type(leaf).__name__} {leaf!r:.60}")
    return str(leaf)


def shown_tree(tree: TreeTuple, kind: str) -> Any:
    """Return nested tuples as a tree of another kind."""
    if kind == "brackets":
        return written(tree)
    return tree if kind == "tuples" else _to_nltk(nltk_tree(), tree)


def nltk_tree() -> Any:
    """Return the class nltk.Tree; the error message of a missing package names the extra."""
    try:
        from nltk.tree import Tree
    except ImportError:
        raise missing_package("trees of this kind need", "nltk", "nlp") from None
    return Tree


def _to_nltk(make: Any, tree: TreeTuple) -> Any:
    return make(tree[0], [child if isinstance(child, str) else _to_nltk(make, child) for child in tree[1:]])


def has_words(trees: Sequence[TreeTuple]) -> bool:
    """Return whether leaves are words: at least nine of ten are the only child of their tag, below the root."""
    alone = together = 0
    waiting: list[Any] = []
    for tree in trees:
        together += isinstance(tree[1], str)
        waiting.append(tree)
        while waiting:
            node = waiting.pop()
            leaves = sum(isinstance(child, str) for child in node[1:])
            if len(node) == 2:
                alone += leaves
            else:
                together += leaves
            waiting.extend(child for child in node[1:] if not isinstance(child, str))
    return alone >= 9 * together


def without_words(tree: TreeTuple, tokens: list[Token], where: Where) -> TreeTuple:
    """Return a tree whose leaves are tags, and append its tokens; every leaf must be the only child of its tag."""
    children: list[Any] = []
    for child in tree[1:]:
        if isinstance(child, str):
            raise error_at(
                where, f"the leaf {child!r:.60} is not the only child of its tag; expected (tag word), or leaves that "
                f"are tags in all trees (leaves='tags')",
            )  # fmt: skip
        if len(child) == 2 and isinstance(child[1], str):
            tokens.append((child[1], child[0]))
            children.append(child[0])
        else:
            children.append(without_words(child, tokens, where))
    return (tree[0], *children)


def tags_of(tree: TreeTuple) -> list[str]:
    """Return the leaves of a tree."""
    leaves: list[str] = []
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            leaves.append(node)
        else:
            stack.extend(node[:0:-1])
    return leaves


def constituents(tree: TreeTuple, ignored: Collection[str] = ()) -> Iterator[tuple[str, int, int]]:
    """Yield the label and span of each constituent in a tree over tags; roots are not constituents.

    Tags of `ignored` do not count as tokens, and constituents over nothing else are left out.
    """
    begins: list[int] = []
    waiting: list[tuple[Any, bool]] = [(tree, False)]
    position = 0
    while waiting:
        node, done = waiting.pop()
        if isinstance(node, str):
            position += node not in ignored
        elif done:
            begin = begins.pop()
            if node[0] not in ROOTS and begin < position:
                yield node[0], begin, position
        else:
            begins.append(position)
            waiting.append((node, True))
            waiting.extend((child, False) for child in node[:0:-1])


def read_sentence_tags(x: Any, where: Where) -> list[Token]:
    """Return the tokens of a sentence: tags, or pairs (word, tag)."""
    if not is_list(x) or is_nltk(x):
        raise error_at(where, f"expected {_EXPECTED_SENTENCE}, found {type(x).__name__} {x!r:.60}")
    pairs = [not isinstance(token, str) for token in x]
    if any(pairs) and not all(pairs):
        raise error_at(where, f"expected {_EXPECTED_SENTENCE}, found both: {x!r:.60}")
    tokens: list[Token] = []
    for m, token in enumerate(x, 1):
        if isinstance(token, str):
            tokens.append((None, str(token)))
            continue
        if not is_list(token) or len(token) != 2 or not all(isinstance(part, str) for part in token):
            raise error_at(inside(where, f"token {m}"), f"expected a tag or a pair (word, tag), found {token!r:.60}")
        tokens.append((str(token[0]), str(token[1])))
    empty = next((m for m, (word, tag) in enumerate(tokens, 1) if not tag or word == ""), None)
    if empty is not None:
        raise error_at(inside(where, f"token {empty}"), f"expected text, found an empty one: {x[empty - 1]!r:.60}")
    return tokens


def is_one_sentence(X: Any, tags: Collection[str]) -> bool:
    """Return whether X is a sentence in the place of a list of sentences: strings that are no trees, or (word, tag)."""
    rows = list(X)
    if not rows or any(is_tree(row) for row in rows):
        return False
    if are_tokens(rows):
        return True
    if not all(is_list(row) and len(row) == 2 and all(isinstance(part, str) for part in row) for row in rows):
        return False
    return any(tag in tags for _, tag in rows) and not all(word in tags for word, _ in rows)


def check_tagged(sentence: list[Token], tags: Collection[str], words: bool, where: Where) -> None:
    """Raise an error at `where` for words in the place of tags, and for pairs (tag, word).

    `tags` are those of the training trees; `words` is whether these have words.
    """
    if not sentence or all(tag in tags for _, tag in sentence):
        return
    if words and all(word is None and tag not in tags for word, tag in sentence):
        raise untagged(where, [tag for _, tag in sentence], "tags", "give pairs (word, tag), as a tagger finds them")
    check_order(sentence, tags, where)


class TreeForm:
    """The form of training trees, which predictions have as well.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    words : bool
        Whether leaves are words, each the only child of its tag.
    """

    def __init__(self) -> None:
        self.kind, self.words = "tuples", False

    def fit(self, trees: Sequence[Any], read: Sequence[TreeTuple], leaves: str) -> None:
        """Learn from trees as they were given and as nested tuples; `leaves` is "words", "tags" or "auto"."""
        self.kind = kind_of(trees[0]) if len(trees) else "tuples"
        self.words = has_words(read) if leaves == "auto" else leaves == "words"

    def bare(self, tree: TreeTuple, where: Where) -> tuple[TreeTuple, list[Token]]:
        """Return a tree whose leaves are tags, and its tokens; a tree of tags alone is one already."""
        if not self.words or not has_words([tree]):
            return tree, [(None, tag) for tag in tags_of(tree)]
        tokens: list[Token] = []
        return without_words(tree, tokens, where), tokens

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state as plain values."""
        return {"kind": self.kind, "words": self.words}

    def set_state(self, state: Any) -> TreeForm:
        """Restore a state of `get_state`; raise ValueError if it is damaged."""
        if state["kind"] not in KINDS:
            raise ValueError(f"expected a kind of trees out of {', '.join(KINDS)}, found {state['kind']!r:.60}")
        self.kind, self.words = state["kind"], bool(state["words"])
        return self
