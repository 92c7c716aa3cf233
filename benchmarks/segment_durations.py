#!/usr/bin/env python3
"""Do learned durations find more segments than a filter of the labels of a chain?

    python benchmarks/segment_durations.py [--data generated watch watch-same] [--splits 10]
        [--watch FILE]

Segment F1 (intersection over union of at least 0.5) and accuracy on test recordings of

* "chain": ChainSSVM;
* "chain, filtered": its predictions after a filter, which gives the shortest segment to its longer
  neighbor until all segments have a minimum duration. The minimum is the one with the highest F1 of
  labels predicted in a cross-validation of the training recordings;
* "segments": SegmentSSVM with the default bins of durations;
* "segments, quantiles": with bins that start at quantiles of the durations in training;
* "segments, limits": with the smallest and largest durations in training as limits, by label. The
  largest one is multiplied by 1.25, and the smallest one divided by it;
* "limits, mean" and "limits, mean, contrast": the same with these features of whole segments;
* "limits, segment loss" and "limits, boundary loss": the same with these losses.

All other parameters have their defaults. Each split has its own random recordings:

* "generated": 20 training and 20 test recordings of three noisy channels with four activities,
  whose durations are drawn from a range of each activity;
* "watch": recordings of a watch with accelerometer and gyroscope, of ten people who do seven
  exercises with each arm, from the package seglearn (``seglearn/data/watch_dataset.npy``, license
  BSD; see D. Burns et al., arXiv:1802.01489). A recording contains one exercise, so sessions
  are made of them: 14 parts of recordings of one person and arm, in random order, whose durations
  are drawn from a range of each exercise. The signals are real, the order and the durations are
  not. Frames of 0.2 seconds have the mean and standard deviation of each channel. People are
  divided into five for training and five for testing;
* "watch-same": the same with one range of durations, 5 to 20 seconds, for all exercises.

A row of segment_durations.csv in --output has the means over splits, and the mean difference of F1
to "chain, filtered" with its standard error.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from sstruct import ChainSSVM, SegmentSSVM
from sstruct.metrics import flat_accuracy_score, segment_f1_score
from sstruct.preprocessing import PerNode

# Name, range of durations and means of the channels of each activity.
ACTIVITIES = (
    ("rest", (20, 60), (0.0, 0.0, 0.0)),
    ("walk", (30, 80), (1.0, 0.0, 0.5)),
    ("stairs", (12, 20), (1.0, 0.8, 0.0)),
    ("jump", (4, 8), (0.4, 1.2, 0.6)),
)
FRAME = 10  # values of the watch in 0.2 seconds
# Ranges of durations of the exercises of a session; each split assigns them to exercises.
SECONDS = {
    "watch": [(2, 3), (2, 4), (4, 6), (6, 9), (8, 12), (12, 18), (15, 20)],
    "watch-same": [(5, 20)] * 7,
}
SLACK = 1.25
VARIANTS = {
    "mean": {"segment_features": "mean"},
    "mean, contrast": {"segment_features": ["mean", "contrast"]},
    "segment loss": {"loss": "segments"},
    "boundary loss": {"loss": "boundaries"},
}


def generated(rng):
    """Return 40 recordings, their labels, and groups: the first 20 are for training."""
    X, y = [], []
    for _ in range(40):
        codes, before = [], -1
        while len(codes) < 300:
            before = rng.choice([k for k in range(len(ACTIVITIES)) if k != before])
            low, high = ACTIVITIES[before][1]
            codes += [before] * rng.integers(low, high + 1)
        means = np.array([mean for *_, mean in ACTIVITIES])[codes]
        X.append(means + rng.normal(scale=1.2, size=means.shape))
        y.append(np.array([name for name, *_ in ACTIVITIES])[codes])
    return X, y, np.arange(40), np.arange(40) < 20


def watch(rng, path, seconds):
    """Return the sessions, their labels, the people, and who is for training."""
    data = np.load(path, allow_pickle=True).item()
    names, exercise = np.array(data["y_labels"]), np.asarray(data["y"])
    people = rng.permutation(np.unique(data["subject"]))
    ranges = rng.permutation(seconds) * 5  # frames per second
    X, y, groups = [], [], []
    for person in people:
        for side in (0, 1):
            own = np.flatnonzero((data["subject"] == person) & (data["side"] == side))
            frames, labels, before = [], [], -1
            for _ in range(14):
                i = rng.choice(own[exercise[own] != before])
                before = exercise[i]
                part = framed(np.asarray(data["X"][i], dtype=float))
                low, high = ranges[before]
                length = min(rng.integers(low, high + 1), len(part))
                start = rng.integers(len(part) - length + 1)
                frames.append(part[start : start + length])
                labels += [names[before]] * length
            X.append(np.vstack(frames))
            y.append(np.array(labels))
            groups.append(person)
    return X, y, np.array(groups), np.isin(groups, people[: len(people) // 2])


def framed(signal):
    """Return the mean and the standard deviation of each channel in each frame."""
    frames = signal[: len(signal) // FRAME * FRAME].reshape(-1, FRAME, signal.shape[1])
    return np.hstack([frames.mean(axis=1), frames.std(axis=1)])


def runs_of(labels):
    """Return starts and stops of runs of equal labels."""
    change = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return np.r_[0, change], np.r_[change, len(labels)]


def filtered(labels, least):
    """Give the shortest segment to its longer neighbor until all have a minimum duration."""
    labels = labels.copy()
    while True:
        start, stop = runs_of(labels)
        duration = stop - start
        i = duration.argmin()
        if duration[i] >= least or len(start) == 1:
            return labels
        neighbors = [j for j in (i - 1, i + 1) if 0 <= j < len(start)]
        longer = max(neighbors, key=lambda j: duration[j])
        labels[start[i] : stop[i]] = labels[start[longer]]


def durations_of(y):
    """Return the durations of the segments of each label."""
    found = {}
    for labels in y:
        for start, stop in zip(*runs_of(labels), strict=True):
            found.setdefault(labels[start], []).append(stop - start)
    return found


def best_minimum(X, y, groups):
    """Return the minimum duration of the filter with the highest F1 in a cross-validation."""
    model, cv = ChainSSVM(random_state=0), GroupKFold(4)
    predicted = cross_val_predict(model, X, y, groups=groups, cv=cv)
    longest = max(max(own) for own in durations_of(y).values())
    candidates = np.unique(np.geomspace(1, longest, 25).astype(int))
    scores = [
        segment_f1_score(y, [filtered(labels, least) for labels in predicted])
        for least in candidates
    ]
    return int(candidates[np.argmax(scores)])


def methods(y):
    """Return the SegmentSSVMs, given the training labels."""
    durations = durations_of(y)
    everything = np.concatenate(list(durations.values()))
    quantiles = np.unique(np.quantile(everything, np.linspace(0, 1, 9)).astype(int))
    limits = {
        "min_duration": {k: max(int(min(own) / SLACK), 1) for k, own in durations.items()},
        "max_duration": {k: int(np.ceil(max(own) * SLACK)) for k, own in durations.items()},
    }
    bins = [1, *quantiles[quantiles > 1].tolist()]
    return {
        "segments": SegmentSSVM(random_state=0),
        "segments, quantiles": SegmentSSVM(duration_bins=bins, random_state=0),
        "segments, limits": SegmentSSVM(duration_bins=bins, random_state=0, **limits),
    } | {
        f"limits, {name}": SegmentSSVM(duration_bins=bins, random_state=0, **limits, **options)
        for name, options in VARIANTS.items()
    }


def compared(X, y, groups, train):
    """Return the F1 and the accuracy of each method, and the minimum of the filter."""
    index, test = np.flatnonzero(train), np.flatnonzero(~train)
    scale = PerNode(StandardScaler()).fit([X[i] for i in index])
    X = scale.transform(X)
    X_train, y_train = [X[i] for i in index], [y[i] for i in index]
    X_test, y_test = [X[i] for i in test], [y[i] for i in test]
    least = best_minimum(X_train, y_train, groups[index])
    chain = ChainSSVM(random_state=0).fit(X_train, y_train).predict(X_test)
    found = {"chain": chain, "chain, filtered": [filtered(labels, least) for labels in chain]}
    for name, model in methods(y_train).items():
        found[name] = model.fit(X_train, y_train).predict(X_test)
    scores = {
        name: (segment_f1_score(y_test, list(own)), flat_accuracy_score(y_test, list(own)))
        for name, own in found.items()
    }
    return scores, least


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", nargs="+", choices=["generated", *SECONDS], default=["generated"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--watch", type=Path, help="watch_dataset.npy of seglearn")
    given = parsed(parser)
    if given.data != ["generated"] and given.watch is None:
        parser.error("the recordings of the watch require --watch FILE")
    table = Table(given.output / "segment_durations.csv", ["data", "method"])
    for data in given.data:
        results, minima = [], []
        for split in range(given.splits):
            rng = np.random.default_rng(split)
            if data == "generated":
                made = generated(rng)
            else:
                made = watch(rng, given.watch, SECONDS[data])
            scores, least = compared(*made)
            results.append(scores)
            minima.append(least)
            print(data, split, least, {k: f"{v[0]:.3f} {v[1]:.3f}" for k, v in scores.items()})
        for name in results[0]:
            f1, accuracy = np.array([scores[name] for scores in results]).T
            better = f1 - [scores["chain, filtered"][0] for scores in results]
            error = better.std(ddof=1) / np.sqrt(len(better)) if len(better) > 1 else np.nan
            table.put({
                "data": data,
                "method": name,
                "splits": given.splits,
                "f1": round(f1.mean(), 4),
                "accuracy": round(accuracy.mean(), 4),
                "f1_minus_filtered": round(better.mean(), 4),
                "standard_error": round(error, 4),
                "filter": f"{min(minima)}-{max(minima)}",
                **origin(command(), given.load),
            })  # fmt: skip
            print(data, name, f1.mean(), accuracy.mean(), better.mean(), error)


if __name__ == "__main__":
    main()
