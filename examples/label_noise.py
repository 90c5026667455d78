"""Wrong labels: the ramp bound compared with the convex bound, and how tight each is.

Under a convex bound, a point far on the wrong side of the decision boundary may cost any amount, so a few wrong labels
have a large effect on the weights. Under the ramp it costs no more than its loss. Here a share of the training labels
is shuffled; the scores are the accuracy on the true labels of other points, the mean over five draws, because the ramp
ends at a local optimum, which may be a bad one.
"""

import numpy as np

import maxmargin as mm

N_LABELS, N_DRAWS = 8, 5


def points(n, rng, centres):
    y = rng.integers(0, len(centres), n)
    return centres[y] + rng.normal(size=(n, centres.shape[1])), y


def shuffled(y, share, rng):
    chosen = rng.permutation(len(y))[: round(share * len(y))]
    noisy = y.copy()
    noisy[chosen] = y[rng.permutation(chosen)]
    return noisy


def compared(share, seed):
    """Return training data, the model of the ramp, and the accuracies of the convex bound and of the ramp."""
    rng = np.random.default_rng(seed)
    centres = 2.5 * rng.normal(size=(N_LABELS, 3))
    X, y = points(1200, rng, centres)
    test = points(2000, rng, centres)
    noisy = shuffled(y, share, rng)
    convex = mm.MulticlassSVM(C=1.0).fit(X, noisy)
    ramp = mm.MulticlassSVM(C=1.0, bound="ramp").fit(X, noisy)
    return X, noisy, ramp, (convex.score(*test), ramp.score(*test))


def main():
    print("labels shuffled   convex    ramp   outer steps")
    for share in (0.0, 0.1, 0.2, 0.3):
        draws = [compared(share, seed) for seed in range(N_DRAWS)]
        scores = np.mean([found[-1] for found in draws], axis=0)
        steps = np.mean([ramp.certificate_.outer_steps for _, _, ramp, _ in draws])
        print(f"{share:15.0%} {scores[0]:8.3f} {scores[1]:7.3f} {steps:13.0f}")
    X, noisy, ramp, _ = draws[0]

    print(f"\nramp with {share:.0%} shuffled: objective and means over the training points after each outer step")
    print("step  objective  convex bound  ramp bound   loss  outputs changed")
    for row in ramp.history_:
        print(
            f"{row['step']:4d} {row['objective']:10.2f} {row['convex']:13.3f} {row['bound']:11.3f} {row['loss']:6.3f} "
            f"{row['changes']:16d}"
        )
    print(f"\ncertificate: {ramp.certificate_}")

    mm.plots.BoundDisplay.from_estimator(ramp).figure_.savefig("label_noise_steps.png")
    models = mm.regularization_path(mm.MulticlassSVM(bound="ramp"), X, noisy, Cs=10.0 ** np.arange(-4, 2))
    mm.plots.BoundDisplay.from_models(models).figure_.savefig("label_noise_C.png")
    print("wrote label_noise_steps.png and label_noise_C.png")


if __name__ == "__main__":
    main()
