"""The Structure of DependencySSVM, for sentences whose tokens have heads."""

import numpy as np

from sstruct._checks.parameters import FLAG
from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import Flag, Labels, Number, Unexpected
from sstruct._estimators.core.lam_from_scale import TrainedNodes
from sstruct._estimators.core.sample_data import SampleData, first_rows
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.core.training import Inference, Training
from sstruct._estimators.dependency.sentence_samples import (
    UNKNOWN,
    pack_sentences,
    pack_trees,
)
from sstruct._input.completion import KnownLabels
from sstruct._input.per_sample import PerSample
from sstruct._input.ragged import NoNodesError, check_weights
from sstruct._input.threads import n_threads
from sstruct._problems.core._decode import decode
from sstruct._problems.dependency._dependency_problem import DependencyProblem, arc_scores
from sstruct._problems.dependency.dependency_arguments import (
    InvalidTreeError,
    NoTreeError,
    dependency_layout,
)

SIZES = ("n_features_in_", "_label_features")


def _no_tree(row, attributes, known):
    """Return the error for a sentence whose arcs contain no tree."""
    kind = "projective tree" if attributes["_projective"] else "tree"
    given = "" if known is None else " that has the known heads"
    root = " with one child of the root" if attributes["_single_root"] else ""
    return ValueError(f"the arcs of X[{row}] contain no {kind}{root}{given}")


def layout_of(state):
    """Return the WeightLayout of fitted attributes."""
    classes, n_features = state.get("classes_"), int(state["n_features_in_"])
    n_labels = 0 if classes is None else len(classes)
    return dependency_layout(n_features, n_labels, int(state["_label_features"]) or n_features)


def labels_agree(state):
    """Raise Unexpected unless there are classes if, and only if, arcs have labels."""
    if bool(state["_labeled"]) != (state.get("classes_") is not None):
        raise Unexpected("classes_", "inconsistent with _labeled", "labels of arcs if it is True")


DEPENDENCY_STATE = BASE_STATE.extended(
    {
        "n_features_in_": Number(whole=True, least=1),
        "_label_features": Number(whole=True, least=0),  # 0: the features of arcs
        "_labeled": Flag(),
        "_projective": Flag(),
        "_single_root": Flag(),
        "classes_": Labels(size="K", optional=True),
    },
    rules=(labels_agree,),
    layout=layout_of,
)


