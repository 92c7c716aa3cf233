"""Types of parameters that occur in several signatures."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np


class SupportsArray(Protocol):
    """An array, or an object that NumPy converts, such as a series or a sparse array."""

    def __array__(self) -> np.ndarray: ...


class ArrayAttribute(Protocol):
    """A property that returns an array."""

    def __get__(self, instance: Any, owner: Any = None, /) -> np.ndarray: ...


# Unlike numpy.typing.ArrayLike, without strings: a type checker then checks options such as
# loss="hamming", which may be arrays, too.
NumericArrayLike = (
    SupportsArray | Sequence[float] | Sequence[Sequence[float]] | Sequence[SupportsArray]
)

ClassWeight = Mapping[Any, float] | Literal["balanced"]
Loss = Literal["hamming", "hamming-count", "balanced"]
SolverName = Literal[
    "auto", "mp-bcfw", "bcfw", "fw", "gdmm", "ssg", "cutting-plane", "perceptron", "pa"
]
