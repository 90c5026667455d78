"""Ranking documents so that the first k are relevant.

Each query has 40 documents. One feature identifies a few documents that are almost certainly relevant; for all others,
another feature is more informative. A classifier weights all documents equally and relies on the second feature;
`StructuredRanker(measure="precision@k")` optimises the first k. Shown: rows with groups, the classifier that training
starts from, precision for several k, and a search over C with scikit-learn's metadata routing.
"""

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

import maxmargin as mm


def searches(n_queries, seed, n_documents=40):
    """Return features, relevance and queries of all documents."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * n_documents, 4))
    strong = X[:, 0] > 0.9  # few documents, nearly all of them relevant
    chance = np.where(strong, 0.9, 0.05 + 0.35 * X[:, 1])
    y = (rng.random(len(X)) < chance).astype(int)
    X[:, 2] += 0.3 * y * ~strong  # informative for all other documents
    return X, y, np.repeat([f"query {i}" for i in range(n_queries)], n_documents)


def main():
    X, y, queries = searches(60, seed=0)
    test_X, test_y, test_queries = searches(200, seed=1)

    print(" k   at random   classifier   precision@k    outer steps")
    for k in (1, 3, 5, 10):
        ranker = mm.StructuredRanker(measure=f"precision@{k}").fit(X, y, groups=queries)
        first = mm.metrics.precision_at_k(test_y, test_X @ ranker.start_coef_, test_queries, k)
        random = mm.metrics.precision_at_k(test_y, np.zeros(len(test_y)), test_queries, k)
        score = ranker.score(test_X, test_y, test_queries)
        print(f"{k:2} {random:11.3f} {first:12.3f} {score:14.3f} {len(ranker.history_):13}")

    with sklearn.config_context(enable_metadata_routing=True):
        ranker = mm.StructuredRanker(measure="precision@5").set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(ranker, {"C": [0.1, 1.0, 10.0]}, cv=GroupKFold(3)).fit(X, y, groups=queries)
    print(f"\nbest C with folds of queries: {search.best_params_['C']:g}, precision@5 {search.best_score_:.3f}")

    empty = np.where(queries == "query 7", 0, y)
    try:
        mm.StructuredRanker(measure="precision@10", drop_empty=False).fit(X, empty, groups=queries)
    except ValueError as error:
        print(f"a query without relevant documents: {error}")


if __name__ == "__main__":
    main()
