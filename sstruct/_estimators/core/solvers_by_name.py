"""Classes of solvers by their names in the parameter `solver`."""

from sstruct._solvers.baselines.batch_frank_wolfe import BatchFrankWolfe
from sstruct._solvers.baselines.cutting_plane import CuttingPlaneFit
from sstruct._solvers.baselines.subgradient import StochasticSubgradient
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._solvers.gdmm.on_chains import GDMMFit
from sstruct._solvers.gdmm.on_label_sets import LabelGDMM
from sstruct._solvers.perceptron.perceptron import PassiveAggressiveFit, PerceptronFit

# For any BlockProblem: the two defaults, solvers without an objective, and baselines.
SOLVERS = {
    "mp-bcfw": FrankWolfeFit,
    "bcfw": FrankWolfeFit,
    "perceptron": PerceptronFit,
    "pa": PassiveAggressiveFit,
    "fw": BatchFrankWolfe,
    "ssg": StochasticSubgradient,
    "cutting-plane": CuttingPlaneFit,
}
# Additional solvers that use the factors of a structure.
CHAIN_SOLVERS = SOLVERS | {"gdmm": GDMMFit}
LABEL_SET_SOLVERS = SOLVERS | {"gdmm": LabelGDMM}
