"""The Structure of TreeSSVM, for body parts connected by the edges of a tree."""

from itertools import pairwise

import numpy as np

from sstruct._checks.arrays import is_sized
from sstruct._estimators.core.distribution import BlockDistribution, IndependentNodes
from sstruct._estimators.core.lam_from_scale import TrainedNodes
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.core.training import Inference, Training
from sstruct._estimators.tree.tree_samples import pack_known_states, pack_states, pack_trees
from sstruct._estimators.tree.tree_state import TREE_STATE
from sstruct._input.completion import KnownLabels
from sstruct._input.labels import object_array
from sstruct._input.per_sample import PerSample
from sstruct._input.ragged import NoNodesError, check_weights
from sstruct._input.threads import n_threads
from sstruct._oracles.tree._max_sum import parents_first
from sstruct._problems.core._decode import decode
from sstruct._problems.tree._tree_problem import max_marginals

# Names of the features of an edge, for `to_frame`.
EDGE_FEATURES = ["dx^2", "dx", "dy^2", "dy", "pair_score"]


class TreeStructure(Structure):
    """The Structure of TreeSSVM."""

    state = TREE_STATE
    valid_values = Structure.valid_values | {"loss": ("distance", "hamming", "hamming-count")}
    searches = ("auto", "bisecting", "binary")
    scaling = None
    fits_partitions = has_distribution = True

    def pack(self, X, model=None):
        if model is None:
            return pack_trees(X, parents_first(self.parents)[0])
        return pack_trees(
            X,
            model.parents_,
            n_features=model.n_features_in_,
            n_types=model.n_types_,
            pairs=model._pair_scores,
        )

    def train(self, X, y, sample_weight, completion=None, model=None):
        parents, _ = parents_first(self.parents)
        trees = self.pack(X)
        known = states = pack_states(y, trees, self.ignore_label)
        in_loss = None
        if completion is not None:
            states = completion.codes
        weights = check_weights(sample_weight, len(trees))
        n_annotated = (known >= 0).sum(axis=1)
        used = (weights > 0) & (n_annotated > 0)
        if completion is not None:
            in_loss = completion.in_loss[used]
        if not used.any():
            raise NoNodesError("y has no annotated part in any sample with positive weight")
        total = float(weights[used].sum())
        problem = trees.problem(
            parents,
            bool(self.fit_intercept),
            states[used],
            used,
            loss_scale=None if self.loss == "hamming-count" else 1 / n_annotated[used],
            by_distance=self.loss == "distance",
            in_loss=in_loss,
        )
        tree_model = problem.model
        trained = TrainedNodes(
            trees.rows,
            np.repeat(weights * used, np.diff(trees.start[:, [0, -1]]).ravel()),
            weights @ n_annotated / total,
            1.0 if self.loss == "hamming-count" else total / (weights @ n_annotated),
            tree_model.fit_intercept,
        )
        has_score_maps = trees.positions is None
        return Training(
            problem,
            weights[used],
            total,
            trained,
            trees.data(known, used, parents),
            Inference("distance transform" if has_score_maps else "max-sum"),
            {
                "n_features_in_": tree_model.n_features,
                "n_types_": tree_model.n_types,
                "parents_": parents,
                # The meaning of w_ must not change if a parameter is set after the fit.
                "_bias": tree_model.fit_intercept,
                "_pair_scores": tree_model.pair_scores,
            },
            features=(trees.rows,),
        )

    def given_bounds(self, problem):
        return self.narrowed_bounds(problem, problem.model.attractive_bounds())

    def decode(self, model, samples, known=None):
        problem = samples.problem(model.parents_, model._bias, known=known)
        codes = decode(problem, model._w, n_threads(self.n_jobs))
        return codes.reshape(len(samples), -1)

    def truth(self, model, samples, y, sample_weight):
        states = pack_states(y, samples, self.ignore_label)
        weights = check_weights(sample_weight, len(samples))[:, np.newaxis] * (states >= 0)
        return states, weights

    def hidden(self, X, y, sample_weight):
        trees = self.pack(X)
        states = pack_states(y, trees, self.ignore_label)
        used = (check_weights(sample_weight, len(trees)) > 0) & (states >= 0).any(axis=1)
        return KnownLabels(states, np.repeat(used[:, np.newaxis], states.shape[1], axis=1))

    def known_codes(self, model, samples, y_partial):
        return pack_known_states(y_partial, samples, self.ignore_label)

    def max_marginals(self, model, trees):
        """Return, for each part and state, the best score of a labeling with this state."""
        return max_marginals(trees.problem(model.parents_, model._bias), model._w)

    def predict(self, model, X, y_partial=None):
        if _has_no_samples(X) and (y_partial is None or _has_no_samples(y_partial)):
            return PerSample.from_items([])
        return super().predict(model, X, y_partial)

    def output(self, model, samples, codes):
        return PerSample.from_items(codes.astype(np.intp))

    def decision_function(self, model, X):
        return object_array([]) if _has_no_samples(X) else super().decision_function(model, X)

    def inexact(self, model, trees):
        return (0, "it has score maps") if trees.positions is None else None

    def distribution(self, model, trees, exact=True):
        if not exact:
            scores = self.max_marginals(model, trees)
            return IndependentNodes(scores, trees.start[:, :-1].ravel())
        problem = trees.problem(model.parents_, model._bias)
        return BlockDistribution(problem, model, self.n_nodes(model, trees), self.n_jobs)

    def n_nodes(self, model, samples):
        n, bounds = samples.start.shape
        return np.full(n, bounds - 1)

    def like_input(self, model, samples, values):
        return object_array(
            [values[a:b] for a, b in pairwise(bounds.tolist())] for bounds in samples.start
        )

    def labels_of(self, model, samples, draws):
        return object_array(codes.astype(np.intp) for codes in draws)

    def distinct_labels(self, y):
        return None

    def axis_values(self, model):
        types = range(model.n_types_)
        return {
            "part": range(len(model.parents_)),
            "type": types,
            "parent_type": types,
            "edge_feature": {"feature": EDGE_FEATURES},
            **super().axis_values(model),
        }


def _has_no_samples(X):
    return isinstance(X, list | tuple | np.ndarray) and is_sized(X) and len(X) == 0
