"""The Structure of ChainSSVM, for sequences of nodes."""

from functools import cached_property

import numpy as np

from sstruct._checks.parameters import FLAG, check_number
from sstruct._estimators.chain.chain_distribution import ChainDistribution
from sstruct._estimators.chain.chain_state import CHAIN_STATE
from sstruct._estimators.chain.chain_training import LabeledChains, chain_problem, pack_chains
from sstruct._estimators.core.distribution import IndependentNodes
from sstruct._estimators.core.structure import CHAIN_SOLVERS, NodeStructure, Structure, Windowed
from sstruct._estimators.core.training import Inference, Training
from sstruct._export.exported_model import linear_model
from sstruct._input.partial import known_codes
from sstruct._input.ragged import check_not_lengths, known_labels
from sstruct._input.threads import n_threads
from sstruct._input.transition_groups import check_transitions
from sstruct._input.transition_masks import check_known
from sstruct._problems.chain._chain_problem import chain_top_k, max_marginals
from sstruct._problems.chain._edge_features import EdgeFeatureChainProblem
from sstruct._problems.chain._sparse import MIN_LABELS, decode_sparse, sparse_transitions
from sstruct._problems.chain.chain_arguments import (
    ChainModel,
    ChainRanges,
    NoLabelingError,
    number_of_groups,
    weights_of_pairs,
)
from sstruct._problems.core._decode import decode
from sstruct._problems.core._rows import scored_rows

# Minimum number of labels for which the warning of a fit stopped by a limit recommends GDMM.
MIN_ADVISED_LABELS = 200


