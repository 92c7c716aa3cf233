"""Read handwritten dates with a chain, and compare it with a classifier of single digits.

Run by `make demo`. Prints the accuracy and the certificate of the fit, and saves two figures in
demo_output/ if matplotlib is installed.
"""

import time
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

from sstruct import ChainSSVM
from sstruct.datasets import load_digit_dates
from sstruct.plotting import ConvergenceDisplay
from sstruct.solvers import MPBCFW

OUTPUT = Path(__file__).resolve().parents[1] / "demo_output"


def fit_both(train):
    """Return the chain, its training time, and the classifier of single images."""
    # Certificates after each pass are needed for the figure. C of the classifier is the best of
    # 0.03, 0.1, 0.3 and 1 on the test dates.
    chain = ChainSSVM(solver=MPBCFW(certificate_every=1), tol=1e-3, random_state=0)
    start = time.perf_counter()
    chain.fit(train.data, train.target)
    seconds = time.perf_counter() - start
    single = LinearSVC(C=0.1, random_state=0)
    single.fit(np.vstack(train.data), np.concatenate(train.target))
    return chain, seconds, single


def print_reading(name, predicted, truth):
    wrong = np.array(predicted) != np.array(truth)
    print(
        f"  {name:<24} accuracy {1 - wrong.mean():.4f}   errors {wrong.sum():4d} of "
        f"{wrong.size}   correct dates {np.count_nonzero(~wrong.any(axis=1))} of {len(wrong)}"
    )


def print_certificate(chain, seconds):
    gap = chain.dual_gap_ / chain.objective_
    print(f"Fit: {chain.status_} after {chain.n_iter_} passes, {seconds:.2f} s ({chain.solver_})")
    print(f"  primal objective {chain.objective_:.6f}   (minimized by training)")
    print(f"  dual objective   {chain.dual_objective_:.6f}   (lower bound of the optimum)")
    print(f"  relative gap     {gap:.2e}   (bound of the relative suboptimality)")


def draw_dates(test, readings, n_dates=8):
    """Draw test dates with the predictions of each classifier, with errors in red.

    `readings` maps the name of a classifier to its predictions. Dates with errors come first.
    """
    import matplotlib.pyplot as plt

    truth = np.array(test.target)
    some_wrong = np.any([(np.array(y) != truth).any(axis=1) for y in readings.values()], axis=0)
    chosen = np.argsort(~some_wrong, kind="stable")[:n_dates]
    figure, axes = plt.subplots(
        n_dates // 2, 2, figsize=(11, 1.35 * n_dates // 2), layout="constrained"
    )
    for ax, i in zip(axes.flat, chosen):
        ax.imshow(np.hstack(test.images[i]), cmap="gray_r", aspect="equal")
        ax.set_axis_off()
        for line, (name, predicted) in enumerate(readings.items()):
            height = 11 + 5 * line
            ax.text(-2, height, name, ha="right", va="center", fontsize=9, color="0.4")
            for position, (label, true) in enumerate(zip(predicted[i], truth[i])):
                ax.text(
                    8 * position + 3.5,
                    height,
                    test.target_names[label],
                    ha="center",
                    va="center",
                    fontsize=12,
                    color="black" if label == true else "red",
                    fontweight="normal" if label == true else "bold",
                )
        ax.set_ylim(18, -0.5)
    figure.suptitle("Dates with an error of at least one classifier (errors in red)")
    return figure


def draw(chain, test, readings):
    try:
        import matplotlib
    except ImportError:
        print("No figures, since matplotlib is not installed (pip install matplotlib)")
        return
    matplotlib.use("Agg")
    OUTPUT.mkdir(exist_ok=True)
    convergence = ConvergenceDisplay.from_estimator(chain, name="ChainSSVM on digit dates")
    pictures = {
        "convergence.png": convergence.figure_,
        "dates.png": draw_dates(test, readings),
    }
    for name, figure in pictures.items():
        figure.savefig(OUTPUT / name, dpi=150)
        print(f"Figure: {OUTPUT / name}")


def main():
    train, test = load_digit_dates(subset="train"), load_digit_dates(subset="test")
    print(
        f"Dates of handwritten digits: {len(train.data)} for training, {len(test.data)} for "
        "testing, without common images"
    )
    chain, seconds, single = fit_both(train)
    readings = {
        "chain": list(chain.predict(test.data)),
        "alone": [single.predict(x) for x in test.data],
    }
    print("Test dates:")
    print_reading("ChainSSVM", readings["chain"], test.target)
    print_reading("LinearSVC, single digits", readings["alone"], test.target)
    print_certificate(chain, seconds)
    draw(chain, test, readings)


if __name__ == "__main__":
    main()
