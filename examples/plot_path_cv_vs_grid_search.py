"""
What lies between the lambdas of a grid?
========================================

A grid search fits a model for each of a few lambdas. :class:`sstruct.PathCV` computes one
regularization path in each fold, and from it the validation score at every lambda.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM, PathCV
from sstruct.datasets import make_sequences

X, y = make_sequences(n_samples=200, n_labels=6, n_features=30, noise=2.0, random_state=0)
X_test, y_test, X, y = X[100:], y[100:], X[:100], y[:100]

begin = time.process_time()
search = PathCV(ChainSSVM(random_state=0), eps=0.05, lam_min=0.3, cv=4).fit(X, y)
seconds = {"PathCV": time.process_time() - begin}

begin = time.process_time()
grid = GridSearchCV(ChainSSVM(random_state=0), {"lam": np.geomspace(0.3, 300, 10)}, cv=4)
grid.fit(X, y)
seconds["GridSearchCV"] = time.process_time() - begin

# %%
# The grid's scores lie on the curve, up to the tolerance ``eps``. The curve shows what the dots do
# not: below 10 the score hardly changes, and much less than from fold to fold (grey). So which
# lambda comes out best is largely chance. ``rule="one-se"`` takes the largest lambda within one
# standard error of the best, the simplest model that is about as good.

lams = np.geomspace(0.3, 300, 500)
scores = np.array([search.split_scores(lam) for lam in lams])
figure, ax = plt.subplots()
ax.plot(lams, scores, color="0.8", linewidth=1)
ax.plot(lams, scores.mean(axis=1), label="PathCV, all lambdas")
ax.plot(grid.cv_results_["param_lam"], grid.cv_results_["mean_test_score"], "o", label="grid")
ax.axvline(search.best_lam_, linestyle=":", color="0.4", label="best")
ax.set(xscale="log", xlabel="lambda", ylabel="share of labels right, held out")
ax.invert_xaxis()
ax.legend()
figure.tight_layout()
plt.show()

# %%
# Both searches refit their best lambda to all training samples. Test scores differ by less than the
# folds do.

for name, found in (("PathCV", search), ("GridSearchCV", grid)):
    print(
        f"{name}: lam {found.best_params_['lam']:.3g}, {seconds[name]:.1f} s, "
        f"test {found.score(X_test, y_test):.3f}"
    )
