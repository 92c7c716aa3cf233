"""Private functions of scikit-learn, and replacements of functions that older versions lack.

``validate_data`` is public since scikit-learn 1.6. Callbacks were added in version 1.9; for older
versions, this package has a replacement with the same names.
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

# Attributes of an estimator that has callbacks, or whose fit is a task of a meta-estimator.
CALLBACK_ATTRIBUTES = {"_skl_callbacks", "_parent_callback_ctx"}

__all__ = [
    "CALLBACK_ATTRIBUTES",
    "CallbackSupportMixin",
    "max_threads",
    "num_samples",
    "safe_indexing",
    "validate_data",
    "with_callbacks",
]


def max_threads():
    """Return the number of threads that compiled loops of scikit-learn would use.

    This is the number of cores that the process may use, unless ``threadpool_limits`` sets a lower
    limit, or the environment variable ``OMP_NUM_THREADS``, which joblib sets for its workers, sets
    another number. It is infinite if scikit-learn was built without OpenMP.
    """
    if not _openmp_parallelism_enabled():
        return math.inf
    return _openmp_effective_n_threads(only_physical_cores=False)
