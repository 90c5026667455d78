"""Trees as text: ``(S (NP DT NN) (VP VBZ))``, and the removal of function tags and traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

#: A tree: (label, child, …); a child is a tree or a leaf, which is a string.
TreeTuple = tuple[Any, ...]
_TOKENS = re.compile(r"[()\n]|[^\s()]+")
_FUNCTIONS = re.compile(r"[-=|]")
#: Tag of traces and other empty elements in the Penn Treebank.
TRACE = "-NONE-"


class BracketError(ValueError):
    """Text that is not a tree in brackets.

    Parameters
    ----------
    line : int
        Number of the line, from 1.
    message : str
        What was expected and what was found.
    """

    def __init__(self, line: int, message: str) -> None:
        self.line, self.message = line, message
        super().__init__(message)


def parse_brackets(text: str) -> Iterator[TreeTuple]:
    """Yield the trees of a text; raise BracketError, with the line, for brackets that do not form trees."""
    line = 1
    open_nodes: list[tuple[list[Any], int]] = []
    labelled = True
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token == "(":
            if not labelled:
                open_nodes[-1][0].append("")
            open_nodes.append(([], line))
            labelled = False
        elif token == ")":
            if not open_nodes:
                raise BracketError(line, "unbalanced brackets: found ) without a ( before it")
            node, first = open_nodes.pop()
            if len(node) < 2:
                what = f"({node[0]})" if node else "()"
                raise BracketError(first, f"an empty tree: {what} has no children")
            labelled = True
            if open_nodes:
                open_nodes[-1][0].append(tuple(node))
            else:
                yield tuple(node)
        elif not open_nodes:
            raise BracketError(line, f"expected a tree in brackets, found {token!r:.60}")
        else:
            open_nodes[-1][0].append(token)
            labelled = True
    if open_nodes:
        raise BracketError(
            open_nodes[0][1], f"unbalanced brackets: {len(open_nodes)} ( without ) in the tree that begins here"
        )


def unwritable(tree: TreeTuple) -> str | None:
    """Return why a tree in brackets would be read as another one; None if it would not."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            if len(node.split()) != 1:
                return f"a leaf in brackets cannot contain spaces, found {node!r:.60}"
            continue
        label = node[0]
        if label and not re.fullmatch(r"[^\s()]+", label):
            return f"a label in brackets cannot contain spaces or brackets, found {label!r:.60}"
        if not label and isinstance(node[1], str):
            return f"a node without a label cannot begin with a leaf in brackets, found {node!r:.60}"
        waiting.extend(node[1:])
    return None


def written(tree: Any) -> str:
    """Return a tree in brackets, on one line; brackets in leaves are written as ``-LRB-`` and ``-RRB-``."""
    if isinstance(tree, str):
        return tree.replace("(", "-LRB-").replace(")", "-RRB-")
    return f"({' '.join([tree[0], *map(written, tree[1:])])})"


def cleaned(tree: TreeTuple, words: bool) -> TreeTuple | None:
    """Return a tree without function tags, co-indices and traces; None if nothing is left.

    ``NP-SBJ-1``, ``NP=2`` and ``ADVP|PRT`` become the text before the first of ``-``, ``=`` and ``|``; labels that
    begin with one of them, such as ``-LRB-``, stay. Elements with the tag ``-NONE-`` are removed, and then nodes
    without children. Tags stay as they are; `words` says whether leaves are words, each below its tag.
    """
    children: list[Any] = []
    for child in tree[1:]:
        if isinstance(child, str):
            if child != TRACE and tree[0] != TRACE:
                children.append(child)
        elif len(child) == 2 and isinstance(child[1], str):
            kept = _cleaned_low(child, words)
            children += [] if kept is None else [kept]
        else:
            below = cleaned(child, words)
            children += [] if below is None else [below]
    return (plain_label(tree[0]), *children) if children else None


def _cleaned_low(node: TreeTuple, words: bool) -> TreeTuple | None:
    """Return a node over a single leaf, which is a phrase over a tag or, with words, a tag over a word."""
    if node[0] == TRACE or (node[1] == TRACE and not words):
        return None
    return node if words else (plain_label(node[0]), node[1])


def plain_label(label: str) -> str:
    """Return a label without function tags and indices."""
    return _FUNCTIONS.split(label, maxsplit=1)[0] or label
