"""Base class of the code that is specific to one kind of structure, such as chains."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from sstruct._checks.parameters import FLAG, Range
from sstruct._checks.shown import shortened
from sstruct._estimators.core.common_state import BASE_STATE, LABELING_STATE
from sstruct._estimators.core.distribution import ObservedLabels
from sstruct._estimators.core.rescaling import SEARCHES
from sstruct._input.class_scores import parse_class_scores
from sstruct._input.labels import (
    as_labels,
    check_one_type,
    check_reserved,
    concatenate_labels,
    encode_truth,
    find_classes,
    is_label,
    object_array,
)
from sstruct._input.losses import NAMES, unknown_loss
from sstruct._input.ragged import ExpectedInput, NoNodesError, check_node_weights, flat_labels
from sstruct._solvers.baselines.batch_frank_wolfe import BatchFrankWolfe
from sstruct._solvers.baselines.cutting_plane import CuttingPlaneFit
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._solvers.gdmm.on_chains import GDMMFit
from sstruct._solvers.gdmm.on_label_sets import LabelGDMM
from sstruct._solvers.online.perceptron import PassiveAggressiveFit, PerceptronFit
from sstruct._solvers.online.subgradient import StochasticSubgradient
from sstruct.solvers import DEFAULT_SOLVERS, SOLVER_OF_NAME, BaseSolver

# Design: an estimator has parameters, documentation and fitted attributes. A Structure converts
# samples to a problem for solvers, and solutions of the decoder to labels. It has the parameters of
# the estimator as attributes, but neither the estimator nor fitted attributes: methods that need
# these take a FittedModel. Therefore, the same code scores the weights during a fit, a fitted
# estimator, and a point of a regularization path.

# For any BlockProblem: Frank-Wolfe solvers, solvers without an objective, and baselines.
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
# Solvers that support windows as blocks.
WINDOW_SOLVERS = ("mp-bcfw", "bcfw")


class Structure:
    """Base class for structures, which convert samples and labels of one kind.

    The parameters of the estimator are attributes.

    Parameters
    ----------
    estimator_name : str
        Class name of the estimator, for error messages.
    parameters : dict
        All parameters of the estimator by name.
    """

    # Specification of the fitted attributes: types, ranges, and rules for their consistency.
    state = BASE_STATE
    # Classes of the supported solvers by name.
    solvers = SOLVERS
    # Valid values of parameters by name; other parameters are checked by methods.
    valid_values: ClassVar[dict] = {
        "lam": Range(above=0, other=("auto",)),
        "pairwise_scale": Range(above=0, other=("auto",)),
        "rescaling": ("margin", "slack"),
        "search": SEARCHES,
        "fit_intercept": FLAG,
        "window_size": Range(least=1, whole=True, other=("auto", None)),
        "tol": Range(least=0),
        "max_iter": Range(least=1, whole=True),
        "max_time": Range(above=0, other=(None,)),
        "warm_start": (*FLAG, "dual", "primal"),
        "verbose": Range(least=0, whole=True, other=FLAG),
    }
    # Values of the parameter `search` that the decoder supports.
    searches = SEARCHES
    # Code for a scaler "{}" in a pipeline; None if no scaler supports the samples.
    scaling = "PerNode({})"
    # Description of X with one sample; see ExpectedInput.
    one_sample = None
    # Whether `parted_training` supports the structure. CustomStructure accepts partitions, too, but
    # sends its tasks to the cluster itself.
    fits_partitions = False
    # Whether partitions are arrays of rows instead of lists.
    samples_are_rows = False
    # Whether the methods for label probabilities are implemented.
    has_distribution = False
    # Whether the distribution has probabilities of spans.
    has_spans = False
    # Whether integer sample weights that equal the lengths of the samples raise an error.
    rejects_lengths = False
    # Whether the parameter `classes` has a list of labels for each type of nodes.
    classes_by_type = False
    # Whether a user-defined oracle completes hidden labels before the first fit.
    first_labels_of_user = False
    # Whether the samples are only one partition of the samples of the fit.
    is_part = False
    # The FittedModel of the last fit, if this one starts from its dual weights.
    last_fit = None

    # Values of parameters that some estimators do not have.
    rescaling = "margin"
    search = "auto"
    pairwise_scale = None
    class_scores = None
    prior = None

    def __init__(self, estimator_name, parameters):
        self.estimator_name, self.parameters = estimator_name, parameters
        vars(self).update(parameters)

    def with_parameters(self, **changes):
        """Return a copy with changed parameters."""
        other = type(self)(self.estimator_name, self.parameters | changes)
        other.is_part, other.last_fit = self.is_part, self.last_fit
        return other

    # Methods to implement -------------------------------------------------------------------------

    def pack(self, X, model=None):
        """Validate X and return packed samples, the input of the other methods.

        model : FittedModel whose features X must have; None in a fit from scratch
        """
        raise NotImplementedError

    def train(self, X, y, sample_weight, completion=None, model=None):
        """Validate the data of a fit and return its Training, with margin rescaling.

        The bounds of the weights are added by the caller.

        Parameters
        ----------
        X, y, sample_weight : as passed to ``fit``
        completion : Completion or None
            Labels that replace those of y. Hidden labels have been completed and do not count in
            the loss.
        model : FittedModel or None
            The model after earlier samples of ``partial_fit``.
        """
        raise NotImplementedError

    def decode(self, model, samples, known=None):
        """Return the codes of the best labelings of packed samples, given known codes."""
        raise NotImplementedError

    def truth(self, model, samples, y, sample_weight):
        """Return the codes of y, -1 for labels not seen in the fit, and the weight of each."""
        raise NotImplementedError

    def hidden(self, X, y, sample_weight):
        """Return the KnownLabels of the data of a fit, for LatentSSVM."""
        raise TypeError(
            f"LatentSSVM does not support {self.estimator_name}, whose samples have one label, "
            f"which is never hidden; fit {self.estimator_name} itself"
        )

    def complete(self, model, X, known, n_states=1):
        """Return the best codes of all labels, or states, that agree with the KnownLabels of X."""
        return self.decode(model, self.pack(X, model), known.codes)

    def known_codes(self, model, samples, y_partial):
        """Return the known codes in the `y_partial` of ``predict``, -1 if unknown."""
        raise NotImplementedError

    def axis_values(self, model):
        """Return the values along each axis of the weights, for ``to_frame``: `weight_frame`."""
        names = model.get("feature_names_in_")
        if names is None:
            names = [f"x{k}" for k in range(model.n_features_in_)]
        return {"feature": names}

    def decoded(self, model, X, y_partial=None):
        """Return packed samples, and the codes of their best labelings given known labels."""
        samples = self.pack(X, model)
        known = None if y_partial is None else self.known_codes(model, samples, y_partial)
        return samples, self.decode(model, samples, known)

    def predict(self, model, X, y_partial=None):
        """Return the output of ``predict``: the best labelings of X, given known labels."""
        return self.output(model, *self.decoded(model, X, y_partial))

    def output(self, model, samples, codes):
        """Return the labels of packed samples in the form of the input, given their codes."""
        raise NotImplementedError

    def decision_function(self, model, X):
        """Return the output of ``decision_function``: the score of each label of each node."""
        samples = self.pack(X, model)
        return self.like_input(model, samples, self.max_marginals(model, samples))

    # Methods that some structures override --------------------------------------------------------

    def check(self):
        """Raise TypeError or ValueError for parameters that `valid_values` does not check."""

    def score(self, model, samples, truth):
        """Return the score of a model; `truth` is the result of the method `truth`."""
        codes, weights = truth
        return weighted_accuracy(self.decode(model, samples) == codes, weights)

    def first_labels(self, X, y, sample_weight, known):
        """Return initial codes of all labels for LatentSSVM, or None to fit the known labels."""
        return None

    def has_label_sets(self, y):
        """Return True if y is a matrix of label sets, whose labels are the columns."""
        return False

    def distinct_labels(self, y):
        """Return the distinct labels of one partition, or None if `classes` is not required."""
        # Empty arrays may have any dtype.
        labels = concatenate_labels([own for own in y if len(own)])
        labels = as_labels(labels, self.ignore_label)
        return find_classes(labels[~is_label(labels, self.ignore_label)])

    def joined_labels(self, parts):
        """Return the parameter `classes`, given the distinct labels of each partition."""
        classes = find_classes(as_labels(concatenate_labels([own for own in parts if len(own)])))
        check_one_type(classes)
        check_reserved(self, classes)
        return classes

    def check_partitions(self, y=None):
        """Raise ValueError if a parameter is not supported for partitions of samples.

        y : the labels before they are partitioned, or None
        """

    def check_not_balanced(self, where):
        """Raise ValueError for parameters that count the labels of all samples.

        where : end of the clause "... is not supported" in the error, such as "by partial_fit"
        """
        for name in ("loss", "class_weight"):
            value = self.parameters.get(name)
            if isinstance(value, str) and value == "balanced":
                raise ValueError(
                    f'{name}="balanced" is not supported {where}, since it counts the labels of '
                    f"all samples; set {name} to numbers"
                )

    def describe(self, attributes):
        """Return fitted attributes, after updating those that depend on the weights."""
        return attributes

    # Methods for probabilities, if `has_distribution` ---------------------------------------------

    def distribution(self, model, samples, exact=True):
        """Return the BlockDistribution or IndependentNodes of packed samples.

        exact : False for the softmax of max-marginals, for each node
        """
        raise NotImplementedError(f"{self.estimator_name} defines no distribution of labelings")

    def inexact(self, model, samples):
        """Return the index of a sample without exact probabilities, and the reason, or None."""

    def observed(self, model, samples, y):
        """Return the ObservedLabels of y."""
        codes, weights = self.truth(model, samples, y, None)
        codes, is_known = np.ravel(codes), np.ravel(weights) > 0
        return ObservedLabels(
            np.where(is_known, codes, -1).astype(np.int32),
            (codes < 0) & is_known,
            self.n_nodes(model, samples),
        )

    def n_nodes(self, model, samples):
        """Return the number of nodes of each packed sample."""
        raise NotImplementedError

    def like_input(self, model, samples, values):
        """Return values for each node and label, concatenated over samples, in the input format."""
        raise NotImplementedError

    def labels_of(self, model, samples, draws):
        """Decode drawn labelings, given codes of shape (n_draws, n_nodes) for each sample."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------------

    def given_bounds(self, problem):
        """Return bounds of the weights in the layout of the problem, (2, n_weights), or None.

        These are the bounds that the parameters other than `class_scores` imply.
        """
        return None if self.bounds is None else problem.layout.padded_bounds(self.bounds)

    def narrowed_bounds(self, problem, bounds):
        """Return bounds that the structure requires, narrowed by the parameter `bounds`.

        Raises
        ------
        ValueError
            If no weight is within both bounds.
        """
        if self.bounds is not None:
            lower, upper = problem.layout.padded_bounds(self.bounds)
            bounds = np.array([np.maximum(bounds[0], lower), np.minimum(bounds[1], upper)])
        return problem.layout.padded_bounds(bounds)

    def expected_input(self, model=None):
        """Return the ExpectedInput of ``fit``, or of the methods of a fitted model."""
        if model is None:
            return ExpectedInput(self.estimator_name)
        one_sample = None if model.get("_form", "rows") == "rows" else self.one_sample
        names = model.get("feature_names_in_")
        return ExpectedInput(self.estimator_name, model.n_features_in_, names, one_sample)

    @cached_property
    def chosen_solver(self):
        """The solver object given by `solver`, directly or by name."""
        solver, names = self.solver, tuple(self.solvers)
        if isinstance(solver, BaseSolver):
            if type(solver).name not in names:
                accepted = ", ".join(SOLVER_OF_NAME[name].__name__ for name in names)
                raise ValueError(
                    f"solver is a {type(solver).__name__}, which this estimator does not support; "
                    f"expected one of {accepted}"
                )
            return solver
        if not isinstance(solver, str) or solver not in ("auto", *names):
            raise ValueError(
                f'solver must be "auto", one of {names}, or an object of sstruct.solvers, found '
                f"{shortened(solver)}"
            )
        return DEFAULT_SOLVERS[solver]

    def solver_option(self, name):
        """Return an option of the chosen solver; None if the solver has no such option."""
        return getattr(self.chosen_solver, name, None)

    @property
    def has_objective(self):
        """Whether the chosen solver minimizes the objective."""
        name = self.chosen_solver.name
        return name == "auto" or self.solvers[name].has_objective


