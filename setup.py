"""Build the Cython extensions; everything else is declared in pyproject.toml.

Environment: ``SSTRUCT_DEBUG=1`` builds with bounds checks, in a tree of its own.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("SSTRUCT_DEBUG", "0") not in ("", "0")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}

# Neither flag changes a value: errno and floating-point traps are not read anywhere,
# and compilers vectorize comparisons only without them. No -march, no -ffast-math:
# the hot kernels choose their instruction set at run time (sstruct/_kernels.h).
COMPILE_ARGS = (
    ["/O2"] if sys.platform == "win32" else ["-O3", "-fno-math-errno", "-fno-trapping-math"]
)


def extensions():
    """One extension for each .pyx, found by walking the package."""
    here = Path(__file__).parent
    for path in sorted((here / "sstruct").rglob("*.pyx")):
        relative = path.relative_to(here)
        yield Extension(
            ".".join(relative.with_suffix("").parts),
            [str(relative)],
            include_dirs=["sstruct"],
            depends=[
                "sstruct/_kernels.h",
                "sstruct/_wide_kernels.h",
                "sstruct/_clock.h",
                *sorted(str(header.relative_to(here)) for header in path.parent.glob("*.h")),
            ],
            extra_compile_args=COMPILE_ARGS,
        )


# Apart from the others': what is newer than its sources is not built again, and a plain
# `pip install .` would take the slow extensions of a debug build, or the reverse.
BUILD = {"build": {"build_base": "build/debug"}} if DEBUG else {}

# Guarded: cythonize's processes may import this file again.
if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            list(extensions()),
            compiler_directives=DIRECTIVES,
            nthreads=os.cpu_count(),
            build_dir="build/debug/cython" if DEBUG else "build/cython",
        ),
        options={"build_ext": {"parallel": os.cpu_count()}, **BUILD},
    )
