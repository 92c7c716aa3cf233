#!/usr/bin/env python3
"""Early stopping compared with fits to the optimum: test error and time.

    python benchmarks/early_stopping.py [--data ocr folds conll] [--seeds 5]
    python benchmarks/early_stopping.py --shares [--sets iris "EWT tags" ...]

Fits with early_stopping=True hold out a tenth of the training part and select their weights only by
its score; the test part is not used for any choice. "ocr": OCR letters, trained on folds 1-9,
tested on fold 0, fraction of wrong letters. "folds": each of the ten folds is the test part in
turn. "conll": chunk F1 on the test part of CoNLL-2000, with CRFsuite's template and all attributes,
compared with a grid of lam. A seed determines the held-out samples and the order of visits. Seconds
are CPU time of ``fit``. Means are rows of early_stopping.csv in --output.

"/ 6" is a sixth of ``lam="auto"``. "joined": after the fit, the held-out samples are used for
training, too. Perceptrons visit them by ``partial_fit`` as often as the training samples at the
time of the selected weights; MP-BCFW continues with all samples, by a warm start, to its default
`tol`. 0.01 is the `aggressiveness`, the best of 0.003, 0.01, 0.03 and 1 (its default) on held-out
letters. "held_out" is the best score on the held-out samples.

--shares: the data sets of ``defaults_data.py``, lam from 1 to 1/24 of ``lam="auto"`` with early
stopping; errors divided by the error of the default fit, and their geometric means over the sets.
Needs SSTRUCT_DATA or downloads.
"""

import argparse
import os
import time
import warnings
from statistics import mean, stdev

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from defaults import error_of
from defaults_data import SETS, taken
from reports import Table, origin, parsed, write
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from sstruct import ChainSSVM
from sstruct.datasets import fetch_conll2000, fetch_ocr_letters
from sstruct.metrics import chunk_f1_score, flat_accuracy_score
from sstruct.preprocessing import SequenceVectorizer
from sstruct.solvers import BCFW, MPBCFW, PassiveAggressive, Perceptron

SHARES = (1, 1 / 2, 1 / 4, 1 / 6, 1 / 8, 1 / 12, 1 / 24)
# Sets whose fits would take hours in a run of all sets.
LONG = ("poses", "snakes", "horses, pixels")
DATA = {"ocr": "OCR letters, fold 0", "folds": "OCR letters, ten folds", "conll": "CoNLL-2000"}
EARLY = {"solver": MPBCFW(early_stopping=True)}
PERCEPTRON = {"solver": Perceptron(sampling="permutation", early_stopping=True)}
PA = {"solver": PassiveAggressive(sampling="permutation", aggressiveness=0.01, early_stopping=True)}
GRID = (0.02, 0.01, 0.005, 0.0025, 0.00125, 0.001, 0.0006, 0.0003, 0.00015)


def letters(fold):
    """Return training and test words of one fold."""
    bunch = fetch_ocr_letters()
    parts = np.flatnonzero(bunch.fold != fold), np.flatnonzero(bunch.fold == fold)
    return [taken(each, part) for part in parts for each in (list(bunch.data), list(bunch.target))]


def chunks():
    """Return training and test sentences of CoNLL-2000."""
    from chunking_features import chunking_features

    parts = [fetch_conll2000(subset=subset) for subset in ("train", "test")]
    vectorizer = SequenceVectorizer(dtype=np.float32)
    X = vectorizer.fit_transform(chunking_features(parts[0].data))
    X_test = vectorizer.transform(chunking_features(parts[1].data))
    return X, parts[0].target, X_test, parts[1].target


def measure(data, score, joined=False, **parameters):
    """Fit once; return the test score, CPU seconds, passes, lam, gap, held-out score."""
    X, y, X_test, y_test = data
    model = ChainSSVM(**parameters)
    begin = time.process_time()
    if joined:
        n_passes = fit_then_join(model, X, y)
    else:
        n_passes = model.fit(X, y).n_iter_
    seconds = time.process_time() - begin
    found = score(y_test, model.predict(X_test))
    held_out = model.history_.get("validation_score", np.array([np.nan])).max()
    return found, seconds, n_passes, model.lam_, model.dual_gap_ / model.objective_, held_out


def fit_then_join(model, X, y):
    """Stop early; then train on the held-out samples, too."""
    ends = train_test_split(np.arange(len(y)), test_size=0.1, random_state=model.random_state)
    (X_fit, y_fit), (X_val, y_val) = ((taken(X, end), taken(y, end)) for end in ends)
    online = model._structure().chosen_solver.name in ("perceptron", "pa")
    model.set_params(classes=np.unique(np.concatenate(y)), warm_start=not online)
    model.fit(X_fit, y_fit, X_val=X_val, y_val=y_val)
    model.set_params(solver=clone(model.solver).set_params(early_stopping=False))
    n_passes, scores = model.n_iter_, model.history_["validation_score"]
    if online:
        again = np.tile(ends[1], int(scores.argmax()) + 1)
        model.partial_fit(taken(X, again), taken(y, again))
        return n_passes
    both = np.concatenate(ends)
    return n_passes + model.fit(taken(X, both), taken(y, both)).n_iter_


