"""
====================================================
Early stopping, or a fit to the optimum? (ChainSSVM)
====================================================

Chains read handwritten dates. If ``lam`` is small, the optimum of the objective follows the
training dates closely, and weights from earlier passes may generalize better. With
``early_stopping=True``, an option of the solver, a tenth of the training dates is used for
validation, and the fit returns the weights of the pass with the best validation score. This example
compares both for eight values of ``lam``.
"""

import matplotlib.pyplot as plt
import numpy as np

from sstruct import ChainSSVM
from sstruct.datasets import load_digit_dates
from sstruct.solvers import MPBCFW

train, test = load_digit_dates(subset="train"), load_digit_dates(subset="test")
lams = np.geomspace(2e-5, 0.05, 8)


def fit(lam, **parameters):
    """Return a chain that is fitted to the training dates."""
    return ChainSSVM(lam=lam, random_state=0, **parameters).fit(train.data, train.target)


kinds = {
    "to the optimum": [fit(lam) for lam in lams],
    "early stopping": [fit(lam, solver=MPBCFW(early_stopping=True)) for lam in lams],
}

# %%
# The numbers are passes over the training dates.

errors = {}
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (kind, models), marker, above in zip(kinds.items(), "os", (6, -14)):
    errors[kind] = np.array([100 * (1 - m.score(test.data, test.target)) for m in models])
    (line,) = ax.plot(lams, errors[kind], marker=marker, markersize=5, label=kind)
    for lam, error, model in zip(lams, errors[kind], models):
        ax.annotate(
            model.n_iter_,
            (lam, error),
            (0, above),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=line.get_color(),
        )
ax.set(
    xscale="log",
    xlabel="lam",
    ylabel="Test errors (%)",
    title="Errors with and without early stopping",
    ylim=(0, 1.8),
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(loc="lower right")
plt.show()

# %%
# With early stopping, ``lam`` has little influence as long as it is not too large, and small values
# take few passes. The certificate bounds the distance of the returned weights from the optimum:

for kind, models in kinds.items():
    gap = models[0].dual_gap_ / models[0].objective_
    print(f"lam {lams[0]:g}, {kind}: {models[0].status_}, relative gap {gap:.2f}")
