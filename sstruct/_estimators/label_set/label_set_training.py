"""Training data of label sets, as blocks of a MultilabelProblem."""

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import real_array
from sstruct._checks.shown import shortened
from sstruct._estimators.core.lam_from_scale import TrainedNodes, cost_spread
from sstruct._estimators.core.sample_data import SampleData, first_rows
from sstruct._estimators.core.training import Training
from sstruct._estimators.label_set.interactions import (
    AUTO_ENUMERATES,
    DECODERS,
    check_closed,
    decoding_method,
    interactions,
    is_learned,
    label_decoder,
)
from sstruct._input.class_scores import score_columns
from sstruct._input.frames import label_names
from sstruct._input.indicator import LATENT, check_label_names, label_matrix, output_kind
from sstruct._input.label_constraints import check_satisfied, constraint_rows
from sstruct._input.labels import training_classes
from sstruct._input.losses import label_costs, label_set_weights
from sstruct._input.ragged import NoNodesError, check_weights
from sstruct._problems.core._rows import scored_rows
from sstruct._problems.label_set._mixtures import MixtureProblem
from sstruct._problems.label_set._multilabel import MultilabelProblem

# Mean class weight of samples below which a fit warns. With "balanced" it is about 1 for a few
# labels, but an absent rare label has a weight of about 0.5, and the product of 100 is 1e-30.
SMALL_WEIGHT = 0.01


class MultilabelTraining:
    """Validated training data of a MultilabelSSVM.

    Parameters
    ----------
    structure : LabelSetStructure
    rows : Nodes
    y, sample_weight : as passed to ``fit``
    completion : Completion or None
        Labels that replace those in y; rows without a known label are not used in training.
    edges : ndarray of shape (E, 2) or None
        The learned edges of earlier samples.
    """

    def __init__(self, structure, rows, y, sample_weight, completion=None, edges=None):
        self.structure, self.rows, self.output = structure, rows, output_kind(y)
        Y = label_matrix(
            y if completion is None else completion.codes, len(rows), for_unknown=LATENT
        )
        K = Y.shape[1]
        self.classes = column_names(structure.classes, y, K)
        self.constraints = constraint_rows(structure.constraints, self.classes)
        self.class_scores = structure.class_scores
        if self.class_scores is not None:
            self.class_scores = score_columns(self.class_scores, rows, self.classes)
        weights = check_weights(sample_weight, len(rows))
        used, self.in_loss = weights > 0, None
        if completion is not None:
            _check_completed(structure)
            used &= completion.in_loss.any(axis=1)
            if not used.any():
                raise NoNodesError("y has no known label in any sample with positive weight")
            self.in_loss = completion.in_loss[used]
        Y, weights = Y[used], weights[used]
        self.known = Y
        if self.in_loss is not None:
            self.known = sparse.csr_matrix(Y.toarray() * self.in_loss)
        self._set_edges(edges, weights)
        self.method = decoding_method(
            structure.inference,
            K,
            self.edges,
            self.parents,
            self._is_attractive(),
            relaxes=structure.chosen_solver.name == "gdmm",
            constrained=self.constraints is not None,
        )
        self.decoder = self._decoder(K)  # checks `edges`
        if self.parents is not None:
            check_closed(Y, self.parents, np.flatnonzero(used))
        if self.constraints is not None:
            check_satisfied(Y, self.constraints, structure.constraints, np.flatnonzero(used))
        self.total = float(weights.sum())
        self._set_costs(weights, used)
        if self._enumerates_for_slack(K):
            self.method = "enumeration"
            self.decoder = self._decoder(K)
        weights = weights * label_set_weights(structure.class_weight, Y.tocsc(), weights)
        block_weight = weights / self.total
        self.data_warnings = ()
        if block_weight.sum() < SMALL_WEIGHT:
            self.data_warnings = (
                f"class_weight gives samples a mean weight below {SMALL_WEIGHT:g}, the product of "
                "the weights of their labels, so lam dominates the objective, and w_ is near 0. "
                'Use class_weight=None, with loss="balanced" for rare labels.',
            )
        kept, self.flat = blocks_of_weight(structure.class_weight, block_weight, rows, used)
        self.Y, self.weights = Y[kept], weights[kept]

    def _set_edges(self, edges, weights):
        """Set the pairs of labels with weights, and the parents of labels."""
        structure, K = self.structure, self.known.shape[1]
        given = structure.edges
        if edges is not None and is_learned(given, K):
            given = edges
        if structure.is_part and is_learned(given, K):
            raise ValueError(
                f"edges={given!r} chooses pairs of {K} labels from all samples, which is "
                "not supported with partitions: set edges to an array of pairs or None"
            )
        self.edges, self.parents = interactions(given, self.known, weights, self.in_loss)

    def _set_costs(self, weights, used):
        """Set the costs of errors, and the data for ``lam="auto"``."""
        structure, rows = self.structure, self.rows
        on = np.asarray(self.known.T @ weights).ravel()
        total = self.total if self.in_loss is None else weights @ self.in_loss
        self.cost = label_costs(structure.loss, on, total)
        off_cost, on_cost = self.cost
        errors = (off_cost * (total - on) + on_cost * on).mean() / self.total
        spread = cost_spread(self.cost, np.array([total - on, on]))
        row_weight = np.zeros(len(rows))
        row_weight[used] = weights
        bias = structure.fit_intercept
        # Without edges, labels are separate problems, and lam must not depend on the other labels.
        self.trained = TrainedNodes(
            rows.flat, row_weight, 1, float(errors), bias, spread, label_sets=True
        )

    def _decoder(self, K):
        return label_decoder(self.method, K, self.edges, self.parents, constraints=self.constraints)

    def _enumerates_for_slack(self, K):
        """Whether slack rescaling has an exact search only by enumeration.

        The other decoders search directly only if every error costs the same.
        """
        structure = self.structure
        chosen = structure.inference != "auto" or structure.search != "auto"
        if structure.rescaling == "margin" or chosen or self.parents is not None:
            return False
        uniform = self.in_loss is None and (self.cost == self.cost[0, 0]).all()
        return K <= AUTO_ENUMERATES and not uniform

    def _is_attractive(self):
        """Whether bounds ensure that the weight of each edge is nonnegative."""
        bounds, E = self.structure.bounds, len(self.edges)
        if self.structure.pairwise == "full" or bounds is None:
            return False
        if isinstance(bounds, str):
            return True
        bounds = real_array(bounds, "bounds")
        pair = bounds.ndim == 2 and len(bounds) == 2
        return pair and bool((bounds[0, bounds.shape[1] - E :] >= 0).all())

    def training(self):
        """Return the Training."""
        structure, full = self.structure, self.structure.pairwise == "full"
        lists = self.Y.indptr, self.Y.indices
        problem = MultilabelProblem(
            scored_rows(self.flat, self.class_scores, compress=True),
            lists,
            self.decoder,
            full=full,
            cost=self.cost,
            bias=structure.fit_intercept,
            in_loss=self.in_loss,
        )
        if structure.rescaling == "slack" and self.decoder.relaxed:
            # The most violated labeling is then a mixture of two.
            problem = MixtureProblem(problem)
        model = {"method": self.method, "full": full, "output": self.output, "K": self.Y.shape[1]}
        parents = np.empty(0, dtype=np.int64) if self.parents is None else self.parents
        # Arrays that define codes and planes of working sets, in addition to the data.
        if self.constraints is not None:
            parents = self.constraints
        codes = [np.array([full, self.decoder.relaxed, self.Y.shape[1]])]
        if self.class_scores is not None:
            codes.append(self.class_scores)
        return Training(
            problem,
            self.weights,
            self.total,
            self.trained,
            self._data([self.edges, parents, *codes]),
            DECODERS[self.method],
            {
                "n_features_in_": self.rows.n_features,
                "feature_names_in_": self.rows.feature_names,
                "classes_": self.classes,
                "edges_": self.edges,
                # The meaning of w_ must not change if a parameter is set after the fit.
                "_bias": structure.fit_intercept,
                "_model": model | {"parents": self.parents, "constraints": self.constraints},
                "_class_scores": self.class_scores,
            },
            features=(self.flat,),
            data_warnings=self.data_warnings,
        )

    def _data(self, common):
        """Return the SampleData, which identifies the data of a fit."""
        flat, Y, hint = self.flat, self.known, ""
        if self.in_loss is not None:
            common = [*common, np.packbits(self.in_loss)]
        edges = self.structure.edges
        if is_learned(edges, Y.shape[1]):
            hint = f' edges="{edges}" depends on all data; set edges=model.edges_ to keep them.'
        return SampleData(
            Y.shape[0],
            common,
            lambda n: [*first_rows(flat, n), Y.indptr[: n + 1], Y.indices[: Y.indptr[n]]],
            hint=hint,
        )