def means(runs):
    """Return the row of the table for several runs of a fit."""
    found, *more = zip(*runs, strict=True)
    seconds, passes, lam, gap, held_out = map(mean, more)
    of_objective = {"lam": f"{lam:.3g}", "gap": f"{gap:.3f}"} if lam else {"lam": "", "gap": ""}
    return {
        "value": f"{mean(found):.4f}", "sd": f"{stdev(found):.4f}" if len(found) > 1 else "",
        "runs": len(found), "cpu_s": f"{seconds:.2f}", "passes": f"{passes:.1f}",
        **of_objective, "held_out": "" if np.isnan(held_out) else f"{held_out:.4f}",
    }  # fmt: skip


def early_fits(automatic, to_join):
    """Return parameters of fits with early stopping.

    automatic: the value of lam="auto"
    to_join: fractions of it for which MP-BCFW also trains on the held-out samples
    """
    return {
        "early": EARLY,
        **{f"early, lam / {k}": {**EARLY, "lam": automatic / k} for k in (1.5, 2, 4, 6)},
        "early, lam / 6, last iterate": {
            "lam": automatic / 6,
            "solver": MPBCFW(average=False, early_stopping=True),
        },
        "early, lam / 6, bcfw, fw": {
            "lam": automatic / 6,
            "solver": BCFW(step="fw", early_stopping=True),
        },
        **{
            f"early, lam / {k}, joined": {**EARLY, "lam": automatic / k, "joined": True}
            for k in to_join
        },
        "early, perceptron": PERCEPTRON,
        "early, perceptron, joined": {**PERCEPTRON, "joined": True},
        "early, pa 0.01": PA,
        "early, pa 0.01, joined": {**PA, "joined": True},
    }


def wrong(y, found):
    return 1 - flat_accuracy_score(y, found)


def on_test_parts(name, seeds):
    """Compare fits with and without early stopping on some data; return a row for each."""
    if name == "conll":
        parts, score = [chunks()], chunk_f1_score
    else:
        parts, score = [letters(fold) for fold in range(10 if name == "folds" else 1)], wrong
    automatic = ChainSSVM(max_iter=1).fit(*parts[0][:2]).lam_
    fits = {"default": {}, **early_fits(automatic, (1.5, 2) if name == "conll" else (6,))}
    if name == "conll":
        fits |= {f"lam {lam:g}": {"lam": lam} for lam in GRID}
    runs = {fit: [] for fit in fits}
    for data in parts:
        for seed in range(1 if name == "folds" else seeds):
            for fit, parameters in fits.items():
                runs[fit].append(measure(data, score, random_state=seed, **parameters))
    what = "chunk F1" if name == "conll" else "error"
    return [{"data": DATA[name], "error": what, "fit": fit, **means(runs[fit])} for fit in fits]


def by_share(names):
    """Return the errors of each set: of the default fit, then at each fraction of lam="auto"."""
    report = {}
    print(f"{'':24}{'default':>9}" + "".join(f"{f'1/{1 / s:g}':>9}" for s in SHARES))
    for name in names:
        trial = SETS[name]()
        errors = []
        for share in (None, *SHARES):
            found = []
            for fit, held in trial.folds():
                data = taken(trial.X, fit), taken(trial.y, fit)
                model = trial.kind(random_state=0, max_time=60).fit(*data)
                if share is not None:
                    # A tenth of the samples is held out.
                    early = {**EARLY, "lam": share * model.lam_ / 0.9}
                    model = trial.kind(random_state=0, max_time=60, **early).fit(*data)
                found.append(error_of(model, taken(trial.X, held), taken(trial.y, held)))
            errors.append(mean(found))
        report[name] = errors
        rest = "".join(f"{error / max(errors[0], 1e-3):9.3f}" for error in errors[1:])
        print(f"{name:24}{errors[0]:9.4f}{rest}", flush=True)
    ratios = np.array([np.divide(each[1:], max(each[0], 1e-3)) for each in report.values()])
    print(f"{'geometric mean':33}" + "".join(f"{r:9.3f}" for r in np.exp(np.log(ratios).mean(0))))
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=["ocr"], choices=DATA)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("--sets", nargs="*", choices=SETS)
    arguments = parsed(parser)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if arguments.shares:
        names = arguments.sets or [name for name in SETS if name not in LONG]
        write(by_share(names), arguments.output, "early_stopping_shares")
        return
    table = Table(arguments.output / "early_stopping.csv", ["data", "fit"])
    for name in arguments.data:
        how = f"python benchmarks/early_stopping.py --data {name} --seeds {arguments.seeds}"
        for row in on_test_parts(name, arguments.seeds):
            print(*row.values(), sep="  ", flush=True)
            table.put(row | origin(how, arguments.load))


if __name__ == "__main__":
    main()
