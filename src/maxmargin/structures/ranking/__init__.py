"""Rankings of the documents of a query, under a measure of rankings.

`Ranking` (`structure.py`) is a `DocumentStructure` (`documents.py`), which has the documents, their labels and the
checks of both. A measure is a `Form` with its outputs and its `PartExamples`:

`positions.py`
    NDCG: documents in the first positions.
`pairs.py`
    Swapped pairs and average precision, by the compiled functions of sets of rows (`algorithms/pairs.py`).
`sets.py`
    Precision@k: the k documents to show.

Labels are the truth. Which of many equally good rankings is meant is latent: `complete` finds the best by score. Pairs
depend on the labels; their outputs are counts of swapped pairs where labels are known, and rankings elsewhere.
"""
