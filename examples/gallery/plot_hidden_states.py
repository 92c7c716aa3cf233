"""
============================================================
Do hidden states recover subclasses of a label? (LatentSSVM)
============================================================

Digits are classified as even or odd, so each of the two labels covers five digits. A linear
model with two labels cannot separate them. With ``states_per_label=5``, each label has five hidden
states with separate weights, for which no labels are given.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sstruct import ChainSSVM, LatentSSVM

X, digit = load_digits(return_X_y=True)
parity = np.where(digit % 2, "odd", "even")
X_train, X_test, y_train, y_test, _, digit_test = train_test_split(
    X / 16, parity, digit, test_size=0.4, random_state=0
)

# Chains of length one: a multiclass problem.
image = ChainSSVM(lam=1e-3, transitions=False, boundaries=False, random_state=0)
models = {
    n: LatentSSVM(image, states_per_label=n, random_state=0).fit(X_train, y_train) for n in (1, 5)
}
errors = {n: 1 - model.score(X_test, y_test) for n, model in models.items()}

# %%
# The states of test images: the mean image of each state, and its most frequent digit.

states = models[5].estimator_.predict(X_test)
names = list(models[5].estimator_.classes_)
fig, axes = plt.subplots(2, 5, figsize=(9, 4.2), layout="constrained")
for ax, name in zip(axes.ravel(), names):
    chosen = np.array([state == name for state in states])
    digits, count = np.unique(digit_test[chosen], return_counts=True)
    ax.axis("off")
    if not chosen.any():
        ax.set_title("no image")
        continue
    ax.imshow(X_test[chosen].mean(axis=0).reshape(8, 8), cmap="gray_r")
    share = 100 * count.max() / chosen.sum()
    ax.set_title(f"{name[0]}: {share:.0f} % are {digits[count.argmax()]}")
wrong = [f"{100 * errors[n]:.1f} %" for n in (1, 5)]
fig.suptitle(f"Test errors: {wrong[0]} with one state per label, {wrong[1]} with five")
plt.show()

# %%
# They do: each state corresponds to one digit, all ten digits are found, and three of four
# errors are avoided. The states are initialized by clustering the images of each label; the
# following rounds adapt them to separate the two labels.