class ChainStructure(Windowed, NodeStructure):
    """The Structure of ChainSSVM."""

    state = CHAIN_STATE
    solvers = CHAIN_SOLVERS
    valid_values = Structure.valid_values | {"boundaries": FLAG}
    searches = ("auto", "bisecting", "binary")
    one_sample = "sequences: one sequence is a list of one array, [X]"
    fits_partitions = rejects_lengths = has_distribution = has_spans = True
    auto_windows = 1000, 200  # (benchmarks/notes/chains.md)
    # Whether spans are the segments of the model, not spans of labels in a scheme such as BIO.
    spans_are_segments = False
    # The class of the training data, and the name of the decoder.
    labeled, decoder = LabeledChains, "viterbi"
    # Function that returns the problem of chains, with the arguments of `chain_problem`.
    new_problem = staticmethod(chain_problem)
    # Beginning of the error for a sequence without an allowed labeling.
    nothing_allowed = "transition_mask forbids every labeling of"

    def check(self):
        super().check()
        if self.ties_transitions:
            check_transitions(self.transitions)

    @cached_property
    def ties_transitions(self):
        """Whether `transitions` has groups that share a weight, and is neither True nor False."""
        return not isinstance(self.transitions, bool | np.bool_)

    @cached_property
    def has_transitions(self):
        """Whether transitions have weights, which they may share."""
        return self.ties_transitions or bool(self.transitions)

    def pack(self, X, model=None):
        return pack_chains(self.expected_input(model), X, model)

    def train(self, X, y, sample_weight, completion=None, model=None):
        nodes = self.pack(X, model)
        data = self.labeled(self, nodes, y, sample_weight, completion)
        if self.chosen_solver.name == "gdmm":
            if nodes.n_edge_features:
                raise ValueError(
                    "edge features are not supported by solver='gdmm', which searches one table of "
                    "transitions for all steps; use solver='mp-bcfw' or 'bcfw'"
                )
            if data.groups is not None:
                raise ValueError(
                    "transitions that share weights are not supported by solver='gdmm'; use "
                    "transitions=True, or solver='mp-bcfw' or 'bcfw'"
                )
        problem = data.problem(self)
        many = data.has_many_labels
        advised = problem.n_labels >= MIN_ADVISED_LABELS
        supported = (many or advised) and self._supports_gdmm(problem)
        return Training(
            problem,
            data.sample_weight,
            data.total_weight,
            data.trained,
            data.data(),
            Inference(self.decoder),
            {
                "n_features_in_": nodes.n_features,
                "feature_names_in_": nodes.feature_names,
                "classes_": data.classes,
                # The meaning of w_ must not change if a parameter is set after the fit.
                "_bias": self.fit_intercept,
                "_boundaries": self.boundaries,
                "_transitions": self.has_transitions,
                "_masks": data.masks,
                "transition_groups_": data.groups,
                "_form": nodes.form,
                "n_edge_features_in_": nodes.n_edge_features or None,
                "edge_feature_names_in_": nodes.edge_names,
                "_class_scores": data.class_scores,
                **data.attributes,
            },
            features=(nodes.flat,) if nodes.edge_rows is None else (nodes.flat, nodes.edge_rows),
            empty=nodes.empty,
            data_warnings=self._data_warnings(nodes),
            whole=problem.joined if problem.windowed else None,
            auto_solver="gdmm" if supported and many else "mp-bcfw",
            alternative="gdmm" if supported and advised else None,
        )

    def _supports_gdmm(self, problem):
        unsupported = any(self.solvers["gdmm"].unsupported(self.parameters))
        unsupported |= isinstance(problem, EdgeFeatureChainProblem) or problem.tied
        # With a mask, certificates of GDMM would require Viterbi decoding.
        return not unsupported and self.transition_mask is None and self.has_transitions

    def _data_warnings(self, nodes):
        """Return the warning of ``fit`` if no sequence has a transition to learn from."""
        if not self.has_transitions or nodes.offsets[-1] < 2 or nodes.lengths.max() > 1:
            return ()
        if nodes.form == "rows":
            reason = "X is 2-D, so each row is a sequence of one node"
            advice = "If the rows are one sequence, such as a time series, call fit([X], [y])"
        else:
            reason = "each sequence in X has one node"
            advice = (
                "If they are the nodes of one sequence, join them and call fit([X], [y]) with X of "
                "shape (L, n_features) and y of shape (L,)"
            )
        message = (
            f"{self.estimator_name} learns no transitions: {reason}. {advice}. If they are "
            "independent, use MulticlassSSVM or set transitions=False."
        )
        return (message,)

    def decode(self, model, samples, known=None):
        if known is not None:
            check_known(known, samples.offsets, *model._masks, model.classes_)
        return self._decoded(model, samples, known)

    def known_codes(self, model, samples, y_partial):
        return known_codes(y_partial, samples, model.classes_, self.ignore_label)

    def hidden(self, X, y, sample_weight):
        nodes = self.pack(X)
        check_not_lengths(sample_weight, nodes.lengths)
        return known_labels(self, nodes, self.labels(y, nodes), sample_weight)

    def complete(self, model, X, known, n_states=1):
        nodes = self.pack(X, model)
        edge, boundary = (None if m is None else m[..., ::n_states] for m in model._masks)
        edge = None if edge is None else edge[::n_states]
        check_known(known.codes, nodes.offsets, edge, boundary, model.classes_[::n_states])
        return self._decoded(model, nodes, known.codes, n_states)

    def axis_values(self, model):
        names = model.get("edge_feature_names_in_")
        if names is None:
            names = [f"edge{g}" for g in range(model.get("n_edge_features_in_") or 0)]
        values = super().axis_values(model) | {"next_label": model.classes_}
        groups = model.get("transition_groups_")
        if groups is not None:
            values["group"] = list(range(number_of_groups(groups)))
        return values | {"edge_feature": {"feature": names}}

    def describe(self, attributes):
        attributes = super().describe(attributes)
        if self.as_sparse(self.state.layout(attributes), attributes) is not None:
            attributes["inference_"] += "; predictions: sparse viterbi (exact)"
        return attributes

    def exported(self, model):
        """Return the ExportedModel of a FittedModel."""
        if model.get("n_edge_features_in_"):
            raise ValueError(
                "models with edge features cannot be exported or decode a stream; fit ChainSSVM "
                "to sequences without them, or add them to the features of the nodes"
            )
        allowed_next, allowed_boundaries = model._masks
        return linear_model(
            "chain",
            model,
            start=model.table("start"),
            end=model.table("end"),
            transitions=transition_weights(model) if model._transitions else None,
            allowed_next=allowed_next,
            allowed_boundaries=allowed_boundaries,
        )

    def max_marginals(self, model, nodes):
        """Return, for each node and label, the score of the best labeling with it."""
        if nodes.offsets[-1] == 0:
            return np.empty((0, len(model.classes_)))
        return max_marginals(self.decoder_of(model, nodes), model._w)

    def top_k(self, model, nodes, k, known=None):
        """Return the codes and scores of the k best labelings of each sequence.

        known : codes that the labelings agree with, -1 if unknown; they must be possible
        """
        ranked = [(np.empty((1, 0), dtype=np.int32), np.zeros(1)) for _ in range(len(nodes))]
        some = np.flatnonzero(nodes.lengths)
        if len(some):
            k = min(int(k), np.iinfo(np.intp).max)
            try:
                results = self.best_codes(self.decoder_of(model, nodes, known), model._w, k)
            except NoLabelingError as error:
                raise self._no_labeling(error, nodes, known) from None
            for i, pair in zip(some.tolist(), results):
                ranked[i] = pair
        return ranked

    def best_codes(self, problem, w, k):
        """Return the codes and scores of the k best labelings of each block of a problem."""
        return chain_top_k(problem, w, k)

    def agree(self, model, known, codes):
        """Return whether the code of a labeling agrees with the known code of each node."""
        return (known < 0) | (known == codes)

    def labelings(self, model, nodes, codes):
        """Return the labels of labelings of one sequence, given their codes (m, L)."""
        return model.classes_[codes[:, 0] if nodes.form == "rows" else codes]

    def ranked(self, model, X, k, **options):
        """Return the output of ``predict_top_k``.

        options : keyword arguments of `labelings`
        """
        check_number("k", k, least=1, whole=True)
        nodes = self.pack(X, model)
        labels, scores = np.empty((2, len(nodes)), dtype=object)
        for i, (codes, values) in enumerate(self.top_k(model, nodes, k)):
            labels[i] = self.labelings(model, nodes, codes, **options)
            scores[i] = values
        return labels, scores

    def distribution(self, model, nodes, exact=True):
        if not exact:
            return IndependentNodes(self.max_marginals(model, nodes))
        return self.exact_distribution(model, nodes)

    def exact_distribution(self, model, nodes):
        """Return the BlockDistribution of packed sequences."""

        def problem_given(codes):
            return self.decoder_of(model, nodes, codes) if nodes.offsets[-1] else None

        return ChainDistribution(problem_given, model, nodes.lengths, self.n_jobs)

    def decoder_of(self, model, nodes, known=None, n_states=1):
        """Return the problem of decoding, given known labels.

        Its blocks are the nonempty sequences; there must be at least one.
        """
        start, length = nodes.offsets[:-1], nodes.lengths
        if np.count_nonzero(length) < len(length):
            start, length = start[length > 0], length[length > 0]
        chains = ChainRanges(start, length)
        return self.new_problem(
            nodes,
            scored_rows(nodes.flat, model.get("_class_scores")),
            chains,
            self.chain_model(model),
            known=known,
            states_per_label=n_states,
        )

    def chain_model(self, model):
        """Return the ChainModel of a FittedModel."""
        terms = model._bias, model._boundaries, model._transitions
        groups = model.get("transition_groups_")
        return ChainModel(len(model.classes_), *terms, *model._masks, groups)

    def _decoded(self, model, nodes, known=None, n_states=1):
        """Return the labels of all nodes."""
        if nodes.offsets[-1] == 0:
            return np.empty(0, dtype=np.int32)
        problem, w = self.decoder_of(model, nodes, known, n_states), model._w
        # Reading the number of threads from joblib takes as long as decoding a short sequence.
        threads = 1 if problem.n_blocks == 1 else n_threads(self.n_jobs)
        transitions = self.as_sparse(problem.layout, vars(model))
        try:
            if transitions is None:
                return decode(problem, w, threads)
            return decode_sparse(problem, w, transitions, threads)
        except NoLabelingError as error:
            raise self._no_labeling(error, nodes, known) from None

    def as_sparse(self, layout, attributes):
        """Return the transitions as sparse rows if decoding with them is faster, or None."""
        if len(attributes["classes_"]) < MIN_LABELS:
            return None
        tied = attributes.get("transition_groups_") is not None
        if tied or "edge" not in layout.blocks or "edge_feature" in layout.blocks:
            return None
        if any(mask is not None for mask in attributes["_masks"]):
            return None
        return sparse_transitions(layout.table(attributes["_w"], "edge"))

    def _no_labeling(self, error, nodes, known):
        """Return the error for a sequence without an allowed labeling."""
        i = int(np.flatnonzero(nodes.lengths)[error.block])
        given = "" if known is None else ", with its known labels"
        return ValueError(f"{self.nothing_allowed} X[{i}], which has {error.length} nodes{given}")


def transition_weights(model):
    """Return the weight of each transition, (K, K), of a FittedModel."""
    weights, groups = model.table("edge"), model.get("transition_groups_")
    return weights if groups is None else weights_of_pairs(weights, groups)
