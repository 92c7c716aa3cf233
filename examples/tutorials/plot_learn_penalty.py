"""
Learn the penalty for change points
===================================

Programs for change-point detection require a penalty: the larger it is, the
fewer changes they find. This tutorial learns it from signals with annotated
changes, and measures how many of these are needed. It assumes that you know
estimators in scikit-learn. In addition to sstruct, it requires matplotlib.

The data are generated: pumps run at different levels, and a technician has
marked the changes.
"""

import matplotlib.pyplot as plt
import numpy as np

from sstruct import ChangePointSSVM
from sstruct.metrics import boundary_f1_score
from sstruct.plotting import SignalDisplay

# %%
# Signals with their own units
# ----------------------------
#
# Each signal has its own unit, like the signals of uncalibrated sensors. At each
# change, the mean and the spread of the signal change. The shortest period takes
# 20 steps. ``y`` has the indices of the first steps after the changes.

rng = np.random.default_rng(0)


def recording():
    lengths = rng.integers(20, 80, size=rng.integers(2, 9))
    parts = [
        2 * rng.normal() + np.exp(0.5 * rng.normal()) * rng.normal(size=length)
        for length in lengths
    ]
    return np.exp(rng.normal()) * np.concatenate(parts), np.cumsum(lengths)[:-1]


X, y = map(list, zip(*[recording() for _ in range(100)]))
train, test = slice(0, 40), slice(40, 100)
print(len(X[0]), y[0])

# %%
# One cost and a penalty
# ----------------------
#
# With one cost and no weights of durations, :class:`~sstruct.ChangePointSSVM` is
# the model of other programs: it minimizes the squared error around the mean of
# each segment plus a penalty for each change. Signals are divided by their noise
# level, so that one penalty suits all units.

simple = ChangePointSSVM(costs="mean", duration_bins=None).fit(X[train], y[train])
print(f"penalty {simple.penalty_ / simple.coef_[0, 0]:.1f}")
print(f"F1 {simple.score(X[test], y[test]):.2f}")

# %%
# ``score`` is the F1 score of change points within ``tolerance=5`` steps of true
# ones, which is also what training optimizes: missed changes and false ones count
# as errors. The certificate bounds the distance of the objective from its minimum:

print(f"gap {simple.dual_gap_ / simple.objective_:.4f} of the objective")

# %%
# Several costs
# -------------
#
# By default, four costs are used, and each has a weight. Here, the mean and the
# variance of a segment change, which the cost "normal" measures. The weights of
# the others are small.

model = ChangePointSSVM().fit(X[train], y[train])
weights = model.to_frame()
print(weights[weights.kind == "coef"][["cost", "weight"]].round(3))
print(f"F1 {model.score(X[test], y[test]):.2f}")

# %%
# The first test signal, with its true and its predicted segments. Lines mark the
# predicted changes.


def segments(signal, changes):
    return np.searchsorted(changes, np.arange(len(signal)), side="right") + 1


y_pred = model.predict(X[test])
strips = {
    "true": segments(X[40], y[40]),
    "one cost": segments(X[40], simple.predict(X[40:41])[0]),
    "four costs": segments(X[40], y_pred[0]),
}
SignalDisplay.from_labels(X[40], strips)

# %%
# Durations
# ---------
#
# Each bin of durations has a weight, too. The bins are quantiles of the durations
# in training. Segments that are shorter than all of these, in the first bin, are
# penalized most.

print(weights[weights.kind == "duration"][["duration", "weight"]].round(2))

# %%
# How many annotated signals?
# ---------------------------
#
# The model has few weights, so a few signals are enough. The costs matter
# more: with four costs, the right one need not be known.

sizes = [2, 5, 10, 20, 40]
models = {
    "four costs": ChangePointSSVM(),
    'cost "normal"': ChangePointSSVM(costs="normal", duration_bins=None),
    'cost "mean"': ChangePointSSVM(costs="mean", duration_bins=None),
}
scores = {}
for name, each in models.items():
    fits = [each.fit(X[:n], y[:n]).predict(X[test]) for n in sizes]
    scores[name] = [boundary_f1_score(y[test], changes) for changes in fits]
_, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    ax.plot(sizes, values, marker="o", label=name)
ax.set(xscale="log", xlabel="annotated signals", ylabel="F1 on test signals")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# :doc:`/how_to/change_points` describes annotations by intervals, limits of
# durations and other costs, and :doc:`/how_to/from_ruptures` compares the
# parameters with those of ruptures.
