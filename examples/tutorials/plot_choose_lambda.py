"""
Choose lam
==========

At the end of this page you have three ways to choose :term:`lam`, from
one line to a guarantee for all values, and can say how far a fit is from
the best possible one.

``lam`` weighs the squared weights against the training :term:`loss`: a
large value keeps weights small and the model simple, a small value
follows the training data closely. It is LIBLINEAR's ``1 / (C * n)`` for
n samples.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM, PathCV, ssvm_path
from sstruct.datasets import make_sequences
from sstruct.plotting import RegularizationPathDisplay

# Made sequences: six labels, noisy features.
X, y = make_sequences(
    n_samples=500, n_labels=6, n_features=30, noise=2.0, random_state=0
)
X_test, y_test, X, y = X[100:], y[100:], X[:100], y[:100]

# %%
# Start with the default
# ----------------------
#
# ``lam="auto"`` follows the number of samples and the scale of the
# features.

model = ChainSSVM(random_state=0).fit(X, y)
print(f"lam {model.lam_:.3g}")
print(f"{model.score(X_test, y_test):.3f} of the labels are right")

# %%
# Read the certificate
# --------------------
#
# Training minimizes an objective. A fit stops before the very minimum,
# and tells how far before: ``objective_`` is what it reached, and no
# weights at all can be below ``dual_objective_``. The difference is the
# duality :term:`gap`.

print(f"{model.status_}: {model.objective_:.4f} was reached,")
print(f"and the optimum is at least {model.dual_objective_:.4f}")
relative_gap = model.dual_gap_ / model.objective_
print(f"relative gap {relative_gap:.4f}, asked for: {model.tol}")

# %%
# So if a model is poor although its status is ``CONVERGED``, a longer
# fit will not mend it: try another ``lam``, or other features.
#
# Search a grid
# -------------
#
# As for any estimator, from a tenth of the default to a hundred times it:

begin = time.process_time()
grid = GridSearchCV(
    ChainSSVM(random_state=0),
    {"lam": model.lam_ * np.geomspace(0.1, 100, 10)},
    cv=4,
)
grid.fit(X, y)
print(f"best lam of the grid: {grid.best_params_['lam']:.3g}")
print(f"{grid.score(X_test, y_test):.3f} of the labels are right")
print(f"{time.process_time() - begin:.1f} s")

# %%
# Search all values at once
# -------------------------
#
# :class:`~sstruct.PathCV` computes a regularization path for each fold:
# weights for every ``lam``, not for ten of them. With ``eps=0.1`` each
# objective is within 0.1 wrong labels a sequence of its optimum.
# ``rule="one-se"`` takes the largest ``lam`` whose score is within one
# standard error of the best, the simplest model that is about as good.

begin = time.process_time()
search = PathCV(
    ChainSSVM(random_state=0),
    eps=0.1,
    lam_min=0.1 * model.lam_,
    cv=4,
    rule="one-se",
)
search.fit(X, y)
print(f"lam of the path: {search.best_lam_:.3g}")
print(f"{search.score(X_test, y_test):.3f} of the labels are right")
print(f"{time.process_time() - begin:.1f} s")

# %%
# The path itself
# ---------------
#
# :func:`~sstruct.ssvm_path` returns one path, here on all training
# samples. Its weights change at breakpoints only. The model of any
# ``lam`` is an estimator like a fitted one, and its gap is known.

path = ssvm_path(ChainSSVM(random_state=0), X, y, eps=0.1, lam_min=0.1 * model.lam_)
print(len(path.lams_), "breakpoints, certified:", path.certified_)
print(f"gap at the default lam: {path.gap(model.lam_):.3f}")
there = path.estimator(model.lam_)
print(f"score there: {there.score(X_test, y_test):.3f}")

# %%
# Both in one picture
# -------------------

size = {"figsize": (7, 6.5), "layout": "constrained"}
figure, (above, below) = plt.subplots(2, sharex=True, **size)
RegularizationPathDisplay.from_path(path, y="gap", ax=above)
above.set(xlabel="", title=f"{len(path.lams_)} vectors of weights for all lam")

lams = np.geomspace(0.1, 100, 500) * model.lam_
scores = np.array([search.split_scores(lam) for lam in lams])
tried, mean = (grid.cv_results_[k] for k in ("param_lam", "mean_test_score"))
folds = below.plot(lams, scores, color="0.8", linewidth=1)
folds[0].set_label("single folds")
below.plot(lams, scores.mean(axis=1), label="PathCV: mean of folds, every lam")
below.plot(tried, mean, "o", label="grid")
below.axvline(model.lam_, linestyle=":", color="0.3", label="auto")
below.axvline(search.best_lam_, linestyle="--", color="0.3", label="one-se")
below.set(xlabel="lam", ylabel="held-out share of right labels")
below.legend(loc="upper left", fontsize=8)
plt.show()

# %%
# Above, the gap at every ``lam``: it grows between two breakpoints until
# it reaches ``eps``, where new weights take over. Below, the grid's
# scores lie near the path's curve: both are within a tolerance of the
# same optimum. Over a wide range the score changes less than from fold
# to fold (grey), so which value comes out best is largely chance, and
# the default and the "one-se" rule do as well.
#
# Where to go from here: :doc:`/explanation/certificate` and
# :doc:`/explanation/path` say why the bounds hold.
