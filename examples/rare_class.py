"""A rare class: classifiers that maximise F1, ROC area or a measure of your own.

Two of a hundred documents are about a topic, which a few of 2000 words indicate. A linear SVM minimises the error rate
and misses many of them. Shown: the same linear model trained for other measures, its threshold learnt or tuned, a
measure written as a function, what is wrong with a measure that rises with errors, and scikit-learn's curves. Writes
rare_class.png.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay, average_precision_score, f1_score, roc_auc_score
from sklearn.svm import LinearSVC

import maxmargin as mm

F1 = "MeasureSVC(measure='f1')"


def documents(n, seed, share=0.02, n_words=2000):
    """Return word counts as tf-idf, and which documents are about the topic."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    chance = np.full((n, n_words), 0.01)
    chance[y == 1, :60] = 0.12  # words of the topic
    words = sp.csr_array((rng.random((n, n_words)) < chance).astype(float))
    return TfidfTransformer().fit(words).transform(words), y


def profit(tp, fp, fn, tn):
    """A positive row that is found earns 10; every row that is looked at costs 1."""
    return 10 * tp - (tp + fp)


def main():
    X, y = documents(3000, seed=0)
    test_X, test_y = documents(6000, seed=1)
    models = {
        "LinearSVC": LinearSVC(),
        "MeasureSVC(measure='error')": mm.MeasureSVC(measure="error"),
        F1: mm.MeasureSVC(measure="f1"),
        "…, threshold='tuned'": mm.MeasureSVC(measure="f1", threshold="tuned"),
        "MeasureSVC(measure='roc_auc')": mm.MeasureSVC(measure="roc_auc"),
        "MeasureSVC(measure='average_precision')": mm.MeasureSVC(measure="average_precision"),
        "MeasureSVC(measure=profit)": mm.MeasureSVC(measure=profit, bound="margin", threshold="tuned"),
    }
    print(f"{'':40}      F1   ROC area   average precision   profit")
    for name, model in models.items():
        model.fit(X, y)
        found, scores = model.predict(test_X), model.decision_function(test_X)
        earned = profit(*(int((t & f).sum()) for t, f in ((test_y == 1, found == 1), (test_y == 0, found == 1))), 0, 0)
        area, precision = roc_auc_score(test_y, scores), average_precision_score(test_y, scores)
        print(f"{name:40} {f1_score(test_y, found):7.3f} {area:10.3f} {precision:19.3f} {earned:8}")
    print(f"\n{models[F1].certificate_}")

    try:
        mm.MeasureSVC(measure=lambda tp, fp, fn, tn: fp + fn).fit(X, y)
    except ValueError as error:
        print(f"a measure that is a loss: {error}")

    _, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for name, model in models.items():
        if name in ("LinearSVC", F1, "MeasureSVC(measure='average_precision')"):
            shown = getattr(model, "measure", name)
            PrecisionRecallDisplay.from_estimator(model, test_X, test_y, name=shown, ax=left)
            RocCurveDisplay.from_estimator(model, test_X, test_y, name=shown, ax=right)
    for axes in (left, right):
        axes.legend(loc="lower center", fontsize=8)
    plt.savefig("rare_class.png", dpi=80)


if __name__ == "__main__":
    main()