class NodeStructure(Structure):
    """A Structure whose nodes, or samples, have one label each, from the same set of classes."""

    state = LABELING_STATE
    # Valid names of losses.
    loss_names = NAMES

    def check(self):
        loss = self.parameters.get("loss")
        if isinstance(loss, str) and loss not in self.loss_names:
            raise unknown_loss(loss, self.loss_names)
        if self.class_scores is not None:
            parse_class_scores(self.class_scores)

    def nodes_of(self, samples):
        """Return the Nodes of packed samples."""
        return samples

    def n_nodes(self, model, samples):
        return self.nodes_of(samples).lengths

    def like_input(self, model, samples, values):
        return self.nodes_of(samples).like_input(values.reshape(-1, len(model.classes_)))

    def output(self, model, samples, codes):
        return self.nodes_of(samples).like_input(model.classes_[codes])

    def labels_of(self, model, samples, draws):
        nodes = self.nodes_of(samples)
        if nodes.form == "rows":
            return object_array([model.classes_[codes[:, 0]] for codes in draws])
        shapes = map(nodes.shape_of, range(len(nodes)))
        return object_array(
            model.classes_[codes.reshape(len(codes), *shape)] for codes, shape in zip(draws, shapes)
        )

    def labels(self, y, nodes):
        """Return all labels as an array with an entry for each of the Nodes."""
        return flat_labels(y, nodes, self)

    def truth(self, model, samples, y, sample_weight):
        return self.truth_of_nodes(model.classes_, self.nodes_of(samples), y, sample_weight)

    def truth_of_nodes(self, classes, nodes, y, sample_weight):
        """Return the index of the label of each of the Nodes, and their weights."""
        labels = self.labels(y, nodes)
        weights = np.ones(len(labels))
        if sample_weight is not None:
            by_sample, by_node = check_node_weights(sample_weight, nodes)
            weights = np.repeat(by_sample, nodes.lengths) if by_node is None else by_node
        weights[is_label(labels, self.parameters.get("ignore_label"))] = 0
        return encode_truth(labels, classes, weights), weights

    def axis_values(self, model):
        return {"label": model.classes_, **super().axis_values(model)}


class Windowed:
    """Mixin for structures whose large samples are split into windows.

    Windows are blocks of the problem that overlap in free labels.
    """

    # For window_size="auto": size up to which samples are not split, and largest window size.
    auto_windows: ClassVar[tuple]

    def windows(self, can_split):
        """Return the size up to which samples are not split, and the largest window size.

        can_split : whether ``window_size="auto"`` may split these samples
        """
        if self.window_size is None:
            return np.inf, 1
        if not isinstance(self.window_size, str):
            return int(self.window_size), int(self.window_size)
        # The sizes do not depend on other samples, such as those of other partitions.
        solver = self.chosen_solver.name
        can_split &= self.rescaling == "margin" and solver in ("auto", *WINDOW_SOLVERS)
        return self.auto_windows if can_split else (np.inf, 1)

    def describe(self, attributes):
        # None if samples are not split, which removes the value of an earlier fit.
        return super().describe({"whole_objective_": None} | attributes)


def weighted_accuracy(correct, weights):
    """Return the weighted mean of `correct`: 1 or 0 for each label, or scores of partitions."""
    if not weights.any():
        raise NoNodesError("y has no labeled node in any sample with positive weight")
    return float(np.average(correct, weights=weights))
