"""Structures of MultilabelSSVM and MulticlassSSVM."""

import math

import numpy as np

from sstruct._checks.parameters import check_choice
from sstruct._compat import num_samples
from sstruct._estimators.core.distribution import (
    BlockDistribution,
    IndependentNodes,
    ObservedLabels,
)
from sstruct._estimators.core.fit import fitted_model
from sstruct._estimators.core.structure import (
    LABEL_SET_SOLVERS,
    NodeStructure,
    Structure,
    weighted_accuracy,
)
from sstruct._estimators.core.training import Samples
from sstruct._estimators.label_set.interactions import (
    AUTO_ENUMERATES,
    INFERENCE,
    MAX_LABELS,
    check_edges_parameter,
    is_forest,
    is_hierarchy,
    is_learned,
)
from sstruct._estimators.label_set.label_set_state import LABEL_SET_STATE, ONE_LABEL
from sstruct._estimators.label_set.label_set_training import (
    MultilabelTraining,
    column_names,
    prediction_problem,
)
from sstruct._estimators.label_set.one_label import class_scores, one_label_training
from sstruct._estimators.label_set.partial_sets import (
    best_classes,
    close_hierarchy,
    inner_sets,
    known_sets,
    satisfying_sets,
)
from sstruct._export.exported_model import linear_model
from sstruct._input.completion import KnownLabels
from sstruct._input.indicator import (
    as_output,
    check_label_names,
    is_indicator,
    known_indicator,
    label_matrix,
    reject_label_lists,
)
from sstruct._input.label_constraints import check_constraints_parameter, constraint_rows
from sstruct._input.labels import find_classes, object_array
from sstruct._input.losses import LABEL_SET_NAMES, label_costs, node_costs
from sstruct._input.ragged import check_weights, labels_of_rows, pack_rows
from sstruct._input.threads import n_threads
from sstruct._problems.core._decode import decode
from sstruct._problems.label_set._multilabel import label_marginals


class ClassStructure(NodeStructure):
    """The Structure of MulticlassSSVM."""

    scaling = "{}"
    fits_partitions = samples_are_rows = has_distribution = True

    def pack(self, X, model=None):
        return pack_rows(self.expected_input(model), X)

    def train(self, X, y, sample_weight, completion=None, model=None):
        rows = self.pack(X, model)
        return one_label_training(self, rows, y, sample_weight, self.cost)

    def cost(self, codes, weights, n_labels):
        """Return the (K, K) costs of one label for another."""
        return node_costs(self.loss, codes, weights, n_labels)[0]

    def decode(self, model, samples, known=None):
        return class_scores(model, samples).argmax(axis=1)

    def exported(self, model):
        """Return the ExportedModel of a FittedModel."""
        return linear_model("classes", model)

    def output(self, model, samples, codes):
        return model.classes_[codes]

    def decision_function(self, model, X):
        return self.decisions(model, self.pack(X, model))

    def decisions(self, model, rows):
        """Return the scores of packed rows, as ``decision_function``."""
        scores = class_scores(model, rows)  # for two classes: their difference
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def label_scores(self, model, rows):
        """Return the score of each class, (n, K), or of each label being off and on, (n, K, 2)."""
        return class_scores(model, rows)

    def distribution(self, model, samples, exact=True):
        return IndependentNodes(class_scores(model, samples))

    def distinct_labels(self, y):
        return find_classes(labels_of_rows(y, num_samples(y)))


