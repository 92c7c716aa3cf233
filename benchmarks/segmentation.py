#!/usr/bin/env python3
"""Segmentation of images: SSVMs with and without pairwise terms, on real data.

    python benchmarks/segmentation.py [--data horses-superpixels horses-pixels snakes]

Weizmann horses, figure and ground, on superpixels (GraphCRFSSVM) and on pixels (GridCRFSSVM):
accuracy and intersection over union of the pixels of held-out images, without pairwise terms, with
Potts terms and with contrast terms. Snakes, 11 labels (GraphCRFSSVM, ``pairwise="directed"``): edge
features are the direction of the edge times the colors at both ends; decoded by fusion moves, and
by FWMAP. lam is chosen for each model on the last fifth of the training images, and the model is
then fitted to all of them. One thread; CPU seconds. Reads weizmann_horses.npz and snakes.npz from
SSTRUCT_DATA. Writes a table to the screen and JSON into --output.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import machine
from reports import add_output, write
from segmentation_features import expanded, expansion, snake_graph, superpixel_graph, superpixels

from sstruct import GraphCRFSSVM, GridCRFSSVM
from sstruct.datasets import fetch_snakes, fetch_weizmann_horses
from sstruct.preprocessing import superpixel_labels

LAMS = {
    "horses-superpixels": (0.01, 0.03, 0.1, 0.3, 1.0),
    "horses-pixels": (0.3, 1.0, 3.0, 10.0),
    "snakes": (0.0001, 0.001, 0.01),
}
PAIRWISE = {
    "horses-superpixels": (0.0, "potts", "contrast"),
    "horses-pixels": (0.0, "potts", "contrast"),
    "snakes": (0.0, "directed", "directed, fwmap"),
}


class Pictures:
    """Training and test samples of a data set, and the evaluation of predictions."""

    def __init__(self, name):
        self.name = name
        fetch = fetch_snakes if name == "snakes" else fetch_weizmann_horses
        bunches = {part: fetch(subset=part) for part in ("train", "test")}
        self.truth = {part: bunch.target for part, bunch in bunches.items()}
        self.regions, self.X, self.y = {}, {}, {}
        if name != "snakes":
            components = 100 if name == "horses-superpixels" else 40
            steps = expansion(bunches["train"].data[:100], n_components=components)
        for part, bunch in bunches.items():
            if name == "snakes":
                self.X[part] = [snake_graph(image) for image in bunch.data]
                self.y[part] = [labels.ravel() for labels in bunch.target]
            elif name == "horses-pixels":
                self.X[part] = [expanded(x, steps).astype(np.float32) for x in bunch.data]
                self.y[part] = bunch.target
            else:
                regions = [superpixels(image) for image in bunch.data]
                self.regions[part] = regions
                self.X[part] = [
                    superpixel_graph(image, region, expanded(image, steps))
                    for image, region in zip(bunch.data, regions)
                ]
                self.y[part] = [
                    superpixel_labels(region, labels)
                    for region, labels in zip(regions, bunch.target)
                ]

    def model(self, lam, pairwise):
        kind = GridCRFSSVM if self.name == "horses-pixels" else GraphCRFSSVM
        loss = "hamming" if self.name == "horses-superpixels" else "hamming-count"
        inference = "auto"
        if pairwise == "directed, fwmap":
            pairwise, inference = "directed", "fwmap"
        return kind(
            lam=lam,
            pairwise=pairwise,
            inference=inference,
            loss=loss,
            # With the bounds of relaxations, fits rarely reach their tolerance.
            max_time=60 if inference == "fwmap" else 300,
            random_state=0,
        )

    def evaluate(self, model, part, chosen=slice(None)):
        """Return the accuracy of pixels and, except for snakes, the IoU of label 1."""
        found = model.predict(self.X[part][chosen])
        if part in self.regions:
            found = [y[region] for y, region in zip(found, self.regions[part][chosen])]
        found = np.concatenate([np.ravel(labels) for labels in found])
        truth = np.concatenate([labels.ravel() for labels in self.truth[part][chosen]])
        scores = {"accuracy": float((found == truth).mean())}
        if self.name != "snakes":
            both, either = (found & truth).sum(), (found | truth).sum()
            scores["iou"] = float(both / either)
        return scores


def compare(pictures):
    """Choose lam for each model; fit the model and test it."""
    cut = len(pictures.X["train"]) * 4 // 5
    rows = []
    for pairwise in PAIRWISE[pictures.name]:
        held_out = {}
        for lam in LAMS[pictures.name]:
            model = pictures.model(lam, pairwise)
            model.fit(pictures.X["train"][:cut], pictures.y["train"][:cut])
            scores = pictures.evaluate(model, "train", slice(cut, None))
            held_out[lam] = scores.get("iou", scores["accuracy"])
        lam = max(held_out, key=held_out.get)
        begin = time.thread_time()
        model = pictures.model(lam, pairwise).fit(pictures.X["train"], pictures.y["train"])
        seconds = time.thread_time() - begin
        rows.append(
            {
                "pairwise": pairwise,
                "lam": lam,
                "seconds": seconds,
                "oracle_calls": int(model.n_oracle_calls_),
                "status": str(model.status_),
                "inference": model.inference_,
                **pictures.evaluate(model, "test"),
            }
        )
        print(
            f"{pictures.name:20s}{pairwise!s:16s}lam {lam:<8g}{rows[-1]['accuracy']:9.4f}"
            f"{rows[-1].get('iou', np.nan):9.4f}{seconds:9.2f} s  {model.status_}, "
            f"{model.inference_}",
            flush=True,
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=[*LAMS], default=[*LAMS])
    add_output(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report = {"machine": machine()}
    print(report["machine"])
    print(f"{'':30s}{'':12s}{'accuracy':>9s}{'IoU':>9s}{'fit':>9s}")
    for name in arguments.data:
        report[name] = compare(Pictures(name))
    write(report, arguments.output, "segmentation")


if __name__ == "__main__":
    main()