class DependencyStructure(Structure):
    """The Structure of DependencySSVM."""

    state = DEPENDENCY_STATE
    valid_values = Structure.valid_values | {
        "loss": ("hamming-count", "hamming"),
        "projective": FLAG,
        "single_root": FLAG,
        "labeled": FLAG,
    }
    scaling = None

    def pack(self, X, model=None):
        return pack_sentences(X, None if model is None else [vars(model)[name] for name in SIZES])

    def train(self, X, y, sample_weight, completion=None, model=None):
        packed = self.pack(X, model)
        classes, known, weights = self._known(packed, y, sample_weight)
        by_sample = packed.split(known)
        n_known = np.array([(own != UNKNOWN).sum() for own in by_sample])
        codes = known if completion is None else completion.codes
        is_known = known != UNKNOWN if completion is None else completion.in_loss
        used = (weights > 0) & (n_known > 0)
        if completion is None:  # only whole trees are used in training
            used &= n_known == packed.n_tokens
        if not used.any():
            raise NoNodesError(
                "y has no sentence of positive weight whose heads are all known"
                + ("" if self.ignore_label is None else "; LatentSSVM completes unknown heads")
            )
        attributes = {
            "n_features_in_": packed.sizes[0],
            "_label_features": packed.sizes[1],
            "classes_": classes,
            # Predictions must not change if a parameter is set after the fit.
            "_labeled": bool(self.labeled),
            "_projective": bool(self.projective),
            "_single_root": bool(self.single_root),
        }
        chosen, tokens = packed.of_samples(used), np.repeat(used, packed.n_tokens)
        counts = self.loss == "hamming-count"
        codes, in_loss = codes[tokens], None
        if completion is not None:
            in_loss = is_known[tokens]
            codes = self._trees(attributes, chosen, codes, in_loss, np.flatnonzero(used))
        given = {"loss_scale": None if counts else 1 / n_known[used], "in_loss": in_loss}
        try:
            problem = self._problem(attributes, chosen, labels=codes, **given)
        except InvalidTreeError as error:
            row = np.flatnonzero(used)[error.block]
            raise ValueError(f"y[{row}] {error.reason}") from None
        total = float(weights[used].sum())
        n_tokens = float(weights[used] @ n_known[used])
        nodes = TrainedNodes(
            packed.features,
            np.repeat(weights * used, packed.n_arcs),
            n_tokens / total,
            1.0 if counts else total / n_tokens,
            bias=False,
        )
        others = () if packed.label_features is None else (packed.label_features,)
        decoder = "Eisner" if self.projective else "maximum spanning tree"
        return Training(
            problem,
            weights[used],
            total,
            nodes,
            self._data(packed, known, used, attributes),
            Inference(decoder),
            attributes,
            features=(packed.features, *others),
            empty=np.flatnonzero(packed.n_tokens == 0),
        )

    def _known(self, packed, y, sample_weight):
        """Return the labels, the codes of all tokens and the weights of the samples of a fit."""
        trees = pack_trees(y, packed, self.labeled, self.ignore_label)
        weights = check_weights(sample_weight, len(packed))
        if not (np.repeat(weights, packed.n_tokens) * (trees.heads != UNKNOWN)).any():
            raise NoNodesError(
                "y has no token with a known head in any sample with positive weight"
            )
        classes = trees.classes(weights > 0, packed)
        return classes, trees.codes(classes), weights

    def _problem(self, attributes, packed, **given):
        """Return the problem of packed sentences, which all have tokens."""
        classes = attributes.get("classes_")
        return DependencyProblem(
            packed.features,
            packed.arcs(),
            label_features=packed.label_features,
            n_labels=0 if classes is None else len(classes),
            projective=bool(attributes["_projective"]),
            single_root=bool(attributes["_single_root"]),
            **given,
        )

    def _trees(self, attributes, packed, codes, is_known, rows):
        """Return completions that are trees.

        The codes, such as initial completions by another estimator, may not be trees. Known codes
        remain unchanged.

        rows : ndarray of int
            Index in X of each sentence.
        """
        codes = codes.copy()
        problem = self._problem(attributes, packed)
        wrong = np.zeros(len(packed), dtype=bool)
        parts = packed.split(codes)
        for i, own in enumerate(parts):
            try:
                problem.check_code(i, np.ascontiguousarray(own, dtype=np.int32))
            except ValueError:
                wrong[i] = True
        if wrong.any():
            tokens = np.repeat(wrong, packed.n_tokens)
            known = np.where(is_known, codes, UNKNOWN)[tokens]
            rest = self._problem(attributes, packed.of_samples(wrong), known=known)
            try:
                codes[tokens] = decode(rest, np.zeros(rest.n_weights))
            except NoTreeError as error:
                row = rows[np.flatnonzero(wrong)[error.block]]
                raise _no_tree(row, attributes, known) from None
        return codes.astype(np.int32)

    def _data(self, packed, known, used, attributes):
        arc_ends, offsets = np.append(0, np.cumsum(packed.n_arcs)), packed.offsets

        def arrays_of_first(n):
            a, t = arc_ends[n], offsets[n]
            others = packed.label_features
            return [
                *first_rows(packed.features, a),
                *([] if others is None else first_rows(others, a)),
                *(packed.head[:a], packed.dependent[:a], packed.n_tokens[:n]),
                *(known[:t], used[:n]),
            ]

        classes = attributes["classes_"]
        common = [np.array([attributes["_projective"], attributes["_single_root"]])]
        common += [] if classes is None else [classes.astype(object)]
        return SampleData(len(packed), common, arrays_of_first, lambda n: used[:n].sum())

    def decode(self, model, samples, known=None):
        used = samples.n_tokens > 0
        out = np.empty(int(samples.n_tokens.sum()), dtype=np.int32)
        if not used.any():
            return out
        problem = self._problem(vars(model), samples.of_samples(used), known=known)
        try:
            out[:] = decode(problem, model._w, n_threads(self.n_jobs))
        except NoTreeError as error:
            raise _no_tree(np.flatnonzero(used)[error.block], vars(model), known) from None
        return out

    def output(self, model, samples, codes):
        """Return the heads of each sample, or pairs of heads and labels."""
        classes = model.get("classes_")
        if classes is None:
            return PerSample.from_items(own.astype(np.intp) for own in samples.split(codes))
        heads, labels = np.divmod(codes, len(classes))
        parts = zip(samples.split(heads), samples.split(classes[labels]), strict=True)
        return PerSample.from_items((own.astype(np.intp), names) for own, names in parts)

    def decision_function(self, model, X):
        """Return a table (tokens, tokens + 1) of the scores of the arcs of each sample."""
        samples = self.pack(X, model)
        used, out = samples.n_tokens > 0, []
        if used.any():
            problem = self._problem(vars(model), samples.of_samples(used))
            out = arc_scores(problem, model._w)
        tables = iter(out)
        items = (next(tables) if n else np.empty((0, 1)) for n in samples.n_tokens)
        return PerSample.from_items(items)

    def truth(self, model, samples, y, sample_weight):
        trees = pack_trees(y, samples, model._labeled, self.ignore_label)
        codes = trees.codes(model.get("classes_"))
        weights = check_weights(sample_weight, len(samples))
        return codes, np.repeat(weights, samples.n_tokens) * (codes != UNKNOWN)

    def known_codes(self, model, samples, y_partial):
        marker = -1 if self.ignore_label is None else self.ignore_label
        trees = pack_trees(y_partial, samples, model._labeled, marker, "y_partial")
        codes, classes = trees.codes(model.get("classes_")), model.get("classes_")
        unseen = np.flatnonzero(codes < UNKNOWN)
        if len(unseen):
            i = int(np.searchsorted(samples.offsets, unseen[0], side="right")) - 1
            raise ValueError(
                f"y_partial[{i}] has the label {trees.labels[unseen[0]]!r}, expected one of "
                f"{classes.tolist()}"
            )
        return codes

    def hidden(self, X, y, sample_weight):
        packed = self.pack(X)
        _, codes, weights = self._known(packed, y, sample_weight)
        used = weights > 0
        used &= [bool((own != UNKNOWN).any()) for own in packed.split(codes)]
        return KnownLabels(codes, np.repeat(used, packed.n_tokens), warm=False)

    def first_labels(self, X, y, sample_weight, known):
        packed = self.pack(X)
        parts = packed.split(np.where(known.trained, known.codes, 0))
        whole = [len(own) and not (own == UNKNOWN).any() for own in parts]
        trained = np.array([len(own) and own.all() for own in packed.split(known.trained)])
        if (trained & whole).any():
            return None
        return np.maximum(known.codes, 0)  # the first fit replaces those that are not trees

    def axis_values(self, model):
        # Without labels no weight depends on the number of label features, which is not validated.
        sizes = model.n_features_in_, model._label_features if model._labeled else 0
        features, others = ([f"x{k}" for k in range(size)] for size in sizes)
        return {
            "feature": features,
            "label": model.get("classes_"),
            "label_feature": {"feature": others or features},
        }
