"""
========================================
How many labels may be left out?
========================================

Handwritten dates, YYYY-MM-DD, of which somebody has read only some marks, here and there. Two ways
to learn from them: cut the dates where a mark has not been read, or complete what is hidden with
the best reading around the known marks, and learn from all, in rounds
(:class:`~sstruct.LatentSSVM`).
"""

import matplotlib.pyplot as plt
import numpy as np

from sstruct import ChainSSVM, LatentSSVM
from sstruct.datasets import load_digit_dates

train, test = load_digit_dates(subset="train"), load_digit_dates(subset="test")
HIDDEN = -1

cut = ChainSSVM(ignore_label=HIDDEN, random_state=0)
ways = {"cut at hidden marks": cut, "completed in rounds": LatentSSVM(cut, random_state=0)}

shares = [0.0, 0.3, 0.5, 0.7, 0.8, 0.9]
errors = {name: [] for name in ways}
rng = np.random.default_rng(0)
draws = [rng.random(len(labels)) for labels in train.target]
for share in shares:
    partly = [np.where(draw < share, HIDDEN, labels) for draw, labels in zip(draws, train.target)]
    for name, model in ways.items():
        errors[name].append(1 - model.fit(train.data, partly).score(test.data, test.target))

# %%
# The labels are numbers, -1 where nobody has read the mark.

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, marker in zip(errors, "so"):
    ax.plot(100 * np.array(shares), 100 * np.array(errors[name]), marker=marker, label=name)
ax.set(xlabel="Hidden marks in training (%)", ylabel="Misread marks in test (%)", ylim=0)
ax.set_title("Hidden marks, cut out or completed")
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# Up to seven marks in ten may be hidden and the completed dates teach almost as much as whole ones,
# while cutting loses the transitions: both neighbors are seldom known. With nine in ten hidden too
# many completions are wrong, and the rounds learn these errors; then cutting is the better way.
