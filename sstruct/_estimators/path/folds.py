"""Cross-validation along regularization paths, and the choice of lambda."""

from collections.abc import Mapping
from difflib import get_close_matches

import numpy as np
from scipy import sparse
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv

from sstruct._checks.arrays import array_of, is_sized, items_of, real_array
from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._checks.shown import brief, error_kind, shortened
from sstruct._checks.warn import warn_user
from sstruct.sequences import Sequences

SCORERS = (
    "None (the estimator's score), a scorer of sstruct.metrics such as flat_accuracy_scorer, "
    "chunk_f1_scorer or make_flat_scorer(flat_f1_score), or a function of estimator, X and y"
)


def check_scorer(scoring, classifies, y):
    """Raise an error if `scoring` is not a scorer, or a scikit-learn name and y has sequences.

    classifies : whether the estimator is a classifier, for one label per sample
    """
    if scoring is None or callable(scoring):
        return
    if not isinstance(scoring, str):
        kind = type(scoring).__name__
        raise TypeError(f"scoring must be one scorer, found a {kind}; expected {SCORERS}")
    if scoring not in get_scorer_names():
        near = get_close_matches(scoring, get_scorer_names(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"scoring={shortened(scoring)} is not a scorer of scikit-learn; expected "
            f"{SCORERS}, or a name of sklearn.metrics.get_scorer_names(){hint}"
        )
    if not classifies and _are_sequences(y):
        raise ValueError(
            f"scoring={scoring!r} requires one label per sample, but y has sequences; "
            f"expected {SCORERS}"
        )


def as_rows(values, name):
    """Return X or y in a form that can be split; sparse matrices are validated CSR."""
    values = items_of(values)
    if not sparse.issparse(values):
        if hasattr(values, "__array__") and not hasattr(values, "__len__"):
            values = array_of(values, name)
        listed = is_sized(values) and not isinstance(values, Mapping)
        if not listed and not (values is None and name == "y"):
            raise TypeError(f"{name} must have an item per sample, found {type(values).__name__}")
        return values
    check_compressed(values, name)
    return as_csr(values)


def splits_of(cv, is_classifier, X, y, groups):
    """Return the splits of a `cv` parameter, as in scikit-learn."""
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn casts y before it validates it
            return list(check_cv(cv, y, classifier=is_classifier).split(X, y, groups))
    except (TypeError, ValueError, NotImplementedError) as error:
        reason = brief(error)
        if "Stratified" in type(cv).__name__ and _are_sequences(y):
            reason = "it requires one label per sample of y, found several; use KFold or GroupKFold"
        raise error_kind(error)(f"cv={shortened(cv)} cannot split X and y: {reason}") from error


def check_splitter(cv):
    """Raise TypeError if `cv` has a method split, but is not a splitter."""
    if isinstance(cv, type):
        raise TypeError(f"cv must be an instance of a splitter, found the class {cv.__name__}")
    if isinstance(cv, bytes | bytearray):
        raise TypeError(f"cv must be a number of folds or a splitter, found {shortened(cv)}")


def check_splits(splits, n_samples, cv):
    """Raise an error unless there are splits, each with valid rows for training and for testing."""
    if not splits:
        raise ValueError(f"cv yields no splits, expected at least one; found {shortened(cv)}")
    for i, split in enumerate(splits):
        if not isinstance(split, list | tuple) or not is_sized(split) or len(split) != 2:
            raise TypeError(
                f"split {i} of cv must be a pair of arrays, the indices of training and of test "
                f"samples, found {shortened(split)}"
            )
        for rows in split:
            rows = array_of(rows, f"the rows of split {i} of cv")
            if rows.ndim != 1 or rows.dtype.kind not in "iub":
                raise TypeError(
                    f"the rows of split {i} of cv have {rows.ndim} dimensions and dtype "
                    f"{rows.dtype}, expected a list of integers"
                )
            beyond = rows[(rows < -n_samples) | (rows >= n_samples)] if rows.dtype != bool else ()
            if len(beyond):
                raise ValueError(
                    f"split {i} of cv has row {beyond[0]}, but X has {n_samples} samples"
                )


def warn_of_unscored(unscored, n_splits):
    """Warn about splits whose test samples have no labeled node."""
    if len(unscored):
        warn_user(
            f"the test samples of {len(unscored)} of {n_splits} splits have no labeled node, and "
            f"mean_test_score excludes these splits; the first is split {unscored[0]}"
        )


def _are_sequences(y):
    """Whether y has labels of structures instead of one label per row."""
    if isinstance(y, list | tuple | np.ndarray):
        return any(isinstance(labels, list | np.ndarray) for labels in y)
    return isinstance(y, Sequences)


def scores_at(folds, lam):
    """Return the score of each fold at a lambda."""
    return np.array([fold["scores"][_segment(fold, lam)] for fold in folds])


def _segment(fold, lam):
    """Return the index of the segment of a path that contains lambda; 0 above the first one."""
    return max(int(np.searchsorted(-fold["lams"], -lam, side="right")) - 1, 0)


def n_samples_of(X):
    return X.shape[0] if sparse.issparse(X) else len(X)


def scores_along(path, scorer, test):
    """Return the score of each segment of a path or grid."""
    scores, last = [], None
    for lam, w in zip(path.lams_, path.ws_, strict=True):
        # Consecutive breakpoints or values of lambda may have the same weights.
        if last is None or not np.array_equal(w, last):
            scores.append(scorer(path.estimator(lam), *test))
        else:
            scores.append(scores[-1])
        last = w
    return scores


def best_of(folds, end, scored, rule):
    """Return ``cv_results_`` and the attributes of the best lambda.

    end : float
        The smallest lambda that all folds have reached.
    scored : ndarray of bool of shape (n_splits,)
        Whether the test samples of a fold have a labeled node.
    rule : {"best", "one-se"}
    """
    ends = np.unique(np.concatenate([fold["lams"] for fold in folds]))[::-1]
    lams = ends[ends >= end]
    if len(lams) == 0:
        raise ValueError(
            "no lambda has been reached in every fold: increase max_iter or max_time of the "
            "estimator, or tol"
        )
    scores = real_array([scores_at(folds, lam) for lam in lams], "the result of scoring")
    if not scored.any():
        raise ValueError("y has no labeled node in the test samples of any split of cv")
    scored_folds = scores[:, scored]
    mean, std = scored_folds.mean(axis=1), scored_folds.std(axis=1)
    if np.isnan(mean).all():
        raise ValueError("scoring returned NaN for every lambda")
    known = np.where(np.isnan(mean), -np.inf, mean)
    # Equal means of different scores may differ by rounding errors.
    known[np.isclose(known, known.max(), rtol=1e-12, atol=1e-12)] = known.max()
    best = int(known.argmax())
    if rule == "one-se" and scored.sum() > 1:
        error = scored_folds[best].std(ddof=1) / np.sqrt(scored.sum())
        best = int(np.argmax(known >= known[best] - error))
    seconds = [[fold["seconds"][_segment(fold, lam)] for fold in folds] for lam in lams]
    results = {
        "mean_fit_time": np.mean(seconds, axis=1),
        "param_lam": np.ma.array(lams, mask=False),
        "params": [{"lam": lam} for lam in lams.tolist()],
        **{f"split{k}_test_score": scores[:, k] for k in range(len(folds))},
        "mean_test_score": mean,
        "std_test_score": std,
        "rank_test_score": np.array([1 + (known > value).sum() for value in known], np.int32),
    }
    return {
        "best_index_": best,
        "best_lam_": float(lams[best]),
        "best_score_": float(mean[best]),
        "best_params_": {"lam": float(lams[best])},
        "cv_results_": results,
    }
