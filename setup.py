"""Build the Cython extensions; everything else is declared in pyproject.toml.

Environment: ``SSTRUCT_DEBUG=1`` builds with bounds checks, ``SSTRUCT_SANITIZE=address,undefined``
(or ``thread``) with gcc's sanitizers, each in a tree of its own; ``SSTRUCT_PYX=path`` builds that
one file alone, and an empty one nothing.
"""

import os
import re
import sys
from functools import cache
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

HERE = Path(__file__).parent
DEBUG = os.environ.get("SSTRUCT_DEBUG", "0") not in ("", "0")
SANITIZE = os.environ.get("SSTRUCT_SANITIZE", "")
ONLY = os.environ.get("SSTRUCT_PYX")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
    # Nothing pickles extension types, and a state from a file would be read past its end.
    "auto_pickle": False,
}

# What every module needs of Cython (memoryviews, functions) is compiled once, in here: 61 % of
# the C otherwise.
SHARED = "sstruct._kernels._cyutility"

# Loops over labels, nodes and edges gain from -O3; the rest only waits longer for the compiler.
# The kernels' sums have other bits at -O2, wherever they are inlined.
HOT = ("sstruct/_oracles", "sstruct/_problems", "sstruct/_solvers")
KERNELS = HERE / "sstruct/_kernels/kernels.h"


def compile_args(hot):
    """Compiler flags for one source.

    The two -fno flags change no value: errno and floating-point traps are not read anywhere, and
    compilers vectorize comparisons only without them. No -march, no -ffast-math: the hot kernels
    choose their instruction set at run time (kernels.h). -g0: Python's own flags bring -g, which
    takes as long as the code itself.
    """
    if sys.platform == "win32":
        return ["/O2"]
    if SANITIZE:
        return SANITIZER_ARGS
    level = "-O3" if hot else "-O2"
    return [level, "-g" if DEBUG else "-g0", "-fno-math-errno", "-fno-trapping-math"]


# UndefinedBehaviorSanitizer leaves conversions to integers out by itself, and overflow of signed
# ones where Python's own -fwrapv defines it. -O1 keeps gcc's time bearable, frame pointers the
# stacks of reports whole.
SANITIZER_ARGS = [f"-fsanitize={SANITIZE}", "-O1", "-g1", "-fno-omit-frame-pointer", "-fno-wrapv"]
if "undefined" in SANITIZE:
    SANITIZER_ARGS[0] += ",float-cast-overflow"


@cache
def headers(path):
    """Headers of the package that a source or header includes, also by what it cimports."""
    found, text = set(), path.read_text()
    for name in re.findall(r'(?:cdef extern from|#include) "(.+)"', text):
        header = next(p / name for p in (path.parent, HERE) if (p / name).exists())
        found |= {header, *headers(header)}
    cimports = re.findall(r"^ *from (sstruct\S+) cimport", text, re.MULTILINE)
    declarations = [(HERE / name.replace(".", "/")).with_suffix(".pxd") for name in cimports]
    for declaration in {path.with_suffix(".pxd"), *declarations} - {path}:
        if declaration.exists():
            found |= headers(declaration)
    return frozenset(found)


def link_args():
    """Linker flags: release builds carry no symbols."""
    if SANITIZE:
        return SANITIZER_ARGS[:1]
    return ["-Wl,--strip-all"] if sys.platform == "linux" and not DEBUG else []


def extension(source, depends=()):
    """The extension of one source of the package."""
    return Extension(
        source.rpartition(".")[0].replace("/", "."),
        [source],
        include_dirs=["."],
        depends=sorted(path.relative_to(HERE).as_posix() for path in depends),
        extra_compile_args=compile_args(source.startswith(HOT) or KERNELS in depends),
        extra_link_args=link_args(),
    )


def extensions():
    """One extension for each .pyx, found by walking the package, and what they share."""
    if ONLY == "":
        return []
    paths = [HERE / ONLY] if ONLY else sorted((HERE / "sstruct").rglob("*.pyx"))
    modules = [extension(p.relative_to(HERE).as_posix(), headers(p)) for p in paths]
    return [*modules, extension(SHARED.replace(".", "/") + ".c")]


# What is newer than its sources is not built again. So builds of other kinds keep to trees of their
# own: a release must not take a debug build's extensions.
KIND = "debug" if DEBUG else "inplace" if "--inplace" in sys.argv else "release"
BASE = f"build/{SANITIZE.replace(',', '-') or KIND}"

# Guarded: cythonize's processes may import this file again.
if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            extensions(),
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            nthreads=os.cpu_count(),
            build_dir="build/debug/cython" if DEBUG else "build/cython",
        ),
        options={"build_ext": {"parallel": os.cpu_count()}, "build": {"build_base": BASE}},
    )
