"""
Match detections
================

This tutorial learns which detections in two frames of a film show the same
cell, compares the result with the nearest neighbors, and lets a person correct
it. It assumes that you know estimators in scikit-learn. In addition to sstruct,
it requires matplotlib.

The data are generated: cells move between the frames, enter and leave the
picture, and are sometimes missed by the detector.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from sstruct import MatchingSSVM
from sstruct.plotting import MatchingDisplay

# %%
# Two frames
# ----------
#
# The picture is a square of side 1. A detection has two coordinates, a size and
# a brightness. The size hardly changes between frames, but the brightness does.
# In each frame, the detections are sorted by their first coordinate.

rng = np.random.default_rng(0)


def two_frames(n_cells=30):
    cells = rng.uniform([-0.1, -0.1, 0, 0], [1.1, 1.1, 1, 1], size=(n_cells, 4))
    step = rng.normal(scale=[0.07, 0.07, 0.1, 0.3], size=(n_cells, 4))
    frames, numbers = [], []
    for positions in (cells, cells + step):
        inside = ((positions[:, :2] > 0) & (positions[:, :2] < 1)).all(axis=1)
        seen = np.flatnonzero(inside & (rng.uniform(size=n_cells) < 0.95))
        seen = seen[np.argsort(positions[seen, 0])]
        frames.append(positions[seen])
        numbers.append(seen)
    return frames, numbers


pairs = [two_frames() for _ in range(80)]
(first, second), _ = pairs[0]
print(first.shape, second.shape)

# %%
# The true match of each detection of the first frame, a row, is the index of a
# detection of the second frame, a column, or -1 if there is none.


def match_of(numbers):
    columns = {cell: c for c, cell in enumerate(numbers[1])}
    return np.array([columns.get(cell, -1) for cell in numbers[0]])


y = [match_of(numbers) for _, numbers in pairs]
print(y[0])

# %%
# Nearest neighbors
# -----------------
#
# A common rule matches detections such that the sum of distances is smallest,
# and leaves a detection unmatched if all others are too far away. The largest
# distance is chosen on the first 40 pairs of frames, for training.

train, test = slice(0, 40), slice(40, 80)


def nearest(frames, max_distance):
    gain = np.maximum(max_distance - cdist(frames[0][:, :2], frames[1][:, :2]), 0)
    rows, columns = linear_sum_assignment(gain, maximize=True)
    out = np.full(len(gain), -1)
    matched = gain[rows, columns] > 0
    out[rows[matched]] = columns[matched]
    return out


def accuracy(predicted, true):
    return np.mean(np.concatenate(predicted) == np.concatenate(true))


def rule(part, max_distance):
    return [nearest(frames, max_distance) for frames, _ in pairs[part]]


distances = np.linspace(0.1, 0.4, 7)
max_distance = max(distances, key=lambda d: accuracy(rule(train, d), y[train]))
scores = {"nearest": accuracy(rule(test, max_distance), y[test])}
print(f"largest distance {max_distance:.2f}, accuracy {scores['nearest']:.2f}")

# %%
# Learned scores
# --------------
#
# :class:`~sstruct.MatchingSSVM` also finds the matching with the highest sum
# of scores of pairs, but learns the scores. Features of a pair are the
# distance and the differences of size and brightness. Features of an unmatched
# detection are its distance from the border of the picture, from which a cell
# may have come or to which it may have gone, up to 0.1.


def features(frames):
    a, b = frames
    difference = np.abs(a[:, np.newaxis, 2:] - b[:, 2:])
    distance = cdist(a[:, :2], b[:, :2])[:, :, np.newaxis]
    return {
        "features": np.concatenate([distance, difference], axis=2),
        "unmatched_rows": from_border(a),
        "unmatched_columns": from_border(b),
    }


def from_border(frame):
    nearest = np.minimum(frame[:, :2], 1 - frame[:, :2]).min(axis=1, keepdims=True)
    return np.minimum(nearest, 0.1)


X = [features(frames) for frames, _ in pairs]
model = MatchingSSVM(lam=0.001, random_state=0).fit(X[train], y[train])
scores["learned"] = model.score(X[test], y[test])
print(f"accuracy {scores['learned']:.2f}")

# %%
# ``score`` is the fraction of detections of the first frame with the true match,
# or truly unmatched.

# %%
# Weights
# -------
#
# A difference of sizes counts more than a difference of brightness, and
# detections far from the border are rarely unmatched: all weights are negative.

table = model.to_frame()
table["weight"] = table.weight.round(1)
print(table[["kind", "feature", "weight"]])

# %%
# Errors
# ------
#
# The pair of test frames with the lowest accuracy. The detections of the first
# frame are above the detections of the second one, and lines are matches.
# Errors often occur in pairs: two cells that have passed each other exchange
# their partners.

y_pred = model.predict(X[test])
worst = min(range(40), key=lambda i: np.mean(y_pred[i] == y[test][i]))
MatchingDisplay.from_predictions(
    y[test][worst], y_pred[worst], n_columns=len(pairs[40 + worst][0][1])
)

# %%
# The same matches in the picture: circles are detections of the first frame,
# crosses are those of the second one.

(a, b), _ = pairs[40 + worst]
_, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.scatter(a[:, 0], a[:, 1], 100 * a[:, 2] + 10, "none", edgecolors="C0")
ax.scatter(b[:, 0], b[:, 1], 100 * b[:, 2] + 10, "C1", marker="x")
for r, c in enumerate(y_pred[worst]):
    if c >= 0:
        is_right = c == y[test][worst][r]
        ax.plot(*zip(a[r, :2], b[c, :2]), color="0.6" if is_right else "C3")
ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")

# %%
# Corrections
# -----------
#
# If a person corrects one match, ``predict`` chooses the others again. Here, the
# first error of each pair of frames is corrected, and other errors disappear as
# well.

known, n_corrected = [], 0
for columns, true in zip(y_pred, y[test]):
    known.append([None] * len(true))
    for r in np.flatnonzero(columns != true)[:1]:
        known[-1][r] = true[r]
        n_corrected += 1
corrected = model.predict(X[test], known)
before, after = (
    int(sum(np.sum(a != b) for a, b in zip(each, y[test])))
    for each in (y_pred, corrected)
)
print(f"{before} errors, {after} after {n_corrected} corrections")
plt.show()

# %%
# :doc:`/how_to/match_detections` describes candidate pairs, which save time with
# hundreds of detections, unknown matches in training, and signs of weights.
# :doc:`/how_to/from_motile` follows cells over many frames.
