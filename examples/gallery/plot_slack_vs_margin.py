"""
=========================================================================
Does slack rescaling read dates better than margin rescaling? (ChainSSVM)
=========================================================================

Both are hinge losses for chains, here for reading handwritten dates. With margin rescaling, the
required margin between the true and a wrong labeling is the fraction of wrong characters. With
slack rescaling, the required margin is 1, and a violation is multiplied by this fraction. Both are
trained with seven values of ``lam``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from sstruct import ChainSSVM
from sstruct.datasets import load_digit_dates

train, test = load_digit_dates(subset="train"), load_digit_dates(subset="test")
lams = np.geomspace(0.001, 1, 7)


def fit(rescaling, lam):
    """Return the accuracy in cross-validation on the training dates, and on the test dates."""
    chain = ChainSSVM(rescaling=rescaling, loss="hamming", lam=lam, random_state=0)
    validated = cross_val_score(chain, train.data, train.target, cv=3).mean()
    return validated, chain.fit(train.data, train.target).score(test.data, test.target)


# %%
# Circles mark the values of lam chosen by cross-validation on the training dates.

chosen = {}
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for rescaling, marker in (("margin", "o"), ("slack", "s")):
    validated, tested = np.array([fit(rescaling, lam) for lam in lams]).T
    errors, best = 100 * (1 - tested), validated.argmax()
    chosen[rescaling] = errors[best]
    (line,) = ax.plot(lams, errors, marker=marker, markersize=4, label=f"{rescaling} rescaling")
    ax.plot(lams[best], errors[best], "o", markersize=13, fillstyle="none", color=line.get_color())
# One entry of the legend for both circles.
ax.plot(
    [], [], "o", markersize=13, fillstyle="none", color="0.4", label="chosen by cross-validation"
)
ax.set(
    xscale="log",
    xlabel="lam",
    ylabel="Test errors (%)",
    title="Errors of both hinge losses",
    ylim=(0, None),
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# No: at the values of ``lam`` chosen by cross-validation, the difference is smaller than the
# variation between test sets. Slack rescaling requires a smaller ``lam``, because violations are
# multiplied by the loss, which is the fraction of wrong characters.

for rescaling, errors in chosen.items():
    print(f"{rescaling} rescaling: {errors:.2f} % errors")
