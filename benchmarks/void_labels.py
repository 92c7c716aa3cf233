#!/usr/bin/env python3
"""Training on images in which the labels of some pixels are unknown.

    python benchmarks/void_labels.py [--data made horses] [--kinds border ...] [--seeds 0 1 2]

A row in void_labels.csv of --output for each data set, kind of unknown pixels, seed and way:

    made        discs of two labels on a third one, with smooth noise: 10 images to train on, 14 to
                test
    horses      Weizmann horses, 20 photographs of the training part, 20 of the test part, five
                features (colors and place), on pixels; read from SSTRUCT_DATA

    border      pixels at a border between two labels are unknown
    wide        pixels up to three pixels from a border are unknown
    random      nine of ten pixels are unknown
    marks       all pixels are unknown except a short line within each label
    object      a disc of something else, without a label
    pad         the right quarter, where all features are 0

    left out    unknown pixels leave training, as with an infinite distance from known labels
    default     GridCRFSSVM: unknown pixels near a known label take the nearest one, without loss
    any distance    the same, however far away
    latent      LatentSSVM around the default
    all known   GridCRFSSVM of all labels

lam is "auto". Accuracy is that of the pixels of the test images, except objects and pads.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, origin, parsed
from scipy import ndimage

from sstruct import GridCRFSSVM, LatentSSVM
from sstruct._estimators.graph import nearest_labels
from sstruct.datasets import fetch_weizmann_horses

KINDS = ("border", "wide", "random", "marks", "object", "pad")
WAYS = {"left out": 0, "default": nearest_labels.MAX_EDGES, "any distance": 10**6,
        "latent": nearest_labels.MAX_EDGES, "all known": 0}  # fmt: skip
VOID = 255


def made(rng):
    """Return features, truth, and the number of training images."""
    images, masks = [], []
    for _ in range(24):
        mask = np.zeros((40, 40), int)
        for label in (1, 2, 1, 2):
            row, column, size = *rng.integers(5, 35, 2), rng.integers(4, 9)
            mask[disc(mask.shape, row, column, size)] = label
        noise = ndimage.gaussian_filter(rng.normal(0, 3.0, (40, 40, 3)), (1, 1, 0))
        images.append(np.eye(3)[mask] + noise)
        masks.append(mask)
    return images, masks, 10


def horses(rng):
    parts = [fetch_weizmann_horses(subset=subset) for subset in ("train", "test")]
    images, masks = [], []
    for part in parts:
        for i in rng.permutation(len(part.data))[:20]:
            image, mask = part.data[i][::2, ::2] / 255, part.target[i][::2, ::2]
            place = np.moveaxis(np.indices(mask.shape), 0, -1) / np.array(mask.shape)
            images.append(np.concatenate([image, place], axis=-1))
            masks.append(mask.astype(int))
    return images, masks, 20


def disc(shape, row, column, size):
    rows, columns = np.indices(shape)
    return np.hypot(rows - row, columns - column) < size


def unknown(kind, image, mask, rng):
    """Return which pixels are unknown; "object" and "pad" change the image."""
    if kind in ("border", "wide"):
        return ndimage.morphological_gradient(mask, size=3 if kind == "border" else 7) > 0
    if kind == "random":
        return rng.random(mask.shape) < 0.9
    if kind == "marks":
        void = np.ones(mask.shape, dtype=bool)
        for label in np.unique(mask):
            inner = ndimage.binary_erosion(mask == label, iterations=2)
            if inner.any():
                row, column = rng.choice(np.argwhere(inner))
                line = np.zeros(mask.shape, dtype=bool)
                line[max(row - 1, 0) : row + 2, max(column - 4, 0) : column + 5] = True
                void &= ~(line & inner)
        return void
    void = np.zeros(mask.shape, dtype=bool)
    if kind == "pad":
        void[:, 3 * mask.shape[1] // 4 :] = True
        image[void] = 0
        return void
    row, column = rng.integers(5, np.array(mask.shape) - 5)
    void = disc(mask.shape, row, column, rng.integers(4, 8))
    image[void] += rng.permutation([2.0, -2.0, 1.0, 0, 0][: image.shape[-1]])
    return void


def rows(data, kind, seed):
    rng = np.random.default_rng(seed)
    images, masks, n = {"made": made, "horses": horses}[data](rng)
    voids = [unknown(kind, *pair, rng) for pair in zip(images, masks)]
    partly = [np.where(void, VOID, mask) for void, mask in zip(voids, masks)]
    truth = partly if kind in ("object", "pad") else masks
    for way, most in WAYS.items():
        nearest_labels.MAX_EDGES = most
        model = GridCRFSSVM(ignore_label=VOID, random_state=0)
        model = LatentSSVM(model, random_state=0) if way == "latent" else model
        begin = time.process_time()
        model.fit(images[:n], truth[:n] if way == "all known" else partly[:n])
        seconds = time.process_time() - begin
        yield {
            "data": data, "kind": kind, "seed": seed, "way": way,
            "accuracy": f"{model.score(images[n:], truth[n:]):.4f}", "seconds": f"{seconds:.2f}",
        }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", choices=["made", "horses"], default=["made"])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    table = Table(arguments.output / "void_labels.csv", ["data", "kind", "seed", "way"])
    for data in arguments.data:
        for kind in arguments.kinds:
            for seed in arguments.seeds:
                how = f"--data {data} --kinds {kind} --seeds {seed}"
                for row in rows(data, kind, seed):
                    print(*row.values(), flush=True)
                    table.put(
                        row | origin(f"python benchmarks/void_labels.py {how}", arguments.load)
                    )


if __name__ == "__main__":
    main()
