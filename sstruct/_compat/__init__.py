"""Every private name of scikit-learn, and what differs between its versions, in one place.

``validate_data`` is public since scikit-learn 1.6. Callbacks came with 1.9; before it they have a
stand-in of this package, with the same names.
"""

import math

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads, _openmp_parallelism_enabled
from sklearn.utils.validation import _num_samples as num_samples
from sklearn.utils.validation import validate_data

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    from sstruct._compat.callback_support import CallbackSupportMixin, with_callbacks

__all__ = [
    "CallbackSupportMixin",
    "callbacks_of",
    "most_threads",
    "num_samples",
    "open_context",
    "safe_indexing",
    "validate_data",
    "with_callbacks",
]


def callbacks_of(estimator):
    """Return the callbacks that an estimator has been given."""
    return getattr(estimator, "_skl_callbacks", [])


def open_context(estimator, max_subtasks):
    """Begin a fit: return the context of its task, the callbacks set up."""
    return estimator._init_callback_context(max_subtasks=max_subtasks)


def most_threads():
    """Return how many threads scikit-learn's own compiled loops would use here.

    All cores, unless ``threadpool_limits``, ``OMP_NUM_THREADS`` or joblib, which sets that for its
    workers, says less; infinite where scikit-learn was built without OpenMP and does not know.
    """
    if not _openmp_parallelism_enabled():
        return math.inf
    return _openmp_effective_n_threads(only_physical_cores=False)
