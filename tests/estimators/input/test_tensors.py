"""Tensors of other libraries, and half precision, as input of every estimator."""

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import ChainSSVM, GridCRFSSVM, MulticlassSSVM, Sequences
from sstruct.metrics import flat_accuracy_score
from tests.estimators.equal import equal
from tests.estimators.same_bits import assert_same_bits
from tests.registry import TRAINED

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Tensor:
    """An array with the interface of a CPU tensor: its items are tensors, with a hash of their own.

    array : ndarray
    """

    def __init__(self, array):
        self.array = array

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        return Tensor(self.array[key])

    def __iter__(self):
        return map(Tensor, self.array)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class WithArray(Tensor):
    """A tensor that NumPy can convert itself."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


class OnDevice(WithArray):
    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert device type tensor to numpy")


def as_tensors(values, kind):
    """Replace all arrays of numbers in nested lists, tuples and dicts."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return kind(values)
    if isinstance(values, dict):
        return {key: as_tensors(value, kind) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return type(values)(as_tensors(value, kind) for value in values)
    return values


def torch_tensor(array):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(array)


@pytest.mark.parametrize("kind", [WithArray, torch_tensor])
@pytest.mark.parametrize(
    "name", [name for name, example in TRAINED.items() if "oracle" not in example.required]
)
def test_tensors_are_arrays(name, kind):
    example = TRAINED[name]
    X, y = example.samples(12)
    model = example.unfitted(random_state=0, max_iter=5).fit(X, y)
    given = as_tensors(X, kind), as_tensors(y, kind)
    other = clone(model).fit(*given)
    assert_same_bits(model, other)
    assert equal(other.predict(given[0]), model.predict(X))
    assert other.score(*given) == model.score(X, y)


def test_a_list_of_samples_that_are_tensors(rng):
    X = [rng.standard_normal((n, 2)).astype(np.float32) for n in (3, 4)]
    y = [rng.integers(0, 2, n) for n in (3, 4)]
    tensors = as_tensors(X, WithArray), as_tensors(y, WithArray)
    weights = WithArray(np.array([1.0, 2.0]))
    model = ChainSSVM(random_state=0).fit(*tensors, weights)
    assert_same_bits(model, ChainSSVM(random_state=0).fit(X, y, np.array([1.0, 2.0])))
    assert Sequences.from_list(tensors[0]).flat.dtype == np.float32
    assert flat_accuracy_score(tensors[1], model.predict(X)) == model.score(X, y)


def test_tensors_that_numpy_cannot_convert_itself(rng):
    X, y = rng.standard_normal((3, 4, 2)), rng.integers(0, 2, (3, 4))
    model = ChainSSVM(random_state=0).fit(X, y)
    assert_same_bits(ChainSSVM(random_state=0).fit(Tensor(X), Tensor(y)), model)
    assert_same_bits(ChainSSVM(random_state=0).fit([*X], [*Tensor(y)]), model)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_read_as_single(rng, dtype):
    dtype = getattr(pytest.importorskip("ml_dtypes"), dtype, dtype)
    for model, shape in (
        (ChainSSVM(), (5, 2)),
        (GridCRFSSVM(), (3, 4, 2)),
        (MulticlassSSVM(), None),
    ):
        if shape is None:
            X, y = rng.standard_normal((20, 3)).astype(dtype), np.arange(20) % 2
            single = X.astype(np.float32)
        else:
            X = [rng.standard_normal(shape).astype(dtype) for _ in range(4)]
            y = [rng.integers(0, 2, shape[:-1]) for _ in range(4)]
            single = [x.astype(np.float32) for x in X]
        model = model.set_params(random_state=0).fit(single, y)
        assert_same_bits(clone(model).fit(X, y), model)
        if shape is not None:
            assert_same_bits(clone(model).fit(np.stack(X), np.stack(y)), model)


def test_scalar_tensors_as_labels_raise():
    with pytest.raises(TypeError, match="not hashable and cannot be a label"):
        ChainSSVM().fit([np.ones((2, 1))], [[WithArray(np.array(1)), WithArray(np.array(0))]])


def test_tensors_on_another_device_raise():
    X, y = [np.ones((2, 1))], [np.array([0, 1])]
    with pytest.raises(TypeError, match="OnDevice cannot be converted to an array: can't convert"):
        ChainSSVM().fit(X, OnDevice(np.array([[0, 1]])))
    with pytest.raises(TypeError, match=r"X\[0\] is not a numeric 2-D array: can't convert"):
        ChainSSVM().fit([OnDevice(X[0])], y)
