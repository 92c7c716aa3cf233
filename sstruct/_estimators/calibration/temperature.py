"""Maximum likelihood estimate of the temperature of a model."""

import math

from scipy.optimize import brentq, minimize_scalar

# Design: the negative log-likelihood of complete labelings is convex in the inverse temperature, so
# that it is quasi-convex in its logarithm t, and three points whose middle one is the lowest
# enclose the minimum. Without a finite minimum, the search ends at one of these limits.
LARGEST = 60  # limit on |t|
PERFECT = 0.01  # total loss below which every sample is predicted without an error
TOLERANCE = 1e-6  # error of t, which is the relative error of the temperature
MIN_GAIN = 1e-9  # smallest relative decrease of the loss by informative scores


def fit_temperature(loss):
    """Return the temperature that minimizes ``loss(1 / temperature)``, and a warning or None.

    Parameters
    ----------
    loss : callable
        Sum of the negative log-likelihoods of samples as a function of the inverse temperature.

    Returns
    -------
    temperature : float
        The minimizer of the loss. If all samples are predicted without an error, a lower
        temperature always decreases the loss; the result is then the temperature at which their
        joint probability is 1/2.
    warning : str or None
        Why the loss has no minimum.
    """

    def at(t):
        return loss(math.exp(t))

    middle, lowest = 0, at(0)
    uniform, step = at(-LARGEST), 1 if at(1) < lowest else -1
    while abs(middle) < LARGEST and (step < 0 or lowest > PERFECT):
        value = at(middle + step)
        if not value < lowest:
            break
        middle, lowest = middle + step, value
    if uniform < math.log(2) * (1 - MIN_GAIN):  # nearly all samples have one labeling
        return 1.0, None
    if lowest <= PERFECT:
        # A single sample with two labelings has a probability of 1/2 only at the limit.
        target = min(math.log(2), uniform)
        half = brentq(lambda t: at(t) - target, -LARGEST, middle, xtol=TOLERANCE)
        return math.exp(-half), (
            "the model makes no errors on the held-out samples, so the likelihood increases "
            "as the temperature decreases; at temperature_, the held-out labels have a joint "
            "probability of 1/2. Use more samples for a better estimate"
        )
    if lowest >= uniform * (1 - MIN_GAIN):
        return math.exp(LARGEST), (
            "the scores of the model do not predict the held-out labels, so all labelings "
            "have equal probabilities; use other features, or more samples"
        )
    result = minimize_scalar(
        at, bounds=(middle - 1, middle + 1), method="bounded", options={"xatol": TOLERANCE}
    )
    return math.exp(-result.x), None
