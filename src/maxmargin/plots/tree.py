"""Constituency trees as text and as a picture."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from maxmargin.features.text.brackets import TreeTuple
from maxmargin.features.text.treebank import ROOTS, Token, has_words, read_tree, tags_of, without_words
from maxmargin.plots._matplotlib import BLUE, GREY, ORANGE, pyplot

#: Height of a level, and the height of the rows of tags and words.
_LEVEL, _ROW = 0.8, 0.42


class _Node(NamedTuple):
    """A node of a drawing: its label, its place, its span, whether it is a leaf, and its parent's number."""

    label: str
    place: float
    level: float
    span: tuple[int, int]
    leaf: bool
    parent: int


class TreeDisplay:
    """Drawing of a constituency tree, as text or as a picture; with a prediction, wrong constituents are dashed.

    Parameters
    ----------
    tree : str, tuple or nltk.Tree
        The tree: in brackets, as nested tuples (label, child, …), or of nltk.
    predicted : str, tuple, nltk.Tree or None, default=None
        A predicted tree over the same leaves, drawn below; None for a drawing of `tree` alone.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> print(mm.plots.TreeDisplay("(S (NP DT NN) (VP VBZ))").text())
    S
    ├─ NP
    │  ├─ DT
    │  └─ NN
    └─ VP
       └─ VBZ
    """

    def __init__(self, tree: Any, predicted: Any = None) -> None:
        self.tree = read_tree(tree, "tree")
        self.predicted = None if predicted is None else read_tree(predicted, "predicted")
        self.words = has_words([self.tree])
        if self.predicted is not None:
            leaves, predicted_leaves = tags_of(self.tree), tags_of(self.predicted)
            if leaves != predicted_leaves:
                raise ValueError(
                    f"predicted: expected the leaves of tree, {' '.join(leaves)!r:.60}, found "
                    f"{' '.join(predicted_leaves)!r:.60}"
                )

    @classmethod
    def from_estimator(cls, estimator: Any, x: Any, tree: Any = None, *, ax: Any = None) -> TreeDisplay:
        """Plot the tree that a parser predicts for a sentence.

        Parameters
        ----------
        estimator : ConstituencyParser
            A fitted parser.
        x : list
            One sentence.
        tree : str, tuple, nltk.Tree or None, default=None
            The true tree, to compare with.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        TreeDisplay
            The display, with its figure drawn.
        """
        (predicted,) = estimator.predict([x])
        if predicted is None:
            raise ValueError("x: the grammar has no tree of this sentence; glue=True predicts one")
        return (cls(predicted) if tree is None else cls(tree, predicted)).plot(ax=ax)

    # ------------------------------------------------------------------ text

    def text(self) -> str:
        """Return the tree as lines of text, one for each node; words are beside their tags.

        Returns
        -------
        str
            The drawing, without the predicted tree.
        """
        lines = [self.tree[0] or "·"]

        def add(node: Any, before: str) -> None:
            for k, child in enumerate(node[1:], 2):
                last = k == len(node)
                token = isinstance(child, str) or (self.words and _is_token(child))
                label = child if isinstance(child, str) else " ".join(child) if token else child[0] or "·"
                lines.append(f"{before}{'└─ ' if last else '├─ '}{label}")
                if not token:
                    add(child, before + ("   " if last else "│  "))

        add(self.tree, "")
        return "\n".join(lines)

    # ------------------------------------------------------------------ picture

    def plot(self, *, ax: Any = None) -> TreeDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        TreeDisplay
            The display, with its figure drawn.
        """
        tokens = _tokens(self.tree, self.words)
        places, rows = _places(tokens), 2 if self.words else 1
        above = _nodes(self.tree, self.words, places)
        below = _nodes(self.predicted, self.words, places) if self.predicted else []
        top, bottom = (max((node.level for node in nodes), default=0.0) for nodes in (above, below))
        if ax is None:
            size = (
                float(np.clip(0.8 * (places[-1] + 1.0), 3.0, 20.0)),
                float(np.clip(0.62 * _LEVEL * (top + bottom) + 0.35 * rows + 0.6, 1.6, 14.0)),
            )
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        for place, token in zip(places, tokens, strict=True):
            ax.text(place, 0.0, token, ha="center", va="center", linespacing=1.1)
        half = 0.5 * rows * _ROW
        self._draw(ax, above, _wrong(above, below) if below else set(), half, 1)
        if below:
            self._draw(ax, below, _wrong(below, above), half, -1)
            for text, height, side in (("true", top, "top"), ("predicted", -bottom, "bottom")):
                at = np.sign(height) * (abs(height) * _LEVEL + half)
                ax.text(places[0] - 0.5, at, text, color=GREY, ha="left", va=side, style="italic")
        ax.set_xlim(places[0] - 0.8, places[-1] + 0.8)
        ax.set_ylim(-(bottom * _LEVEL + half + 0.35), top * _LEVEL + half + 0.35)
        ax.axis("off")
        return self

    @staticmethod
    def _draw(ax: Any, nodes: list[_Node], wrong: set[int], half: float, side: int) -> None:
        """Draw the lines and labels of a tree, upwards or downwards from the row of tokens."""

        def height(node: _Node) -> float:
            return side * (half if node.leaf else half + node.level * _LEVEL)

        for k, node in enumerate(nodes):
            if node.parent >= 0:
                parent, other = nodes[node.parent], not node.leaf and k in wrong
                ax.plot(
                    [node.place, node.place, parent.place], [height(node), height(parent), height(parent)],
                    color=ORANGE if other else GREY, linestyle="--" if other else "-", linewidth=1.0, zorder=1,
                )  # fmt: skip
        for k, node in enumerate(nodes):
            if not node.leaf:
                ax.text(
                    node.place, height(node), node.label or "·", ha="center", va="center", zorder=2,
                    color=ORANGE if k in wrong else BLUE if node.label not in ROOTS else GREY,
                    bbox={"boxstyle": "round,pad=0.18", "facecolor": "white", "edgecolor": "none"},
                )  # fmt: skip


def _tokens(tree: TreeTuple, words: bool) -> list[str]:
    """Return the text of each token: a tag, with the word below it if there are words."""
    if not words:
        return tags_of(tree)
    tokens: list[Token] = []
    without_words(tree, tokens, "tree")
    return [f"{tag}\n{word}" for word, tag in tokens]


def _places(tokens: list[str]) -> Any:
    """Return where tokens are: long ones are further apart."""
    half = np.array([max(0.42, 0.075 * max(map(len, token.split("\n"))) + 0.1) for token in tokens])
    return np.cumsum(half) + np.concatenate([[0.0], np.cumsum(half)[:-1]])


def _nodes(tree: TreeTuple, words: bool, places: Any) -> list[_Node]:
    """Return the nodes of a drawing, parents before their children; a tag with its word is a leaf."""
    nodes: list[_Node] = []

    def add(node: Any, begin: int, parent: int) -> int:
        """Append a node and those below it; return where it ends."""
        at = len(nodes)
        if isinstance(node, str) or (words and _is_token(node)):
            nodes.append(_Node("", float(places[begin]), 0.0, (begin, begin + 1), True, parent))
            return begin + 1
        nodes.append(_Node(node[0], 0.0, 0.0, (begin, begin), False, parent))
        end, below = begin, []
        for child in node[1:]:
            below.append(len(nodes))
            end = add(child, end, at)
        children = [nodes[k] for k in below]
        place = 0.5 * (children[0].place + children[-1].place)
        level = 1.0 + max(child.level for child in children)
        nodes[at] = nodes[at]._replace(place=place, level=level, span=(begin, end))
        return end

    add(tree, 0, -1)
    return nodes


def _wrong(nodes: list[_Node], others: list[_Node]) -> set[int]:
    """Return the numbers of constituents that the other tree does not have; roots are none."""
    left = Counter((node.label, node.span) for node in others if not node.leaf)
    wrong = set()
    for k, node in enumerate(nodes):
        if not node.leaf and node.label not in ROOTS:
            if left[node.label, node.span] > 0:
                left[node.label, node.span] -= 1
            else:
                wrong.add(k)
    return wrong


def _is_token(node: Any) -> bool:
    return len(node) == 2 and isinstance(node[1], str)
