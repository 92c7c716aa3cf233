"""Structures of your own in compiled code: C functions, or a problem written in Cython."""

from collections.abc import Callable

import numpy as np
from scipy import LowLevelCallable

from sstruct._input.ragged import check_number
from sstruct._problems.core._block_problem import BlockProblem
from sstruct._problems.custom._compiled import CompiledProblem
from sstruct._problems.custom.c_functions import PackedSamples, check_function


class CompiledOracle:
    """An oracle of C functions, for :class:`sstruct.StructuredSVM`.

    The functions are called without the GIL, in ``n_jobs`` threads, and must be safe for that. A
    sample is an array of numbers, a labeling an array of labels 0 ... K - 1. With ``T`` one of
    ``void``, ``double``, ``float`` and ``int`` (``const`` is welcome)::

        int argmax(double *w, T *x, int *shape, int *y_true, double loss_weight, int *y, void *data)
        int joint_feature(T *x, int *shape, int *y, int *index, double *value, void *data)
        double loss(int *y_true, int *y, int size, void *data)

    argmax
        writes to `y` the labeling of largest score plus ``loss_weight`` times loss; `y_true` is
        NULL in prediction: the score alone. Returns 0, anything else is an error.
    joint_feature
        writes the nonzero entries of phi(x, y) in any order, those of equal index to be added, and
        returns their number; a negative one is an error.
    loss
        is at least 0, and 0 for the true labeling; anything else is an error.

    Each is a ``scipy.LowLevelCallable``, made from a function of ctypes, cffi, Cython or numba
    (``LowLevelCallable(function.ctypes)``), perhaps with user data, which it gets as `data`.

    Parameters
    ----------
    argmax, joint_feature, loss : scipy.LowLevelCallable
        Their signatures are checked.
    n_weights : int
        Length d of w.
    n_labels : int or callable
        K; or a function of the sample's array that returns it.
    code_size : int or callable, default=None
        Number of labels of a labeling; None: ``len(x)``.
    max_features : int or callable, default=None
        Most entries that `joint_feature` writes; None: `n_weights`.
    work : float, default=1e5
        What a call of `argmax` costs, in nanoseconds; as of a Python oracle.

    Notes
    -----
    Every number that a function returns or writes is checked, and an error names the sample and
    the function. Writing outside of the given arrays cannot be detected. Samples are converted to
    contiguous arrays of type T (``void``: their own), without a copy if they already are.

    C functions cannot be pickled: pickling the oracle, or a model with it, raises TypeError, and so
    does a grid search in other processes (in threads it works). To allow it, write a subclass whose
    ``__reduce__`` loads the library again. Copies share the functions.

    Examples
    --------
    >>> import ctypes
    >>> import numpy as np
    >>> from scipy import LowLevelCallable
    >>> from sstruct import StructuredSVM
    >>> from sstruct.extending import CompiledOracle
    >>> integers, numbers = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_double)
    >>> anything, real = ctypes.c_void_p, ctypes.c_double
    >>> def argmax(w, x, shape, y_true, loss_weight, y, data):  # stands for one in C
    ...     wrong = [loss_weight * (y_true[0] != k) if y_true else 0.0 for k in (0, 1)]
    ...     y[0] = int(x[0] * w[0] + wrong[1] > wrong[0])
    ...     return 0
    >>> def joint_feature(x, shape, y, index, value, data):
    ...     index[0], value[0] = 0, x[0] * y[0]
    ...     return 1
    >>> def loss(y_true, y, size, data):
    ...     return float(y_true[0] != y[0])
    >>> first = ctypes.CFUNCTYPE(
    ...     ctypes.c_int, numbers, numbers, integers, integers, real, integers, anything)
    >>> second = ctypes.CFUNCTYPE(
    ...     ctypes.c_int, numbers, integers, integers, integers, numbers, anything)
    >>> third = ctypes.CFUNCTYPE(real, integers, integers, ctypes.c_int, anything)
    >>> oracle = CompiledOracle(
    ...     LowLevelCallable(first(argmax)), LowLevelCallable(second(joint_feature)),
    ...     LowLevelCallable(third(loss)), n_weights=1, n_labels=2)
    >>> X, y = np.array([[2.0], [1.0], [-1.0], [-3.0]]), [[1], [1], [0], [0]]
    >>> model = StructuredSVM(oracle, lam=0.1, random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in model.predict([[4.0], [-2.0]])]
    [[1], [0]]
    """

    def __init__(
        self,
        argmax: LowLevelCallable,
        joint_feature: LowLevelCallable,
        loss: LowLevelCallable,
        *,
        n_weights: int,
        n_labels: int | Callable[[np.ndarray], int],
        code_size: int | Callable[[np.ndarray], int] | None = None,
        max_features: int | Callable[[np.ndarray], int] | None = None,
        work: float = 1e5,
    ) -> None:
        elements = {
            check_function("argmax", argmax),
            check_function("joint_feature", joint_feature),
        }
        check_function("loss", loss)
        if len(elements) > 1:
            raise TypeError(f"argmax and joint_feature take x as {sorted(elements)}: expected one")
        check_number("n_weights", n_weights, least=1, whole=True)
        check_number("work", work, above=0)
        self.n_weights, self.work = n_weights, work
        self._functions, (self._element,) = (argmax, joint_feature, loss), elements
        self._sizes = (n_labels, code_size, max_features)

    def __deepcopy__(self, memo):
        # Functions have no parts to copy, and clone asks.
        return self

    def __copy__(self):
        return self

    def __reduce__(self):
        raise TypeError(
            f"{type(self).__name__} cannot be pickled: its functions are those of this process. "
            "Fit and search in it (n_jobs=None, or joblib's threading backend), or give a subclass "
            "a __reduce__ that loads the library again"
        )

    def _problem(self, X, y, rows):
        packed = PackedSamples(X, y, rows, self._element, self.n_weights, *self._sizes)
        return CompiledProblem(packed, self._functions, oracle_work=float(self.work))

    def problem(self, X: list, y: list, rows: list[int]) -> BlockProblem:
        """Return the problem that a fit solves.

        Parameters
        ----------
        X : list of n arrays
            Samples.
        y : list of n labelings
            The true ones.
        rows : list of n int
            Places of the samples in what was given to ``fit``, for errors.

        Returns
        -------
        BlockProblem
            A block for each sample, in order.
        """
        return self._problem(X, y, rows)

    def predict(self, X: list, w: np.ndarray) -> list[np.ndarray]:
        """Find the best labeling of each sample.

        Parameters
        ----------
        X : list of n arrays
            Samples.
        w : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        list of n ndarrays of int32
            Labelings of the largest score.
        """
        return self._problem(X, None, list(range(len(X)))).labelings(w)

    def losses(self, X: list, y: list, found: list) -> list[float]:
        """Compute the loss of labelings.

        Parameters
        ----------
        X : list of n arrays
            Samples.
        y : list of n labelings
            The true ones.
        found : list of n labelings
            Those to judge.

        Returns
        -------
        list of n floats
            The loss of each labeling in `found`.
        """
        problem = self._problem(X, y, list(range(len(X))))
        samples = problem.samples
        return [problem.labeling_loss(i, samples.labeling(i, one)) for i, one in enumerate(found)]