def _check_completed(structure):
    """Raise an error if a parameter requires all labels of a row, some of which are hidden."""
    if structure.chosen_solver.name == "gdmm":
        raise ValueError(
            "solver='gdmm' does not support hidden labels; use solver='mp-bcfw' or 'bcfw'"
        )
    if structure.class_weight is not None:
        raise ValueError(
            "class_weight requires all labels of a row, but some are hidden; use "
            "class_weight=None, or pass sample_weight"
        )


def blocks_of_weight(class_weight, block_weight, rows, used):
    """Return which of the `used` samples have a positive weight, and their features."""
    # Samples of weight 0 have no hinge loss, and solvers require positive weights.
    kept = block_weight > 0
    if not kept.any():
        raise ValueError(f"class_weight gives every sample weight 0: {shortened(class_weight)}")
    used = used.copy()
    used[used] = kept
    return kept, rows.flat if used.all() else rows.flat[used]


def column_names(classes, y, n_labels):
    """Return the labels: the parameter `classes`, or the names or numbers of the columns of y."""
    given = label_names(y) if classes is None else classes
    if given is None:
        return np.arange(n_labels)
    if classes is None:
        twice = [name for name in given if given.count(name) > 1]
        if twice:
            raise ValueError(
                f"y has several columns {shortened(twice[0])}, expected distinct names of labels"
            )
    # Raises an error for duplicates and for values that are not lists.
    names = training_classes(given, np.arange(0), np.zeros(0, dtype=bool), int)
    if len(names) != n_labels:
        raise ValueError(f"classes has {len(names)} labels, but y has {n_labels} columns")
    check_label_names(y, names)
    return names


def prediction_problem(rows, model, known=None, method=None):
    """Return the problem of decoding packed rows with a FittedModel, given known labels.

    method : name of the decoder; default: that of the fit
    """
    settings, edges = model._model, model.edges_
    decoder = label_decoder(
        method or settings["method"],
        settings["K"],
        edges,
        settings["parents"],
        whole=True,
        constraints=settings["constraints"],
    )
    return MultilabelProblem(
        scored_rows(rows.flat, model.get("_class_scores"), compress=True),
        None,
        decoder,
        full=settings["full"],
        bias=model._bias,
        known=known,
    )
