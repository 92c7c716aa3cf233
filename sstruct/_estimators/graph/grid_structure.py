"""The Structure of GridCRFSSVM, for pixels of images."""

import numpy as np

from sstruct._checks.parameters import is_real
from sstruct._checks.shown import shortened
from sstruct._estimators.core.structure import Windowed
from sstruct._estimators.graph.graph_samples import image_labels, pack_grids
from sstruct._estimators.graph.graph_state import GRID_STATE
from sstruct._estimators.graph.graph_structure import GraphStructure

# Names of the edge features of grids, for `to_frame`.
GRID_FEATURES = {
    "contrast": ["constant", "contrast"],
    "directed": ["right", "down", "down-right", "down-left"],
}


class GridStructure(Windowed, GraphStructure):
    """The Structure of GridCRFSSVM."""

    state = GRID_STATE
    auto_windows = 128**2, 64**2  # numbers of pixels (benchmarks/notes/images.md)
    one_sample = "images: one image is a list of one array (height, width, channels), [X]"

    def check(self):
        super().check()
        if not is_real(self.connectivity) or self.connectivity not in (4, 8):
            raise ValueError(f"connectivity must be 4 or 8, found {shortened(self.connectivity)}")

    def pack(self, X, model=None):
        settings = self._settings() if model is None else model._model
        return pack_grids(
            self.expected_input(model), X, settings["pairwise"], settings["connectivity"]
        )

    def labels(self, y, nodes):
        return image_labels(y, nodes, self)

    def distinct_labels(self, y):
        return super().distinct_labels(map(np.ravel, y))

    def edge_feature_names(self, model):
        names = GRID_FEATURES.get(model._model["pairwise"], ())
        return names[: model._model["n_edge_features"]]

    def _with_planes(self, problem):
        # Planes contain losses, which multipliers on copies change.
        coupled = self.solver_option("couple_windows") and problem.n_copied
        return problem if coupled else super()._with_planes(problem)
