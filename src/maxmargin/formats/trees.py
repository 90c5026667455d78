"""Treebanks in brackets, as the Penn Treebank has them: one or more trees per file, on one line or several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from maxmargin._base.errors import Place, error_at
from maxmargin.features.text.brackets import BracketError, TreeTuple, cleaned, parse_brackets, unwritable, written
from maxmargin.features.text.treebank import has_words, read_tree
from maxmargin.formats.streams import FormatError, Source, decode, read_bytes, write_text


def read_trees(source: Source, clean: bool = False) -> list[TreeTuple]:
    r"""Return the trees of a file as nested tuples (label, child, …); a leaf is a string.

    Parameters
    ----------
    source : str or path-like
        A file in UTF-8, gzip or not; ``"-"`` for standard input.
    clean : bool, default=False
        Whether to remove function tags, co-indices and traces: ``NP-SBJ-1`` becomes ``NP``, elements with the tag
        ``-NONE-`` disappear, and so do nodes without children; trees of which nothing is left are left out. Tags of
        words stay as they are.

    Returns
    -------
    list of tuple
        The trees. The label of a node without one, as ``( (S …))``, is the empty string.

    Raises
    ------
    FormatError
        For unbalanced brackets, an empty tree, or text that is not a tree, with the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "trees.mrg"
    ...     _ = path.write_text("( (S (NP-SBJ (PRP she)) (VP (VBZ sings))) )\n")
    ...     mm.formats.read_trees(path, clean=True)
    [('', ('S', ('NP', ('PRP', 'she')), ('VP', ('VBZ', 'sings'))))]
    """
    text = decode(read_bytes(source), source).removeprefix("\ufeff")
    try:
        trees = list(parse_brackets(text))
    except BracketError as error:
        raise FormatError(source, error.line, error.message) from None
    if not trees:
        raise FormatError(source, None, "expected trees in brackets, found none")
    if not clean:
        return trees
    words = has_words(trees)
    return [kept for tree in trees if (kept := cleaned(tree, words)) is not None]


def write_trees(target: Source, trees: Iterable[Any]) -> None:
    """Write trees in brackets, one per line.

    Parameters
    ----------
    target : str or path-like
        The file, which is replaced when all trees are written; ``"-"`` for standard output.
    trees : iterable
        Trees: strings in brackets, nested tuples or nltk trees. Brackets in leaves are written as ``-LRB-`` and
        ``-RRB-``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "trees.mrg"
    ...     mm.formats.write_trees(path, [("S", ("NP", "PRP"), ("VP", "VBZ"))])
    ...     print(path.read_text(), end="")
    (S (NP PRP) (VP VBZ))
    """
    with write_text(target) as file:
        for i, tree in enumerate(trees):
            place = Place("trees", i)
            read = read_tree(tree, place)
            if (why := unwritable(read)) is not None:
                raise error_at(place, why)
            file.write(written(read) + "\n")
