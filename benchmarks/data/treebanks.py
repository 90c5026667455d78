"""Constituency trees: the sample of the Penn Treebank, and CRAFT."""

from __future__ import annotations

import gzip

from maxmargin.datasets.real import data_folder
from maxmargin.features.text.brackets import TreeTuple
from maxmargin.features.text.treebank import TreeForm
from maxmargin.formats.trees import read_trees


def load_short(corpus: str, name: str, part: str) -> list[TreeTuple]:
    """Return short trees with tags as leaves, such as ``short10`` of ``train``."""
    return read_trees(data_folder(corpus) / f"{name}.{part}.pos.gz")


def load_folds(name: str) -> list[tuple[int, TreeTuple]]:
    """Return the short trees of the sample of the Penn Treebank, each with its fold: the file number modulo 5."""
    folder, found = data_folder("ptb_sample"), []
    for part in ("train", "test"):
        with gzip.open(folder / f"{name}.{part}.ids.gz", "rt") as file:
            numbers = [int(line.split(".")[0].split("_")[-1]) for line in file.read().split()]
        found += [
            (number % 5, tree) for number, tree in zip(numbers, load_short("ptb_sample", name, part), strict=True)
        ]
    return found


def load_craft(part: str, longest: float = float("inf")) -> list[TreeTuple]:
    """Return cleaned trees with words, of at most `longest` tokens; trees with a tag of several words are left out."""
    form, found = TreeForm(), []
    form.words = True
    for tree in read_trees(data_folder("craft_treebank") / f"{part}.mrg.gz", clean=True):
        try:
            tokens = form.bare(tree, "tree")[1]
        except ValueError:
            continue
        if len(tokens) <= longest and all(word is not None for word, _ in tokens):
            found.append(tree)
    return found
