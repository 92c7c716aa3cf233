#!/usr/bin/env python3
"""Does a tree of joints find the joints of people better than separate detectors?

    python benchmarks/pose.py [--splits 8] [--lam 0.001] [--output folder]

On 400 photographs of the extended Leeds sports pose set (SSTRUCT_DATA), 300 to train and 100 to
test, for several splits (not split 0, on whose test part the settings were chosen); training images
are also mirrored. Features: the response of a detector for each joint and cell, which is a ridge
regression on Gaussian bumps from histograms of gradients (cells of 6 pixels, windows of 9 x 9
cells), and the place of the cell in the image. Responses on training images are those of
regressions on other training images. A state is a cell. TreeSSVM is trained on the same features
with the tree and, "independent", without edges. Reported are the mean distance of annotated joints
from the centers of the predicted cells, relative to the longest side of the image, and the fraction
of joints closer than a tenth of it. "mean place" predicts the mean location of each joint. Writes a
table to the screen and JSON into --output.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from sstruct import TreeSSVM
from sstruct.datasets import fetch_lspet_pose

CELL = 6
ORIENTATIONS = 9
REACH = 4  # cells on each side of the center of a window
SCALE = 0.6  # of the distance loss, relative to the longest side of the image
# Joints of a mirrored image: right and left are exchanged.
MIRROR = [5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6, 12, 13]


def gradient_histograms(image):
    """Return histograms of gradients in cells, divided by the norm of the neighborhood."""
    down, right = np.gradient(np.sqrt(image.astype(np.float64)))
    height, width = (size // CELL for size in image.shape)
    bins = (np.arctan2(down, right) % np.pi * (ORIENTATIONS / np.pi)).astype(int) % ORIENTATIONS
    votes = np.hypot(down, right)[:, :, np.newaxis] * (
        bins[:, :, np.newaxis] == range(ORIENTATIONS)
    )
    votes = votes[: height * CELL, : width * CELL]
    cells = votes.reshape(height, CELL, width, CELL, ORIENTATIONS).sum(axis=(1, 3))
    energy = np.pad((cells**2).sum(axis=-1), 1, mode="edge")
    near = sum(energy[a : a + height, b : b + width] for a in range(3) for b in range(3))
    return cells / np.sqrt(near + 1)[:, :, np.newaxis]


def windows(cells):
    """Return the features of the cells around each cell, and a one: (height * width, F)."""
    height, width, _ = cells.shape
    padded = np.pad(cells, ((REACH, REACH), (REACH, REACH), (0, 0)))
    span = range(2 * REACH + 1)
    parts = [padded[a : a + height, b : b + width] for a in span for b in span]
    parts.append(np.ones((height, width, 1)))
    return np.concatenate(parts, axis=-1).reshape(height * width, -1)


def bumps(joints, shape):
    """Return target responses, (height * width, 14); NaN for joints that are not annotated."""
    y, x = np.indices(shape).reshape(2, -1, 1)
    places = joints / CELL - 0.5
    return np.exp(-((x - places[:, 0]) ** 2 + (y - places[:, 1]) ** 2) / 2)


def ridge(grams, moments, penalty):
    """Return the weights of the detector of each joint, from sums over images."""
    F = grams.shape[-1]
    return np.stack([
        np.linalg.solve(gram + penalty * np.eye(F), moment) for gram, moment in zip(grams, moments)
    ], axis=1)  # fmt: skip


def responses(rows, targets, train, n_folds=5, penalty=100.0):
    """Return the responses on each image, by regressions that were not trained on it."""
    n, P = len(rows), targets[0].shape[1]
    fold = np.full(n, -1)
    fold[train] = np.arange(len(train)) % n_folds
    F = rows[0].shape[1]
    grams, moments = np.zeros((n_folds, P, F, F)), np.zeros((n_folds, P, F))
    for i in train:
        gram = rows[i].T @ rows[i]
        known = np.flatnonzero(~np.isnan(targets[i]).any(axis=0))
        moments[fold[i], known] += (rows[i].T @ targets[i][:, known]).T
        for j in known:  # one by one, since indexing by all would copy
            grams[fold[i], j] += gram
    out = [None] * n
    for k in range(-1, n_folds):
        others = [j for j in range(n_folds) if j != k]
        weights = ridge(grams[others].sum(axis=0), moments[others].sum(axis=0), penalty)
        for i in np.flatnonzero(fold == k):
            out[i] = rows[i] @ weights
    return out


def samples(images, joints, train):
    """Return the data for TreeSSVM and the true states."""
    cells = [gradient_histograms(image) for image in images]
    rows = [windows(c) for c in cells]
    targets = [bumps(places, c.shape[:2]) for places, c in zip(joints, cells)]
    X, y = [], []
    for c, response, places in zip(cells, responses(rows, targets, train), joints):
        height, width, _ = c.shape
        down, right = np.indices((height, width))
        down, right = (2 * down + 1) / height - 1, (2 * right + 1) / width - 1
        maps = np.empty((len(places), height, width, 5))
        maps[..., 0] = 10 * response.T.reshape(-1, height, width)
        maps[..., 1:] = np.stack([right, right**2, down, down**2], axis=-1)
        X.append({"features": maps, "scale": SCALE * max(height, width)})
        at = np.clip(np.nan_to_num(places // CELL), 0, [width - 1, height - 1]).astype(int)
        states = at[:, 1] * width + at[:, 0]
        y.append(np.where(np.isnan(places[:, 0]), -1, states))
    return X, y


def middles(X, predicted):
    """Return the centers of predicted cells in pixels."""
    width = [x["features"].shape[2] for x in X]
    return [
        CELL * (np.column_stack([states % w, states // w]) + 0.5)
        for states, w in zip(predicted, width, strict=True)
    ]


def distances(images, joints, predicted):
    """Return distances of annotated joints from predictions, relative to the longest side."""
    off = [
        np.linalg.norm(places - truth, axis=1) / max(image.shape)
        for image, truth, places in zip(images, joints, predicted, strict=True)
    ]
    off = np.concatenate(off)
    return off[~np.isnan(off)]


def run(people, seed, lam, tol, n_train=300):
    """Train and test on one split; return a row for each model."""
    order = np.random.default_rng(seed).permutation(len(people.data))
    size = np.array([image.shape[::-1] for image in people.data])[:, np.newaxis]
    mirrored = (people.target * [-1, 1] + size * [1, 0])[:, MIRROR]
    fit, test = order[:n_train], order[n_train:]
    images = [*(people.data[i] for i in fit), *(people.data[i][:, ::-1] for i in fit)]
    images += [people.data[i] for i in test]
    joints = [*people.target[fit], *mirrored[fit], *people.target[test]]
    n = 2 * n_train
    X, y = samples(images, joints, np.arange(n))
    shares = [places / image.shape[::-1] for image, places in zip(images[:n], joints)]
    mean = np.nanmean(shares, axis=0)
    off = {"mean place": distances(images[n:], joints[n:], [mean * s[0] for s in size[test]])}
    rows = {"mean place": {}}
    for name, parents in (("independent", np.full(14, -1)), ("tree", people.parents)):
        began = time.thread_time()
        model = TreeSSVM(parents=parents, lam=lam, tol=tol, random_state=0).fit(X[:n], y[:n])
        rows[name] = {
            "passes": model.n_iter_,
            "seconds": time.thread_time() - began,
            "status": model.status_,
        }
        off[name] = distances(images[n:], joints[n:], middles(X[n:], model.predict(X[n:])))
    for name, row in rows.items():
        row["mean_distance"] = float(off[name].mean())
        row["within_tenth"] = float(np.mean(off[name] < 0.1))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--lam", type=float, default=0.001)
    parser.add_argument("--tol", type=float, default=0.003)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    people = fetch_lspet_pose()
    print(f"{'split':>5} {'model':>12} {'distance':>9} {'< 0.1':>6} {'passes':>6} {'CPU s':>6}")
    splits = []
    for seed in range(1, 1 + arguments.splits):
        splits.append(run(people, seed, arguments.lam, arguments.tol))
        for name, row in splits[-1].items():
            fit = f"{row['passes']:>6} {row['seconds']:>6.1f}" if "passes" in row else ""
            figures = f"{row['mean_distance']:>9.4f} {row['within_tenth']:>6.3f}"
            print(f"{seed:>5} {name:>12} {figures} {fit}")
    for name in splits[0]:
        mean = np.mean([rows[name]["mean_distance"] for rows in splits])
        near = np.mean([rows[name]["within_tenth"] for rows in splits])
        print(f" mean {name:>12} {mean:>9.4f} {near:>6.3f}")
    apart = [
        rows["tree"]["mean_distance"] - rows["independent"]["mean_distance"] for rows in splits
    ]
    error = np.std(apart, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
    print(f"tree - independent: {np.mean(apart):.4f}, standard error {error:.4f}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    with open(arguments.output / "pose.json", "w") as file:
        json.dump({"lam": arguments.lam, "tol": arguments.tol, "splits": splits}, file, indent=1)


if __name__ == "__main__":
    main()
