"""`TopK`: the k documents to show for a query (Yu and Joachims 2009, section 5.3)."""

from __future__ import annotations

from typing import ClassVar

from maxmargin._checked import whole_number
from maxmargin.structures.ranking.documents import DocumentStructure
from maxmargin.structures.ranking.sets import SetForm


class TopK(DocumentStructure):
    """The k best documents of each query.

    Each x is the documents of a query, an array (n, d), a sparse matrix or a list of dicts; each y is their n relevance
    labels, of which those above 0 mean relevant. An output is the tuple `TopDocuments` of the top k documents. The
    initial truth is the first relevant documents, followed by the first others if there are fewer than k.

    A query with at most k documents shows all of them: k is then their number, the loss is 0, and the query does not
    contribute to learning.

    Parameters
    ----------
    k : int, default=10
        Number of documents shown.
    """

    output_name: ClassVar[str] = "top documents"

    def __init__(self, *, k: int = 10) -> None:
        self.k = k

    def form(self) -> SetForm:
        return SetForm(whole_number(self.k, "k"))
