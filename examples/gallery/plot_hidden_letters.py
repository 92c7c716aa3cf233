"""
============================================
How many labels may be missing? (LatentSSVM)
============================================

In the training dates, YYYY-MM-DD in handwritten digits, only some characters are labeled. There are
two ways to learn from them: split the dates at unlabeled characters, or alternate between
completing the hidden labels with the best labeling that agrees with the known ones and fitting all
labels (:class:`~sstruct.LatentSSVM`).
"""

import matplotlib.pyplot as plt
import numpy as np

from sstruct import ChainSSVM, LatentSSVM
from sstruct.datasets import load_digit_dates

train, test = load_digit_dates(subset="train"), load_digit_dates(subset="test")
HIDDEN = -1

cut = ChainSSVM(ignore_label=HIDDEN, random_state=0)
ways = {"split at hidden labels": cut, "completed": LatentSSVM(cut, random_state=0)}

shares = [0.0, 0.3, 0.5, 0.7, 0.8, 0.9]
errors = {name: [] for name in ways}
rng = np.random.default_rng(0)
draws = [rng.random(len(labels)) for labels in train.target]
for share in shares:
    partly = [np.where(draw < share, HIDDEN, labels) for draw, labels in zip(draws, train.target)]
    for name, model in ways.items():
        errors[name].append(1 - model.fit(train.data, partly).score(test.data, test.target))

# %%
# Hidden labels are -1.

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, marker in zip(errors, "so"):
    ax.plot(100 * np.array(shares), 100 * np.array(errors[name]), marker=marker, label=name)
ax.set(xlabel="Hidden labels in training (%)", ylabel="Test errors (%)", ylim=0)
ax.set_title("Hidden labels: split or completed")
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# With 50 and 70 % hidden labels, completing them gives fewer errors. Splitting loses most
# transitions, because the labels of two neighbors are rarely both known. With 80 and 90 % hidden
# labels, too many completions are wrong, and the model learns these errors; then splitting is
# better.
