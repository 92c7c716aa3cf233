"""
===============================================================
Can points be matched by their distances only? (graph_matching)
===============================================================

A set of points is rotated, every point moves a little, and two points are missing on each side.
Then only distances between points can be compared: two assignments are consistent if the distance
on the left is equal to the distance on the right. This is a graph matching problem, with a cost for
each pair of assignments. There are too many matchings to enumerate them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from sstruct.inference import graph_matching

n, n_lost, rng = 12, 2, np.random.default_rng(3)
points = rng.random((n + n_lost, 2))
angle = 2.0
turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
moved = points @ turn + rng.normal(scale=0.01, size=points.shape)
left, right = points[:n], moved[n_lost:]  # two are missing on each side
truth = np.arange(n) - n_lost

# %%
# A pair of assignments costs -1 if the distances on both sides are equal, and up to 0 if they
# differ. Each assignment costs 1, so that a point without consistent assignments stays unmatched.


def distances(x):
    return np.linalg.norm(x[:, None] - x, axis=2)


difference = distances(left)[:, None, :, None] - distances(right)[None, :, None, :]
agreement = np.exp(-((difference / 0.03) ** 2))
i, a, j, b = np.nonzero(agreement > 1e-3)
kept = (i < j) & (a != b)
pairwise = sparse.coo_array(
    (-agreement[i, a, j, b][kept], ((i * n + a)[kept], (j * n + b)[kept])), shape=(n * n, n * n)
)
result = graph_matching(np.full((n, n), 1.0), pairwise, max_iter=200, random_state=0)

# %%
# Lines connect matched points.

fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
shift = np.array([2.2, 0.0])
middle = right - right.mean(axis=0) + points.mean(axis=0) + shift
matched = np.flatnonzero(result.labels >= 0)
correct = result.labels[matched] == truth[matched]
for some, color, name in (
    (matched[correct], "tab:green", "same point"),
    (matched[~correct], "tab:red", "another point: the same one is missing"),
):
    ends = np.stack([left[some], middle[result.labels[some]]])
    lines = ax.plot(ends[..., 0], ends[..., 1], color=color, linewidth=0.8)
    lines[0].set_label(name)
ax.plot(*left.T, "o", color="black")
ax.plot(*middle.T, "o", color="black")
ax.set_axis_off()
ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.08), ncols=2, frameon=False)
n_right = int(((result.labels == truth) & (truth >= 0)).sum())
ax.set_title(
    f"{n_right} of {n - n_lost} points matched correctly: "
    f"cost {result.energy:.2f}, lower bound {result.lower_bound:.2f}"
)
plt.show()

# %%
# All ten points that exist on both sides are matched correctly. The lower bound is equal to the
# cost, so the matching is optimal. This includes the red line: the corresponding point is missing,
# but by chance another point is near its position.
