"""User-defined structures in compiled code, given by C functions or a Cython problem."""

from collections.abc import Callable

import numpy as np
from scipy import LowLevelCallable

from sstruct._checks.parameters import check_number
from sstruct._problems.core._block_problem import BlockProblem
from sstruct._problems.custom._compiled import CompiledProblem
from sstruct._problems.custom.c_functions import PackedSamples, check_function


class CompiledOracle:
    """Oracle with methods implemented as C functions, for :class:`sstruct.StructuredSVM`.

    The functions are called without the GIL, in ``n_jobs`` threads, and must be thread-safe. A
    sample is an array of numbers, and a labeling is an array of labels 0 ... K - 1. ``T`` is one of
    ``void``, ``double``, ``float`` and ``int`` (``const`` is allowed)::

        int argmax(double *w, T *x, int *shape, int *y_true, double loss_weight, int *y, void *data)
        int joint_feature(T *x, int *shape, int *y, int *index, double *value, void *data)
        double loss(int *y_true, int *y, int size, void *data)

    argmax
        writes to `y` the labeling that maximizes the score plus ``loss_weight`` times the loss. In
        prediction, `y_true` is NULL, and only the score is maximized. Returns 0; any other value is
        an error.
    joint_feature
        writes the nonzero entries of phi(x, y) in any order, and returns their number; entries with
        the same index are added. A negative number is an error.
    loss
        returns the loss, at least 0, and 0 for the true labeling; any other value is an error.

    Each is a ``scipy.LowLevelCallable`` of a function from ctypes, cffi, Cython or numba
    (``LowLevelCallable(function.ctypes)``), optionally with user data, which are passed as `data`.

    Parameters
    ----------
    argmax, joint_feature, loss : scipy.LowLevelCallable
        The functions. Their signatures are validated.
    n_weights : int
        Length d of w.
    n_labels : int or callable
        Number K of labels, or a function of the array of the sample that returns it.
    code_size : int or callable, default=None
        Number of labels of a labeling. If None, ``len(x)``.
    max_features : int or callable, default=None
        Maximum number of entries that `joint_feature` writes. If None, `n_weights`.
    work : float, default=1e5
        Time of a call of `argmax` in nanoseconds, as for a Python oracle.

    Notes
    -----
    Every number that a function returns or writes is validated, and errors name the sample and the
    function. Writes outside of the arrays cannot be detected. Samples are converted to contiguous
    arrays of type T (for ``void``, their dtype does not change), without a copy if possible.

    C functions cannot be pickled: pickling the oracle, or a model with it, raises TypeError, and so
    does a grid search in other processes (use threads). To support pickling, write a subclass whose
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
            raise TypeError(
                f"argmax and joint_feature have x of types {sorted(elements)}, expected one type"
            )
        check_number("n_weights", n_weights, least=1, whole=True)
        check_number("work", work, above=0)
        self.n_weights, self.work = n_weights, work
        self._functions, (self._element,) = (argmax, joint_feature, loss), elements
        self._sizes = (n_labels, code_size, max_features)

    def __deepcopy__(self, memo):
        # Functions cannot be copied, but clone requires this method.
        return self

    def __copy__(self):
        return self

    def __reduce__(self):
        raise TypeError(
            f"{type(self).__name__} cannot be pickled, since its functions exist only in this "
            "process. Fit and search in it (n_jobs=None, or joblib's threading backend), or define "
            "a subclass with a __reduce__ that loads the library again"
        )

    def _problem(self, X, y, rows):
        packed = PackedSamples(X, y, rows, self._element, self.n_weights, *self._sizes)
        return CompiledProblem(packed, self._functions, oracle_work=float(self.work))

    def problem(self, X: list, y: list, rows: list[int]) -> BlockProblem:
        """Return the problem of a fit.

        Parameters
        ----------
        X : list of n arrays
            Samples.
        y : list of n labelings
            The true ones.
        rows : list of n int
            Indices of the samples in the arguments of ``fit``, for errors.

        Returns
        -------
        BlockProblem
            A block for each sample, in order.
        """
        return self._problem(X, y, rows)

    def predict(self, X: list, w: np.ndarray) -> list[np.ndarray]:
        """Return the labeling of largest score of each sample.

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
        """Return the losses of labelings.

        Parameters
        ----------
        X : list of n arrays
            Samples.
        y : list of n labelings
            The true ones.
        found : list of n labelings
            The labelings to evaluate.

        Returns
        -------
        list of n floats
            The loss of each labeling in `found`.
        """
        problem = self._problem(X, y, list(range(len(X))))
        samples = problem.samples
        return [problem.labeling_loss(i, samples.labeling(i, one)) for i, one in enumerate(found)]
