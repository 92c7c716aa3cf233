"""User-defined structures for a choice between candidates, and for a sign."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from tests.reference.brute_force import Block


class Choice:
    """An oracle: x is an array (m, d) of candidates, and y is the index of the correct one."""

    def __init__(self, as_sparse=False):
        self.as_sparse = as_sparse

    def joint_feature(self, x, y):
        return sparse.csr_array(x[[y]]) if self.as_sparse else x[y]

    def loss(self, y_true, y):
        return min(abs(y_true - y), 2) / 2

    def losses(self, x, y_true):
        return np.minimum(np.abs(np.arange(len(x)) - y_true), 2) / 2

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        scores = x @ w
        if y_true is not None:
            scores = scores + loss_weight * self.losses(x, y_true)
        return int(np.argmax(scores))


class Sign:
    """An oracle of two classes, -1 and 1, with the joint feature map y * x."""

    def joint_feature(self, x, y):
        return y * np.asarray(x, dtype=float)

    def loss(self, y_true, y):
        return float(y != y_true)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        scores = {y: y * np.dot(w, x) for y in (-1, 1)}
        if y_true is not None:
            scores[-y_true] += loss_weight
        return max(scores, key=scores.get)


class ConstrainedChoice(Choice):
    """Choice with the constrained oracle that angular search requires."""

    def constrained_argmax(self, x, w, y_true, *, loss_weight, margin, lower, upper, above, below):
        h, g = margin + (x - x[y_true]) @ w, self.losses(x, y_true)
        with np.errstate(invalid="ignore"):  # 0 * inf, if h is not positive
            inside = (h > 0) & (g > lower * h if above else g >= lower * h)
            inside &= g < upper * h if below else g <= upper * h
        if not inside.any():
            return None
        return int(np.argmax(np.where(inside, h + loss_weight * g, -np.inf)))


class ChoiceByScores(ConstrainedChoice):
    """Choice whose searches use the scores of candidates, computed by `potentials`."""

    def potentials(self, x, w):
        return x @ w

    def argmax(self, x, scores, y_true=None, loss_weight=1.0):
        if y_true is not None:
            scores = scores + loss_weight * self.losses(x, y_true)
        return int(np.argmax(scores))

    def constrained_argmax(self, x, scores, y_true, **keywords):
        # The score is the only feature, with weight 1.
        return super().constrained_argmax(scores[:, None], np.ones(1), y_true, **keywords)


class NamedChoice(Choice):
    """Choice whose labelings are names for the user, encoded as indices."""

    def encode(self, x, y):
        return int(y.removeprefix("candidate "))

    def decode(self, x, labeling):
        return f"candidate {labeling}"


class OracleError(RuntimeError):
    """A user-defined exception."""


class Fails(Choice):
    """Choice that raises for samples with six candidates once w is not small."""

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        if w.any() and abs(w).max() > 0.01 and len(x) == 6:
            raise OracleError("six", len(x))
        return super().argmax(x, w, y_true, loss_weight)


def make_choices(rng, n=24, d=4, noise=1.0):
    """Return samples of 2 to 6 candidates; the correct one has the highest noisy linear score."""
    weights = rng.standard_normal(d)
    X = [rng.standard_normal((m, d)).round(3) for m in rng.integers(2, 7, n)]
    y = [int(np.argmax(x @ weights + noise * rng.standard_normal(len(x)))) for x in X]
    return X, y


def terms(X, y, weights=None, slack=False):
    """Return the blocks of the objective by enumeration, with scaled planes for slack rescaling."""
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    out = []
    for i in range(len(X)):
        if weights[i] == 0:
            continue
        block = Block(
            sample=i,
            labelings=[(k,) for k in range(len(X[i]))],
            phi=X[i],
            loss=Choice().losses(X[i], y[i]),
            truth=y[i],
            weight=weights[i] / weights.sum(),
        )
        if slack:
            block = replace(block, phi=-block.loss[:, None] * block.psi)
        out.append(block)
    return out
