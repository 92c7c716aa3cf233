"""
Choose lam
==========

This tutorial shows three ways to choose :term:`lam`, from the default to
a path of all values, and how to read the certificate of a fit.

``lam`` balances small weights against a small training :term:`loss`:
larger values regularize more, smaller values follow the training data
more closely. It corresponds to ``1 / (C * n)`` in LIBLINEAR, for n
samples.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM, PathCV, ssvm_path
from sstruct.datasets import make_sequences
from sstruct.plotting import RegularizationPathDisplay

# Synthetic sequences: six labels, noisy features.
X, y = make_sequences(
    n_samples=500, n_labels=6, n_features=30, noise=2.0, random_state=0
)
X_test, y_test, X, y = X[100:], y[100:], X[:100], y[:100]

# %%
# Start with the default
# ----------------------
#
# ``lam="auto"`` depends on the number of samples and on the scale of the
# features.

model = ChainSSVM(random_state=0).fit(X, y)
print(f"lam {model.lam_:.3g}")
print(f"{model.score(X_test, y_test):.3f} of the labels are correct")

# %%
# Read the certificate
# --------------------
#
# Training minimizes an objective, up to a tolerance. ``objective_`` is its
# value at the fitted weights, and ``dual_objective_`` is a lower bound for
# all weights. The difference is the duality :term:`gap`.

print(f"{model.status_}: the objective is {model.objective_:.4f},")
print(f"and the optimum is at least {model.dual_objective_:.4f}")
relative_gap = model.dual_gap_ / model.objective_
print(f"relative gap {relative_gap:.4f}, tolerance {model.tol}")

# %%
# If the status is ``CONVERGED`` and the predictions are poor, a longer fit
# does not help: try another ``lam``, or other features.
#
# Search a grid
# -------------
#
# As for any estimator, from 0.1 to 100 times the default:

start = time.process_time()
grid = GridSearchCV(
    ChainSSVM(random_state=0),
    {"lam": model.lam_ * np.geomspace(0.1, 100, 10)},
    cv=4,
)
grid.fit(X, y)
print(f"best lam of the grid: {grid.best_params_['lam']:.3g}")
print(f"{grid.score(X_test, y_test):.3f} of the labels are correct")
print(f"{time.process_time() - start:.1f} s")

# %%
# Search a regularization path
# ----------------------------
#
# :class:`~sstruct.PathCV` computes a regularization path for each fold:
# weights for all values of ``lam`` instead of ten. With ``eps=0.1``, each
# objective is within 0.1 wrong labels per sequence of its optimum.
# ``rule="one-se"`` selects the largest ``lam`` whose score is within one
# standard error of the best score.

start = time.process_time()
search = PathCV(
    ChainSSVM(random_state=0),
    eps=0.1,
    lam_min=0.1 * model.lam_,
    cv=4,
    rule="one-se",
)
search.fit(X, y)
print(f"lam of the path: {search.best_lam_:.3g}")
print(f"{search.score(X_test, y_test):.3f} of the labels are correct")
print(f"{time.process_time() - start:.1f} s")

# %%
# The path itself
# ---------------
#
# :func:`~sstruct.ssvm_path` returns one path, here for all training
# samples. Its weights only change at breakpoints. For each ``lam``, it
# gives a fitted estimator and a bound of its gap.

path = ssvm_path(ChainSSVM(random_state=0), X, y, eps=0.1, lam_min=0.1 * model.lam_)
print(len(path.lams_), "breakpoints, certified:", path.certified_)
print(f"gap at the default lam: {path.gap(model.lam_):.3f}")
there = path.estimator(model.lam_)
print(f"score at the default lam: {there.score(X_test, y_test):.3f}")

# %%
# Plot the path and the scores
# ----------------------------

size = {"figsize": (7, 6.5), "layout": "constrained"}
figure, (above, below) = plt.subplots(2, sharex=True, **size)
RegularizationPathDisplay.from_path(path, y="gap", ax=above)
above.set(xlabel="", title=f"{len(path.lams_)} weight vectors for all lam")

lams = np.geomspace(0.1, 100, 500) * model.lam_
scores = np.array([search.split_scores(lam) for lam in lams])
tried, mean = (grid.cv_results_[k] for k in ("param_lam", "mean_test_score"))
folds = below.plot(lams, scores, color="0.8", linewidth=1)
folds[0].set_label("single folds")
below.plot(lams, scores.mean(axis=1), label="PathCV: mean of folds")
below.plot(tried, mean, "o", label="grid")
below.axvline(model.lam_, linestyle=":", color="0.3", label="auto")
below.axvline(search.best_lam_, linestyle="--", color="0.3", label="one-se")
below.set(xlabel="lam", ylabel="validation accuracy")
below.legend(loc="upper left", fontsize=8)
plt.show()

# %%
# The upper panel shows the gap for each ``lam``. It increases from one
# breakpoint until it reaches ``eps`` at the next, where the weights
# change. In the lower panel, the scores of the grid are close to the
# curve of the path, since both are within a tolerance of the same
# optimum. Over a wide range, the score varies less with ``lam`` than
# between folds (gray). The best value is then largely determined by
# chance, and the default and the "one-se" rule are equally good.
#
# See :doc:`/explanation/certificate` and :doc:`/explanation/path` for the
# reasons why the bounds are valid.
