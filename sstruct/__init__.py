"""Structured support vector machines as scikit-learn estimators."""

from sstruct._estimators.core.callbacks import GapMonitor
from sstruct.alignment import AlignmentSSVM
from sstruct.chain import ChainSSVM
from sstruct.change_points import ChangePointSSVM
from sstruct.custom import StructuredSVM
from sstruct.dependency import DependencySSVM
from sstruct.graph import GraphCRFSSVM
from sstruct.grid import GridCRFSSVM
from sstruct.latent import LatentSSVM
from sstruct.matching import MatchingSSVM
from sstruct.multiclass import MulticlassSSVM
from sstruct.multilabel import MultilabelSSVM
from sstruct.path import RegularizationPath, ssvm_path
from sstruct.path_cv import PathCV
from sstruct.segmentation import SegmentSSVM
from sstruct.sequences import Sequences
from sstruct.tree import TreeSSVM
from sstruct.typed_graph import TypedGraphCRFSSVM

__version__ = "1.0.0"

__all__ = [
    "AlignmentSSVM",
    "ChainSSVM",
    "ChangePointSSVM",
    "DependencySSVM",
    "GapMonitor",
    "GraphCRFSSVM",
    "GridCRFSSVM",
    "LatentSSVM",
    "MatchingSSVM",
    "MulticlassSSVM",
    "MultilabelSSVM",
    "PathCV",
    "RegularizationPath",
    "SegmentSSVM",
    "Sequences",
    "StructuredSVM",
    "TreeSSVM",
    "TypedGraphCRFSSVM",
    "__version__",
    "show_versions",
    "ssvm_path",
]


def show_versions() -> None:
    """Print the versions of Python, this package and its dependencies, including optional ones.

    Examples
    --------
    >>> import sstruct
    >>> sstruct.show_versions()
    Python ...
    """
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from sstruct._oracles.chain._viterbi import instructions

    print(f"Python {platform.python_version()} on {platform.platform()}")
    print(f"sstruct {__version__}, instructions {instructions()}")
    required = ("numpy", "scipy", "scikit-learn", "joblib")
    optional = ("clarabel", "dask", "matplotlib", "onnx", "pandas", "skops", "tqdm")
    for name in required + optional:
        try:
            print(f"{name} {version(name)}")
        except PackageNotFoundError:
            print(f"{name} not installed")