class LabelSetStructure(ClassStructure):
    """The Structure of MultilabelSSVM."""

    state = LABEL_SET_STATE
    solvers = LABEL_SET_SOLVERS
    loss_names = LABEL_SET_NAMES
    valid_values = Structure.valid_values | {"pairwise": ("and", "full"), "inference": INFERENCE}

    def check(self):
        super().check()
        check_edges_parameter(self.edges)
        check_constraints_parameter(self.constraints)
        if self.constraints and is_hierarchy(self.edges):
            raise ValueError(
                "constraints are not supported together with a hierarchy; replace its parents by "
                "constraints.implies(label, parent)"
            )
        if self.chosen_solver.name == "gdmm":
            self._check_relaxed()
        if isinstance(self.bounds, str):
            check_choice("bounds", self.bounds, ("submodular",))
            if self.pairwise == "full":
                raise ValueError(
                    'bounds="submodular" is not supported with pairwise="full", since bounds of '
                    'the four weights of a pair do not imply attraction; use pairwise="and"'
                )

    def _check_relaxed(self):
        """Raise ValueError for parameters that GDMM does not support."""
        unsupported = None
        if self.pairwise != "and":
            unsupported = f"pairwise={self.pairwise!r}"
        elif is_hierarchy(self.edges):
            unsupported = "a hierarchy"
        elif self.constraints:
            unsupported = "constraints"
        elif self.inference in ("enumeration", "cut", "exact"):
            unsupported = f"inference={self.inference!r}"
        if unsupported:
            raise ValueError(
                f"{unsupported} is not supported by solver='gdmm', which solves the relaxation of "
                "pairwise=\"and\"; use solver='mp-bcfw' or 'bcfw'"
            )

    def train(self, X, y, sample_weight, completion=None, model=None):
        reject_label_lists(y)
        rows = self.pack(X, model)
        if completion is not None or is_indicator(y):
            edges = None if model is None else model.edges_
            return MultilabelTraining(self, rows, y, sample_weight, completion, edges).training()
        if is_hierarchy(self.edges):
            raise ValueError("a hierarchy requires sets of labels, an (n, K) array y of 0 and 1")
        if self.constraints:
            raise ValueError("constraints require sets of labels, an (n, K) array y of 0 and 1")
        if self.class_scores is not None:
            raise ValueError(
                "class_scores requires sets of labels, an (n, K) array y of 0 and 1; for one label "
                "per sample use ChainSSVM with transitions=False"
            )
        training = one_label_training(self, rows, y, sample_weight, self.cost)
        if self.chosen_solver.name == "gdmm":
            raise ValueError(
                "solver='gdmm' requires sets of labels, an (n, K) array y of 0 and 1; for one "
                "label per sample use solver='mp-bcfw' or 'bcfw'"
            )
        training.attributes |= {
            "edges_": np.empty((0, 2), dtype=np.int32),
            "_model": {"method": ONE_LABEL, "full": self.pairwise == "full"},
        }
        return training

    def cost(self, codes, weights, n_labels):
        on = np.bincount(codes, weights=weights, minlength=n_labels)
        off_cost, on_cost = label_costs(self.loss, on, weights.sum())
        # The sets of two different labels differ in both of them.
        return (on_cost[:, np.newaxis] + off_cost) * (1 - np.eye(n_labels))

    def given_bounds(self, problem):
        if not isinstance(self.bounds, str):
            return super().given_bounds(problem)
        bounds = problem.layout.unbounded()
        edge = problem.layout.views(bounds[0]).get("edge")
        if edge is None or edge.size == 0:
            return None
        edge[...] = 0  # attractive
        return bounds

    def decode(self, model, samples, known=None):
        if has_one_label(model):
            return super().decode(model, samples)
        problem = prediction_problem(samples, model, known)
        codes = decode(problem, model._w, n_threads(self.n_jobs))
        sets = codes.reshape(problem.n_blocks, -1)[:, : problem.n_labels] // 2
        if known is not None and model._model["constraints"] is not None:
            wrong = ((known >= 0) & (sets != known)).any(axis=1)
            if wrong.any():
                raise ValueError(
                    f"no set of labels agrees with y_partial[{np.argmax(wrong)}] and the "
                    "constraints of the model"
                )
        return sets

    def exported(self, model):
        if has_one_label(model):
            return super().exported(model)
        interactions = len(model.edges_) or model._model["parents"] is not None
        if interactions or model._model["constraints"] is not None:
            raise ValueError(
                "label sets with edges, a hierarchy or constraints cannot be exported; fit "
                "MultilabelSSVM with edges=None"
            )
        return linear_model("label sets", model)

    def truth(self, model, samples, y, sample_weight):
        if has_one_label(model):
            return super().truth(model, samples, y, sample_weight)
        check_label_names(y, model.classes_)
        sets = label_matrix(y, len(samples), len(model.classes_)).toarray()
        return sets, check_weights(sample_weight, len(samples))

    def score(self, model, samples, truth):
        if has_one_label(model):
            return super().score(model, samples, truth)
        sets, weights = truth
        return weighted_accuracy((self.decode(model, samples) == sets).all(axis=1), weights)

    def decisions(self, model, rows):
        if has_one_label(model):
            return super().decisions(model, rows)
        return label_marginals(prediction_problem(rows, model), model._w)

    def label_scores(self, model, rows):
        if has_one_label(model):
            return super().label_scores(model, rows)
        on = self.decisions(model, rows)
        return np.stack([np.zeros_like(on), on], axis=-1)

    def inexact(self, model, rows):
        if has_one_label(model) or summation_method(model) is not None:
            return None
        constrained = model._model["constraints"] is not None
        return 0, (
            f"it has {len(model.classes_)} labels "
            f"{'with constraints' if constrained else 'whose edges have cycles'}, more than the "
            f"{AUTO_ENUMERATES} whose sets are enumerated"
        )

    def distribution(self, model, rows, exact=True):
        if has_one_label(model):
            return super().distribution(model, rows)
        if exact:
            problem = prediction_problem(rows, model, method=summation_method(model))
            return BlockDistribution(problem, model, self.n_nodes(model, rows), self.n_jobs)
        gains = self.decisions(model, rows).ravel()
        return IndependentNodes(np.column_stack([np.zeros(len(gains)), gains]))

    def observed(self, model, rows, y):
        if has_one_label(model):
            return super().observed(model, rows, y)
        check_label_names(y, model.classes_)
        known = known_indicator(y, len(rows), len(model.classes_)).ravel()
        return ObservedLabels(known, np.zeros(len(known), dtype=bool), self.n_nodes(model, rows))

    def n_nodes(self, model, samples):
        return np.full(len(samples), 1 if has_one_label(model) else len(model.classes_))

    def like_input(self, model, samples, values):
        if has_one_label(model):
            return super().like_input(model, samples, values)
        # The probabilities that labels are on: the only ones, or the second of two for each label.
        return values.reshape(len(samples), len(model.classes_), -1)[:, :, -1]

    def labels_of(self, model, samples, draws):
        if has_one_label(model):
            return super().labels_of(model, samples, draws)
        return object_array(codes.astype(np.intp) for codes in draws)

    def known_codes(self, model, samples, y_partial):
        known = known_sets(y_partial, len(samples), model.classes_)
        if model._model["parents"] is not None:
            known = close_hierarchy(known, model._model["parents"])
        return known

    def predict(self, model, X, y_partial=None):
        if not has_one_label(model):
            _, sets = self.decoded(model, X, y_partial)
            return as_output(sets, model._model["output"], model.classes_, X)
        if y_partial is None:
            return super().predict(model, X)
        rows = self.pack(X, model)
        codes = best_classes(class_scores(model, rows), y_partial, rows, model.classes_)
        return self.output(model, rows, codes)

    def hidden(self, X, y, sample_weight):
        reject_label_lists(y)
        rows = self.pack(X)
        weights = check_weights(sample_weight, len(rows))
        if not is_indicator(y):  # if each row has one label, no label is hidden
            return KnownLabels(np.zeros(len(rows), np.int32), weights > 0)
        known = known_indicator(y, len(rows))
        if is_hierarchy(self.edges) and np.shape(self.edges) == known.shape[1:]:
            known = close_hierarchy(known, np.asarray(self.edges), "y")
        used, plain = (weights > 0) & (known >= 0).any(axis=1), bool((known >= 0).all())
        known[~used] = 0  # arbitrary, since these rows are not used in training
        trained = np.repeat(used[:, np.newaxis], known.shape[1], axis=1)
        return KnownLabels(known, trained, plain=plain)

    def complete(self, model, X, known, n_states=1):
        codes = known.codes
        if not has_one_label(model):  # rows that are not used may have no valid set
            codes = np.where(known.trained, codes, -1)
        return self.decode(model, self.pack(X, model), codes)

    def first_labels(self, X, y, sample_weight, known):
        """Complete each label separately, by a fit to the rows in which it is known."""
        rows, codes = self.pack(X).flat, known.codes.copy()
        weights = check_weights(sample_weight, len(codes))
        for k in range(codes.shape[1]):
            here = np.flatnonzero(known.trained[:, k] & (known.codes[:, k] >= 0))
            hidden = np.flatnonzero(known.codes[:, k] < 0)
            on = known.codes[here, k : k + 1]
            codes[hidden, k] = on.any()
            if len(hidden) and on.any() and not on.all():
                one = self._single_label(len(codes) / len(here))
                model = fitted_model(one, Samples(rows[here], on, weights[here]))
                codes[hidden, k] = one.decode(model, one.pack(rows[hidden], model)).ravel()
        if is_hierarchy(self.edges):
            codes = inner_sets(codes, np.asarray(self.edges))
        rows = constraint_rows(self.constraints, column_names(self.classes, y, codes.shape[1]))
        if rows is not None:
            used = known.trained.all(axis=1)
            codes[used] = satisfying_sets(rows, codes[used], known.codes[used])
            wrong = np.flatnonzero(((known.codes >= 0) & (codes != known.codes)).any(axis=1))
            if len(wrong):
                raise ValueError(
                    f"no set of labels agrees with the known labels of y[{wrong[0]}] and the "
                    "constraints"
                )
        return codes

    def _single_label(self, share):
        """Return the Structure of one label that is known in a fraction `share` of the samples."""
        lam = self.lam if isinstance(self.lam, str) else float(self.lam) * share
        return self.with_parameters(
            edges=None, constraints=None, inference="auto", solver="auto", classes=None,
            class_weight=None, class_scores=None, bounds=None, loss="hamming-count",
            rescaling="margin", warm_start=False, lam=lam,
        )  # fmt: skip

    def check_partitions(self, y=None):
        if isinstance(self.edges, str) and self.edges == "tree":
            raise ValueError(
                "edges='tree' is not supported for partitions on a cluster, since it requires all "
                "labels; pass edges as pairs of labels"
            )
        if y is not None and is_indicator(y) and is_learned(self.edges, np.shape(y)[1]):
            raise ValueError(
                f"edges={self.edges!r} is not supported for partitions of y with {np.shape(y)[1]} "
                "labels, since it requires the labels of all samples; pass edges as pairs of labels"
            )

    def has_label_sets(self, y):
        return is_indicator(y)

    def distinct_labels(self, y):
        reject_label_lists(y)
        return None if is_indicator(y) else super().distinct_labels(y)

    def describe(self, attributes):
        attributes = super().describe(attributes)
        model = attributes["_model"]
        # Other solvers would not relax the problem, so the bound would be of another problem.
        relaxed = model["method"] == "relaxed" and model["K"] <= MAX_LABELS
        if relaxed and attributes["solver_"] == "gdmm" and self.inference == "auto":
            attributes |= {"dual_objective_": math.nan, "dual_gap_": math.nan}
        return attributes

    def axis_values(self, model):
        first, second = model.classes_[model.edges_.T]
        edges = {"edge": {"label": first, "other_label": second}}
        if model._model["full"]:
            edges |= {"value": [0, 1], "other_value": [0, 1]}
        return super().axis_values(model) | edges


def summation_method(model):
    """Return the name of a decoder whose sums over all sets are exact, or None.

    Sets of few labels are enumerated if their edges have cycles, or if there are constraints: about
    a millisecond for a row.
    """
    K = model._model["K"]
    forest = model._model["parents"] is not None or is_forest(K, model.edges_)
    if forest and model._model["constraints"] is None:
        return "tree"
    return "enumeration" if K <= AUTO_ENUMERATES else None


def has_one_label(model):
    """Return whether a model was fitted to rows with one label each."""
    return model._model["method"] == ONE_LABEL
