"""The solvers by the names that estimators know them by."""

from sstruct._solvers.baselines.batch_frank_wolfe import BatchFrankWolfe
from sstruct._solvers.baselines.cutting_plane import CuttingPlane
from sstruct._solvers.baselines.subgradient import StochasticSubgradient
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfe
from sstruct._solvers.gdmm.on_chains import GDMM
from sstruct._solvers.gdmm.on_label_sets import LabelGDMM
from sstruct._solvers.perceptron.perceptron import PassiveAggressive, Perceptron

# Over any BlockProblem: the first two, those without an objective, and those to compare with.
SOLVERS = {
    "mp-bcfw": FrankWolfe,
    "bcfw": FrankWolfe,
    "perceptron": Perceptron,
    "pa": PassiveAggressive,
    "fw": BatchFrankWolfe,
    "ssg": StochasticSubgradient,
    "cutting-plane": CuttingPlane,
}
# And on the factors of a structure.
CHAIN_SOLVERS = SOLVERS | {"gdmm": GDMM}
LABEL_SET_SOLVERS = SOLVERS | {"gdmm": LabelGDMM}
