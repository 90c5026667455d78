"""Image segmentation: learn to find shapes in noisy images, with `CutSegmenter`.

Images of coloured discs and bars on a background of another colour are generated with noise, so the true masks are
known. Shown: training on images with masks, the certificate, pixel accuracy and intersection over union beside a
classifier that looks at each pixel alone, the learnt reward of equal neighbours, three labels at once by α-expansion
with its proven bound, and a picture (image_segmentation.png).
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display

COLOURS = np.array([[0.45, 0.5, 0.5], [0.65, 0.45, 0.4], [0.4, 0.45, 0.7]])  # background, disc, bar
NAMES = np.array(["background", "disc", "bar"])


def image(rng, height=30, width=36):
    """Return a noisy image and its mask: a disc and a bar."""
    rows, columns = np.mgrid[:height, :width]
    mask = np.zeros((height, width), int)
    left, thickness = rng.integers(4, width - 12), rng.integers(5, 8)
    mask[:, left : left + thickness] = 2
    r, c, radius = rng.integers(9, height - 9), rng.integers(9, width - 9), rng.integers(6, 9)
    mask[(rows - r) ** 2 + (columns - c) ** 2 <= radius**2] = 1
    pixels = COLOURS[mask] + 0.18 * rng.normal(size=(height, width, 3))
    return np.clip(255 * pixels, 0, 255).astype(np.uint8), mask


def main():
    rng = np.random.default_rng(0)
    X, masks = zip(*(image(rng) for _ in range(18)), strict=True)
    train, test = slice(0, 8), slice(8, 18)

    print("disc or not")
    Y = [np.where(mask == 1, "disc", "other") for mask in masks]
    model = mm.CutSegmenter(features="channels", C=1.0).fit(X[train], Y[train])
    pixels = np.concatenate([x.reshape(-1, 3) / 255.0 for x in X[train]])
    alone = mm.MulticlassSVM(C=1.0).fit(pixels, np.concatenate([y.ravel() for y in Y[train]]))
    single = [alone.predict(x.reshape(-1, 3) / 255.0).reshape(x.shape[:2]) for x in X[test]]
    print(f"certificate: {model.certificate_}")
    print(f"reward of equal neighbours: {model.edge_weights_[0]:.2f}, by similar colours: {model.edge_weights_[1]:.2f}")
    for name, found in (("pixels alone", single), ("with neighbours", model.predict(X[test]))):
        right = np.mean([(p == y).mean() for p, y in zip(found, Y[test], strict=True)])
        share = mm.metrics.intersection_over_union(Y[test], found, "disc")
        print(f"{name}: {right:.3f} of the pixels right, intersection over union {share:.3f}")

    print("\nthree labels")
    Y = [NAMES[mask] for mask in masks]
    model = mm.CutSegmenter(features="channels", C=1.0, tol=0.05).fit(X[train], Y[train])
    certificate = model.certificate_
    print(f"objective {certificate.primal:.1f}, proven to be at most {certificate.primal_bound:.1f}")
    print(f"pixel accuracy {model.score(X[test], Y[test]):.3f}")
    mm.plots.SegmentationDisplay.from_estimator(model, X[8:10], Y[8:10]).figure_.savefig(
        "image_segmentation.png", dpi=110
    )
    print("\nwritten: image_segmentation.png")


if __name__ == "__main__":
    main()
