"""The solvers by the names that estimators know them by."""

from sstruct._solvers.batch_frank_wolfe import BatchFrankWolfe
from sstruct._solvers.cutting_plane import CuttingPlane
from sstruct._solvers.frank_wolfe import FrankWolfe
from sstruct._solvers.gdmm import GDMM
from sstruct._solvers.gdmm_labels import LabelGDMM
from sstruct._solvers.subgradient import StochasticSubgradient

# Over any BlockProblem: the first two, and those to compare with.
SOLVERS = {
    "mp-bcfw": FrankWolfe,
    "bcfw": FrankWolfe,
    "fw": BatchFrankWolfe,
    "ssg": StochasticSubgradient,
    "cutting-plane": CuttingPlane,
}
# And on the factors of a structure.
CHAIN_SOLVERS = SOLVERS | {"gdmm": GDMM}
LABEL_SET_SOLVERS = SOLVERS | {"gdmm": LabelGDMM}
