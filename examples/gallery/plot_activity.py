"""
==============================================================
Activity recognition from a sensor with GroupKFold (ChainSSVM)
==============================================================

Eight people wear an accelerometer, three times each. Each second of a recording is a node with the
mean and the spread of the signal and its strength in three frequency bands, and its label is an
activity. The data are generated: every person moves with a different strength and frequency, and
wears the sensor in a different position. A chain learns which activity may follow which, and how
long activities last.

.. index:: ! activity recognition, ! accelerometer, ! GroupKFold
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict, cross_val_score
from sklearn.preprocessing import StandardScaler

from sstruct import ChainSSVM
from sstruct.metrics import flat_accuracy_score
from sstruct.preprocessing import PerNode

ACTIVITIES = ["rest", "walk", "stairs", "run"]
STRENGTH, FREQUENCY = [0.15, 0.8, 1.0, 1.9], [0.5, 2.0, 1.4, 2.8]
NEXT = [[0, 1, 0, 0], [0.3, 0, 0.4, 0.3], [0, 1, 0, 0], [0, 1, 0, 0]]
RATE = 20  # values of the sensor in a second
rng = np.random.default_rng(0)


def activities(seconds=120):
    """Return the activity of each second: each lasts for 4 to 20 seconds."""
    now, labels = 0, []
    while len(labels) < seconds:
        labels += [now] * rng.integers(4, 21)
        now = rng.choice(4, p=NEXT[now])
    return np.array(labels[:seconds])


def recording(labels, strength, frequency, position):
    """Return the signal, of shape (seconds, RATE)."""
    beat = np.repeat(frequency * np.take(FREQUENCY, labels), RATE) / RATE
    signal = np.repeat(strength * np.take(STRENGTH, labels), RATE) * np.sin(
        2 * np.pi * beat.cumsum()
    )
    return (position + signal + rng.normal(scale=0.6, size=signal.shape)).reshape(-1, RATE)


def features(signal):
    """Return a row for each second."""
    spectrum = np.abs(np.fft.rfft(signal, axis=1))[:, 1:7]
    bands = spectrum.reshape(-1, 3, 2).mean(axis=2)
    return np.column_stack([signal.mean(axis=1), signal.std(axis=1), np.log(bands)])


signals, y, people = [], [], []
for person in range(8):
    habits = rng.uniform(0.6, 1.6), rng.uniform(0.8, 1.25), rng.normal(scale=1.5)
    for _ in range(3):
        y.append(activities())
        signals.append(recording(y[-1], *habits))
        people.append(person)
X = [features(signal) for signal in signals]

# %%
# Recordings of one person resemble each other, and the model is meant for new people. Hence all
# recordings of a person must be in the same fold: GroupKFold ensures this. KFold mixes recordings
# of the same person between training and test samples.
#
# A chain without transitions labels each second separately. It is the baseline.

models = {
    "single seconds": ChainSSVM(transitions=False, boundaries=False, random_state=0),
    "chain": ChainSSVM(random_state=0),
}
X = PerNode(StandardScaler()).fit_transform(X)
splits = {
    "KFold": {"cv": KFold(4, shuffle=True, random_state=0)},
    "GroupKFold": {"cv": GroupKFold(4), "groups": people},
}
scores = {}
for name, model in models.items():
    for split, how in splits.items():
        scores[name, split] = cross_val_score(model, X, y, **how).mean()
        print(f"{name}, {split}: accuracy {scores[name, split]:.3f}")

# %%
# A recording of a person whose other recordings were not used for training either:

shown = 12
predictions = {"true": y[shown]}
for name, model in models.items():
    y_pred = cross_val_predict(model, X, y, **splits["GroupKFold"])
    predictions[name] = y_pred[shown]
    print(f"{name}: accuracy {flat_accuracy_score([y[shown]], [y_pred[shown]]):.3f}")

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 4), sharex=True, height_ratios=(2, 1.4), layout="constrained"
)
top.plot(np.arange(signals[shown].size) / RATE, signals[shown].ravel(), color="0.4", linewidth=0.4)
top.set(ylabel="Acceleration", title="One recording, by activity")
colors = plt.colormaps["Set2"].colors[: len(ACTIVITIES)]
rows = np.array(list(predictions.values()))
bottom.imshow(rows, cmap=ListedColormap(colors), aspect="auto", extent=(0, 120, 2.5, -0.5))
for color, name in zip(colors, ACTIVITIES):
    bottom.bar(0, 0, color=color, label=name)
bottom.set(xlabel="Seconds", xlim=(0, 120), ylim=(2.5, -0.5))
bottom.set_yticks(range(3), list(predictions))
bottom.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.4), frameon=False)
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The chain removes most changes of the activity that last for one second. Report the accuracy of
# GroupKFold: that of KFold is too high for new people, because the model has seen other recordings
# of the people that it is tested on.
#
# For predictions while the signal arrives, see :doc:`/how_to/label_stream`; for scores of whole
# segments, :func:`sstruct.metrics.segment_f1_score`.
