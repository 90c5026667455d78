"""Rankings under several measures, and why ties spoil the convex bound on the loss of NDCG.

Each query has 30 documents of relevance 0, 1 or 2. Shown: the ranking SVM without pairs, average precision, NDCG with
the convex bound, which gives weights of 0, and with the ramp, which repairs it; a picture of NDCG@k.
"""

from pathlib import Path

import numpy as np

import maxmargin as mm


def searches(n_queries, seed, n_documents=30):
    """Return features, relevance and queries of all documents."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_documents, 6))
    hidden = X[:, 0] + 0.5 * X[:, 1] - 0.5 * X[:, 2] + 2.5 * rng.normal(size=len(X))
    return X, np.digitize(hidden, [1.0, 3.5]), np.repeat(np.arange(n_queries), n_documents)


def main():
    train, test = searches(60, seed=0), searches(200, seed=1)
    settings = {
        "ranking SVM": {"measure": "pairwise"},
        "average precision": {"measure": "ap"},
        "NDCG@10, convex bound": {"measure": "ndcg@10", "bound": "margin"},
        "NDCG@10, ramp": {"measure": "ndcg@10"},
    }
    rankers = {name: mm.StructuredRanker(**parameters).fit(*train) for name, parameters in settings.items()}

    print("method                    ‖w‖   NDCG@1  NDCG@10      MAP")
    X, y, queries = test
    for name, ranker in rankers.items():
        scores = ranker.predict(X)
        first, ten = (mm.metrics.ndcg_at_k(y, scores, queries, k) for k in (1, 10))
        average = mm.metrics.mean_average_precision(y, scores, queries)
        print(f"{name:22} {np.linalg.norm(ranker.coef_):6.3f} {first:8.3f} {ten:8.3f} {average:8.3f}")

    certificate = rankers["NDCG@10, convex bound"].certificate_
    print(f"\nconvex bound: no weights can go below {certificate.dual:.3f}; weights of 0 have 60")
    ranked = {name: ranker for name, ranker in rankers.items() if ranker.coef_.any()}
    display = mm.plots.RankingDisplay.from_estimators(ranked, X, y, queries)
    Path("rankings-output").mkdir(exist_ok=True)
    display.figure_.savefig("rankings-output/ndcg.png", dpi=150)
    print("NDCG@k of the others: rankings-output/ndcg.png")


if __name__ == "__main__":
    main()
