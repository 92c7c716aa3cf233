"""
=========================================================
Do neighbors help to read handwritten digits? (ChainSSVM)
=========================================================

Handwritten dates, YYYY-MM-DD, are read from the same pixels by a linear classifier of single images
and by a chain, which also learns transitions. No image occurs in both the training and the test
dates.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from sstruct import ChainSSVM
from sstruct.datasets import load_digit_dates

train, test = load_digit_dates(subset="train"), load_digit_dates(subset="test")

chain = ChainSSVM(tol=1e-3, random_state=0).fit(train.data, train.target)
single = LinearSVC(C=0.1, random_state=0).fit(np.vstack(train.data), np.concatenate(train.target))

# %%
# Each date has ten characters, so errors can be counted by position.

truth = np.array(test.target)
errors = {
    "single images": np.array([single.predict(x) for x in test.data]) != truth,
    "chain": np.array(list(chain.predict(test.data))) != truth,
}

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
positions = np.arange(truth.shape[1])
for shift, (name, wrong) in zip((-0.2, 0.2), errors.items()):
    label = f"{name}: {wrong.sum()} errors"
    ax.bar(positions + shift, 100 * wrong.mean(axis=0), width=0.4, label=label)
ax.set_xticks(positions, "YYYY-MM-DD")
ax.set(ylabel="Errors (%)", title="Errors by position")
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# They do: the chain makes less than half as many errors. All dates are in 1998 and 1999, and the
# largest gain is in the last digit of the year, which can only be 8 or 9. The remaining errors are
# mostly in the last digits of month and day, where almost all digits are possible. The chain models
# pairs of characters, but not their positions, so there is no gain in the second digit, which is
# always 9.
