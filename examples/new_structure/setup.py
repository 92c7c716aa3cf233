"""Compile the module in this folder with ``python setup.py build_ext --inplace``."""

from Cython.Build import cythonize
from setuptools import Extension, setup

setup(
    name="ordinal",
    ext_modules=cythonize(
        [Extension("ordinal_problem", ["ordinal_problem.pyx"])],
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False},
    ),
)
