"""
Activities from a sensor
========================

This tutorial goes from the signal of an accelerometer to segments with a start,
an end, an activity and a probability. It assumes that you know estimators and
cross-validation in scikit-learn. In addition to sstruct, it requires matplotlib.

The data are generated: twelve people wear a sensor, three times each. Walks are
long, stairs take some seconds, and jumps are short.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

from sstruct import ChainSSVM, SegmentSSVM
from sstruct.calibration import CalibratedSSVM
from sstruct.metrics import flat_accuracy_score, segment_f1_score
from sstruct.plotting import SignalDisplay
from sstruct.preprocessing import PerNode

# %%
# From a signal to nodes
# ----------------------
#
# The sensor has 20 values per second. Half a second is a node of the sequence,
# with the mean, the spread and the strength of three frequency bands of the
# signal as features, and its label is an activity.

ACTIVITIES = ["jump", "rest", "stairs", "walk"]
STRENGTH, FREQUENCY = [1.4, 0.1, 0.9, 0.8], [2.6, 0.5, 1.5, 1.9]
LEAST, MOST = [4, 20, 10, 30], [8, 50, 18, 70]  # durations in nodes
rng = np.random.default_rng(0)


def activities(length=240):
    codes, now = [], 1
    while len(codes) < length:
        codes += [now] * rng.integers(LEAST[now], MOST[now] + 1)
        now = rng.choice([k for k in range(4) if k != now])
    return np.array(codes)


def signal_of(codes, strength, frequency):
    beat = np.repeat(frequency * np.take(FREQUENCY, codes), 10) / 20
    size = np.repeat(strength * np.take(STRENGTH, codes), 10)
    wave = size * np.sin(2 * np.pi * beat.cumsum())
    return (wave + rng.normal(scale=0.6, size=len(wave))).reshape(-1, 10)


def features(signal):
    bands = np.abs(np.fft.rfft(signal, axis=1))[:, 1:4]
    return np.column_stack([signal.mean(axis=1), signal.std(axis=1), np.log(bands)])


X, y = [], []
for _person in range(12):
    habits = rng.uniform(0.8, 1.3), rng.uniform(0.9, 1.1)
    for _ in range(3):
        codes = activities()
        X.append(features(signal_of(codes, *habits)))
        y.append(np.array(ACTIVITIES)[codes])
print(X[0].shape, *y[0][18:24])

# %%
# Recordings of one person resemble each other, so no person may be in
# several parts: six people are used for training, three for calibration, and three
# for testing.

train, held_out, test = slice(0, 18), slice(18, 27), slice(27, 36)
scale = PerNode(StandardScaler()).fit(X[train])
X = scale.transform(X)

# %%
# Labels of nodes
# ---------------
#
# :class:`~sstruct.ChainSSVM` learns which activity may follow which one. Most
# of its nodes are right, but not all of its segments: short activities are missed,
# or short errors cut long segments. The F1 score counts a segment as found if its
# intersection with a true segment of the same activity is at least half of their
# union.


def scores_of(labels):
    return flat_accuracy_score(y[test], labels), segment_f1_score(y[test], labels)


chain = ChainSSVM(random_state=0).fit(X[train], y[train])
scores = {"chain": scores_of(list(chain.predict(X[test])))}

# %%
# Durations
# ---------
#
# :class:`~sstruct.SegmentSSVM` is the same model with durations. Each activity
# has a weight for each bin of durations, and predictions satisfy limits, which are
# the shortest and longest durations in training, with some slack.

durations = {name: [] for name in ACTIVITIES}
for labels in y[train]:
    ends = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    for part in np.split(labels, ends)[:-1]:  # the last one may have been cut
        durations[part[0]].append(len(part))
limits = {
    "min_duration": {name: int(0.8 * min(own)) for name, own in durations.items()},
    "max_duration": {name: int(1.25 * max(own)) for name, own in durations.items()},
}
model = SegmentSSVM(duration_bins=[1, 5, 10, 20, 40], random_state=0, **limits)
model.fit(X[train], y[train])
scores["segments"] = scores_of(list(model.predict(X[test])))
for name, (accuracy, f1) in scores.items():
    print(f"{name:9} accuracy {accuracy:.2f}, F1 of segments {f1:.2f}")

# %%
# A filter that removes short segments afterwards has to choose one minimum, which
# may also remove the jumps. The strips are a recording: the true activities, and
# both predictions. The curve is the standard deviation in each node.

strips = {
    "truth": y[test][3],
    "chain": chain.predict(X[test])[3],
    "segments": model.predict(X[test])[3],
}
SignalDisplay.from_labels(X[test][3][:, 1], strips)

# %%
# Weights of durations
# --------------------
#
# The weights of a label compare durations: a jump of 5 to 9 nodes has a higher
# score than a longer one.

table = model.to_frame()
weights = table[table.kind == "duration"].pivot(
    index="label", columns="duration", values="weight"
)
print(weights.round(2))

# %%
# Probabilities of segments
# -------------------------
#
# :class:`~sstruct.calibration.CalibratedSSVM` estimates a temperature on the
# people who were not used for training. Then each predicted segment has a
# probability: that of all segmentations that contain it with these ends. Its
# label is more certain than its ends, so ``predict_proba``, which gives
# the probability of each activity at each node, is larger.

calibrated = CalibratedSSVM(FrozenEstimator(model)).fit(X[held_out], y[held_out])
for start, stop, activity, p in calibrated.predict_spans(X[test])[0]:
    print(f"{start / 2:5.1f} s to {stop / 2:5.1f} s: {activity:6} {p:.2f}")

# %%
# The mean probability of the nodes of a segment shows which segments should be
# checked. All errors are in the lower half.

certainty, is_right = [], []
results = zip(
    calibrated.predict_proba(X[test]), calibrated.predict_spans(X[test]), y[test]
)
for p, spans, labels in results:
    for start, stop, activity, _ in spans:
        certainty.append(p[start:stop, ACTIVITIES.index(activity)].mean())
        is_right.append((labels[start:stop] == activity).mean() >= 0.5)
certainty, is_right = np.array(certainty), np.array(is_right)
low = certainty <= np.median(certainty)
errors = [int((~is_right[part]).sum()) for part in (low, ~low)]
print(
    f"wrong segments: {errors[0]} of the uncertain half, {errors[1]} of the others"
)

# %%
# Alternatives
# ------------
#
# The k best segmentations show what else the recording may be.

labels, values = model.predict_top_k(X[test][:1], k=3)
for row, value in zip(labels[0], values[0]):
    changed = np.flatnonzero(row != labels[0][0])
    print(f"score {value:.2f}, other labels at nodes", changed.tolist())

# %%
# If a person corrects some nodes, ``predict`` completes the rest. In this
# recording, stairs were taken for a jump:

known = [None] * len(X[test][0])
known[78] = "stairs"
corrected = model.predict(X[test][:1], y_partial=[known])[0]
right = [(row == y[test][0]).mean() for row in (labels[0][0], corrected)]
print(f"accuracy {right[0]:.2f} before and {right[1]:.2f} after the correction")
plt.show()

# %%
# :doc:`/how_to/segments` describes limits, bins and spans as labels, and
# :doc:`/how_to/confidence` probabilities and prediction sets.
