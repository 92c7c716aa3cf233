"""Real handwritten digits of scikit-learn, set as calendar dates: chains without a download."""

import datetime
from numbers import Integral

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

_DESCR = """\
Handwritten calendar dates
--------------------------

A sample is a date in ISO form, YYYY-MM-DD: ten images of 8 x 8 pixels, each labelled with what
is written, a digit or the dash. The task is to read it.

The digits are the real ones of `sklearn.datasets.load_digits` (Alpaydin and Kaynak, Optical
Recognition of Handwritten Digits, UCI Machine Learning Repository, CC BY 4.0); the dashes are
drawn, and no classifier mistakes them. The writers of the images are mixed, as in
`load_digits`. Days are uniform over the given years.

40 % of the images are set aside for the training dates, the others for the test dates: no image
is in both. There are more digits to write than images, so an image occurs several times, each
equally often up to one.

Why a chain helps: a month begins with 0 or 1 and a day with 0 to 3, both after a dash; the 1 of
the year is followed by 9, that by 9 again, and so on. The fewer years, the more is known
beforehand: over ten random states a chain made 0.38 to 0.57 of the errors of a linear classifier
of single images with the default two years, 0.7 to 0.95 with the years 1900 to 2099.
"""

_DASH = 10
_TRAIN_FRACTION = 0.4


def load_digit_dates(
    *,
    subset="train",
    n_train=500,
    n_test=500,
    years=(1998, 1999),
    random_state=0,
    return_X_y=False,
):
    """Load calendar dates written with real handwritten digits.

    Each sample is a date, YYYY-MM-DD, as a sequence of ten images of 8 x 8 pixels; the labels
    are what is written. The digits ship with scikit-learn, so nothing is downloaded. Training
    and test dates are written with disjoint sets of images.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which dates to load; "all" has the training dates first.
    n_train, n_test : int, default=500
        Number of dates in each part.
    years : tuple of two int, default=(1998, 1999)
        First and last year of the dates. The narrower, the more the neighbours tell of a digit.
    random_state : int, default=0
        Decides which images are the training images, the dates and the images they are
        written with. An integer and not a generator, so that loading the two parts one after
        the other keeps their images apart.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of arrays of shape (10, 64)
            Pixels in [0, 1], one row an image.
        target : list of int arrays of shape (10,)
            Index into `target_names`: the digit itself, or 10 for the dash.
        images : list of arrays of shape (10, 8, 8)
            The same pixels as pictures.
        image_index : list of int arrays of shape (10,)
            Row of `sklearn.datasets.load_digits` that an image is; -1 for a dash.
        dates : list of str
            What is written.
        feature_names : list of str
            Names of the pixels.
        target_names : list of str
            "0" to "9" and "-".
        DESCR : str
            Description of the data.

    See Also
    --------
    make_sequences : Synthetic chains of any size.
    fetch_ocr_letters : Real handwritten words.

    Examples
    --------
    >>> from sstruct.datasets import load_digit_dates
    >>> train = load_digit_dates()
    >>> train.data[0].shape
    (10, 64)
    >>> "".join(train.target_names[k] for k in train.target[0]) == train.dates[0]
    True
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f'subset must be "train", "test" or "all", got {subset!r}')
    for name, count in (("n_train", n_train), ("n_test", n_test)):
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name} must be a positive integer, got {count!r}")
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(f"random_state must be an integer >= 0, got {random_state!r}")
    first_day, last_day = _day_range(years)

    digits = load_digits()
    pools = _split_images(digits.target, np.random.default_rng([random_state, 0]))
    dates, data, index = [], [], []
    for stream, (part, n_dates) in enumerate((("train", n_train), ("test", n_test)), start=1):
        if subset not in (part, "all"):
            continue
        # A stream of its own for each part: the test dates do not depend on n_train.
        rng = np.random.default_rng([random_state, stream])
        days = rng.integers(first_day, last_day, size=n_dates, endpoint=True)
        part_dates = [datetime.date.fromordinal(int(day)).isoformat() for day in days]
        part_index = _choose_images(part_dates, pools[part], rng)
        pixels = np.empty((*part_index.shape, 64))
        written = part_index >= 0
        pixels[written] = digits.data[part_index[written]] / 16.0
        pixels[~written] = _draw_dashes(np.count_nonzero(~written), rng)
        dates += part_dates
        data += list(pixels)
        index += list(part_index)
    target = [_labels(date) for date in dates]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        images=[x.reshape(-1, 8, 8) for x in data],
        image_index=index,
        dates=dates,
        feature_names=list(digits.feature_names),
        target_names=[*"0123456789", "-"],
        DESCR=_DESCR,
    )


def _day_range(years):
    """Ordinals of the first and the last day of a range of years."""
    try:
        first, last = years
        days = datetime.date(first, 1, 1).toordinal(), datetime.date(last, 12, 31).toordinal()
    except (TypeError, ValueError) as error:
        raise ValueError(f"years must be two years between 1 and 9999, got {years!r}") from error
    if first > last:
        raise ValueError(f"years must be (first, last) with first <= last, got {years!r}")
    return days


def _labels(date):
    return np.array([_DASH if mark == "-" else int(mark) for mark in date])


def _split_images(labels, rng):
    """Disjoint images for training and test, the same share of each digit."""
    pools = {"train": [], "test": []}
    for digit in range(10):
        images = rng.permutation(np.flatnonzero(labels == digit))
        cut = round(_TRAIN_FRACTION * images.size)
        pools["train"].append(images[:cut])
        pools["test"].append(images[cut:])
    return pools


def _choose_images(dates, pool, rng):
    """Image of each mark, -1 for dashes.

    The images of a digit are dealt in rounds, each round a new shuffle of all of them: a date
    set then has no favourites, and error rates vary less from one random state to the next.
    """
    marks = np.array([_labels(date) for date in dates])
    index = np.full(marks.shape, -1)
    for digit in range(10):
        places = marks == digit
        n_rounds = -(-np.count_nonzero(places) // pool[digit].size)
        dealt = [rng.permutation(pool[digit]) for _ in range(n_rounds)]
        if dealt:
            index[places] = np.concatenate(dealt)[: np.count_nonzero(places)]
    return index


def _draw_dashes(n, rng):
    """Draw `n` dashes: strokes of six pixels in one of the two middle rows, in uneven ink."""
    dashes = np.zeros((n, 8, 8))
    dashes[np.arange(n), rng.integers(3, 5, size=n), 1:7] = rng.uniform(0.7, 1.0, size=(n, 6))
    return dashes.reshape(n, 64)
