"""Build the Cython extensions; everything else is declared in pyproject.toml.

Environment variables: ``SSTRUCT_DEBUG=1`` builds with bounds checks,
``SSTRUCT_SANITIZE=address,undefined`` (or ``thread``) with gcc's sanitizers, in separate trees.
``SSTRUCT_PYX=path`` builds only that file, and an empty value builds nothing.
"""

import os
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

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
    # Extension types are not pickled, and a state from a file could cause reads out of bounds.
    "auto_pickle": False,
}

# The utility code of Cython (memoryviews, functions) is compiled once, in this module. It would be
# 61 % of the C code otherwise.
SHARED = "sstruct._kernels._cyutility"

# Without this, Cython unpacks bound methods inline before each call, which CPython does as well, in
# about the same time. This code would be 3 % of the size of all modules.
MACROS = [("CYTHON_UNPACK_METHODS", "0")]

# Loops over labels, nodes and edges are faster with -O3; for other code, it only increases the
# compilation time. Inlined kernels round differently with -O2.
HOT = ("sstruct/_oracles", "sstruct/_problems", "sstruct/_solvers")
KERNELS = HERE / "sstruct/_kernels/kernels.h"


def compile_args(hot):
    """Return the compiler flags for one source.

    The two -fno flags do not change results, since errno and floating-point traps are not used, and
    are required for vectorized comparisons. There is no -march and no -ffast-math: kernels select
    the instruction set at run time (kernels.h). -g0 overrides -g of Python's flags, which doubles
    the compilation time.
    """
    if sys.platform == "win32":
        return ["/O2"]
    if SANITIZE:
        return SANITIZER_ARGS
    level = "-O3" if hot else "-O2"
    return [level, "-g" if DEBUG else "-g0", "-fno-math-errno", "-fno-trapping-math"]


# UndefinedBehaviorSanitizer does not check conversions to integers by default, nor signed overflow
# with Python's flag -fwrapv. -O1 limits the compilation time, and frame pointers are required for
# complete stacks in reports.
SANITIZER_ARGS = [f"-fsanitize={SANITIZE}", "-O1", "-g1", "-fno-omit-frame-pointer", "-fno-wrapv"]
if "undefined" in SANITIZE:
    SANITIZER_ARGS[0] += ",float-cast-overflow"


@cache
def headers(path):
    """Return the headers of the package that a source or header includes, also through cimports."""
    found, text = set(), path.read_text(encoding="utf-8")
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
    """Return the linker flags: release builds contain no symbols."""
    if SANITIZE:
        return SANITIZER_ARGS[:1]
    return ["-Wl,--strip-all"] if sys.platform == "linux" and not DEBUG else []


def extension(source, depends=()):
    """Return the extension of one source of the package."""
    return Extension(
        source.rpartition(".")[0].replace("/", "."),
        [source],
        include_dirs=["."],
        depends=sorted(path.relative_to(HERE).as_posix() for path in depends),
        define_macros=MACROS,
        extra_compile_args=compile_args(source.startswith(HOT) or KERNELS in depends),
        extra_link_args=link_args(),
    )


def extensions():
    """Return an extension for each .pyx of the package, and the shared utility module."""
    if ONLY == "":
        return []
    paths = [HERE / ONLY] if ONLY else sorted((HERE / "sstruct").rglob("*.pyx"))
    modules = [extension(p.relative_to(HERE).as_posix(), headers(p)) for p in paths]
    return [*modules, extension(SHARED.replace(".", "/") + ".c")]


# Extensions that are newer than their sources are not rebuilt. Therefore, each kind of build has a
# separate tree, so that a release does not contain extensions of a debug build.
KIND = "debug" if DEBUG else "inplace" if "--inplace" in sys.argv else "release"
BASE = f"build/{SANITIZE.replace(',', '-') or KIND}"


def long_description():
    """Return README.md with absolute links: the package index has no other files of the tree."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository, tag = project["urls"]["Repository"], f"v{project['version']}"
    text = (HERE / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\]\()(?!http|#)", rf"\1{repository}/raw/{tag}/", text)
    return re.sub(r"(?<!!)(\[[^]]*\]\()(?!http|#)", rf"\1{repository}/blob/{tag}/", text)


class BuildExtensions(build_ext):
    """Run Cython when extensions are built.

    Other commands, such as those for the metadata and the source distribution, import setup.py
    without a need for C code.
    """

    def run(self):
        cythonized = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            nthreads=os.cpu_count(),
            build_dir="build/debug/cython" if DEBUG else "build/cython",
        )
        sources = {module.name: module.sources for module in cythonized}
        for module in self.extensions:
            module.sources = sources[module.name]
        super().run()


# Guarded, since the processes of cythonize may import this file.
if __name__ == "__main__":
    setup(
        long_description=long_description(),
        long_description_content_type="text/markdown",
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExtensions},
        options={"build_ext": {"parallel": os.cpu_count()}, "build": {"build_base": BASE}},
    )
