"""The oracle of choices.py as C functions, loaded by ctypes."""

import ctypes

from scipy import LowLevelCallable

from sstruct.extending import CompiledOracle

INTEGERS, NUMBERS = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_double)
DATA = ctypes.c_void_p
# Types that C functions return and take.
ARGMAX = ctypes.c_int, NUMBERS, NUMBERS, INTEGERS, INTEGERS, ctypes.c_double, INTEGERS, DATA
JOINT_FEATURE = ctypes.c_int, NUMBERS, INTEGERS, INTEGERS, INTEGERS, NUMBERS, DATA
LOSS = ctypes.c_double, INTEGERS, INTEGERS, ctypes.c_int32, DATA


def compiled_choice(path, d, **parameters):
    """Return the oracle of a shared library compiled from choice.c, for d features."""
    library, functions = ctypes.CDLL(path), []
    for name, types in (("argmax", ARGMAX), ("joint_feature", JOINT_FEATURE), ("loss", LOSS)):
        function = library[f"choice_{name}"]
        function.restype, function.argtypes = types[0], types[1:]
        functions.append(LowLevelCallable(function))
    # There is one label per candidate, and a labeling is one label.
    return CompiledOracle(*functions, n_weights=d, n_labels=len, code_size=1, **parameters)
