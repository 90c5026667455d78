"""Write docs/papers.md: the tables of the five papers beside ours, as the benchmarks wrote them.

Run ``python docs/make_papers.py`` after a benchmark of ``benchmarks/papers`` has written its result; a test compares
the page with the result of `page`. Every figure is copied from ``benchmarks/results``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).with_name("papers.md")
RESULTS, LINK = Path(__file__).parents[1] / "benchmarks" / "results", "../benchmarks/results"
HEAD = """# The five papers, side by side

Generated from [benchmarks/results](../benchmarks/results) by `python docs/make_papers.py`; do not edit it by hand. The
tables are those of the papers that this library implements, with the papers' figures, where they can be compared, in
columns or rows named after the paper. Several of the papers' data sets are not public: where others take their place,
only the differences between methods can be compared, and each result file says what differs. Hyper-parameters are
chosen on development data unless a result file says otherwise. [benchmarks.md](benchmarks.md) compares with other
packages.
"""


class Paper(NamedTuple):
    """A paper, and the tables to show of each of its result files.

    Attributes
    ----------
    title : str
        Authors and year.
    reference : str
        Title and place of publication.
    results : dict of str to tuple of int
        Numbers of the tables in each result file, from 0.
    """

    title: str
    reference: str
    results: dict[str, tuple[int, ...]]


PAPERS = (
    Paper(
        "Tsochantaridis, Hofmann, Joachims and Altun 2004",
        "Support vector machine learning for interdependent and structured output spaces. ICML 2004.",
        {"p1_taxonomy": (0,), "p1_tables": (0,), "p1_kernels": (0,), "p1_alignment": (0,), "p1_grammar": (0, 3, 4, 5)},
    ),
    Paper(
        "Joachims, Hofmann, Yue and Yu 2009",
        "Predicting structured objects with support vector machines. Communications of the ACM 52.",
        {"p2_measures": (0,), "p2_diversity": (0,), "p2_alignment": (0, 1)},
    ),
    Paper(
        "Taskar, Chatalbashev, Koller and Guestrin 2005",
        "Learning structured prediction models: a large margin approach. ICML 2005.",
        {"p3_disulfide": (0, 1), "p3_certificate": (0,), "p3_kernels": (0,), "p3_kernels_unknown": (0,)},
    ),
    Paper(
        "Do, Le, Teo, Chapelle and Smola 2008",
        "Tighter bounds for structured estimation. NIPS 2008.",
        {"p4_multiclass": (0,), "p4_ndcg": (0,), "p4_alignment": (0,), "p4_rna": (0, 1, 4)},
    ),
    Paper(
        "Yu and Joachims 2009",
        "Learning structural SVMs with latent variables. ICML 2009.",
        {"p5_motifs": (0,), "p5_coreference": (0,), "p5_precision_at_k": (0,), "p5_iterations": (0,)},
    ),
)


def page() -> str:
    """Return the content of the page."""
    return "\n".join([HEAD, *(line for paper in PAPERS for line in _section(paper))])


def _section(paper: Paper) -> Iterator[str]:
    yield f"## {paper.title}\n"
    yield f"{paper.reference}\n"
    for name, shown in paper.results.items():
        text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        yield f"### {title}\n"
        tables = list(_tables(text))
        for number in shown:
            yield from (f"{part}\n" for part in tables[number] if part)
        yield from (f"{remark}\n" for remark in _remarks(text))
        yield f"Data, protocol, machine and further tables: [{name}.md]({LINK}/{name}.md).\n"


def _tables(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the tables of a result file, each after the heading of its section and its caption.

    The caption is the paragraph before a table if it is a single line; longer paragraphs are protocols.
    """
    heading, caption, rows, before = "", "", list[str](), ""
    for line in [*text.split("\n")[1:], ""]:
        if line.startswith("|"):
            rows.append(line)
        elif rows:
            yield heading, caption, "\n".join(rows)
            rows = []
            heading = caption = ""
        elif line.startswith("##"):
            heading, caption = f"{line.lstrip('# ')}:", ""
        elif line:
            caption = "" if before or line.startswith("!") else line
        before = line


def _remarks(text: str) -> Iterator[str]:
    """Yield the paragraphs and entries of lists after the first table that are about the paper."""
    for block in re.split(r"\n\n|\n(?=- )", text.partition("\n|")[2].rpartition("\n\n")[0]):
        about = re.search(r"(?<!benchmarks\.)\bpaper", block) and not block.rstrip().endswith(":")
        if about and not block.startswith(("|", "#")) and "\n|" not in block:
            yield block.removeprefix("- ").replace("\n  ", "\n")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
