"""The Structure of MatchingSSVM, for rows that are matched to columns."""

from contextlib import contextmanager

import numpy as np

from sstruct._checks.parameters import FLAG
from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import Flag, Number
from sstruct._estimators.core.lam_from_scale import TrainedNodes
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.core.training import Inference, Training
from sstruct._estimators.custom.oracle_adapters import PythonOracleAdapter
from sstruct._estimators.custom.oracle_samples import CallOptions, OracleSamples
from sstruct._estimators.matching.matching_oracle import (
    Matching,
    MatchingOracle,
    best_columns,
    matching_layout,
)
from sstruct._estimators.matching.matching_samples import (
    UNKNOWN,
    pack_matches,
    pack_matchings,
)
from sstruct._input.completion import KnownLabels
from sstruct._input.per_sample import PerSample
from sstruct._input.ragged import NoNodesError, check_weights

SIZES = ("n_features_in_", "_row_features", "_column_features")


def layout_of(state):
    """Return the WeightLayout of fitted attributes."""
    return matching_layout(*(int(state[name]) for name in SIZES), bool(state["_bias"]))


MATCHING_STATE = BASE_STATE.extended(
    {
        "n_features_in_": Number(whole=True, least=1),
        "_row_features": Number(whole=True, least=0),
        "_column_features": Number(whole=True, least=0),
        "_bias": Flag(),
        "_allow_unmatched": Flag(),
    },
    layout=layout_of,
)


def extended(sample, codes, is_known):
    """Return a completion with as many pairs as ``allow_unmatched=False`` requires.

    Initial completions, by another estimator, may have too few. Known codes are kept.
    """
    if np.count_nonzero(codes > 0) >= min(sample.shape):
        return codes
    gain = np.full(sample.shape[0] * sample.shape[1], -np.inf)
    gain[sample.places] = 0
    try:
        columns = np.where(is_known, codes - 1, -2)
        return best_columns(gain.reshape(sample.shape), False, columns) + 1
    except ValueError:  # the known codes allow too few; `_check_size` raises an error
        return codes


@contextmanager
def named_sample(i):
    """Add the name of sample i to a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"X[{i}]: {error}") from None


class MatchingStructure(Structure):
    """The Structure of MatchingSSVM."""

    state = MATCHING_STATE
    valid_values = Structure.valid_values | {
        "loss": ("hamming-count", "hamming"),
        "allow_unmatched": FLAG,
    }
    scaling = None
    decoder = "linear assignment"

    def pack(self, X, model=None):
        return pack_matchings(X, None if model is None else [vars(model)[name] for name in SIZES])

    def train(self, X, y, sample_weight, completion=None, model=None):
        packed = self.pack(X, model)
        codes = known = pack_matches(y, packed, self.ignore_label)
        weights = check_weights(sample_weight, len(packed))
        n_known = np.array([(own >= 0).sum() for own in packed.split(known)])
        used = (weights > 0) & (n_known > 0)
        if not used.any():
            raise NoNodesError(
                "y has no row with a known column in any sample with positive weight"
            )
        weights = weights * used
        packed = self._prepared(packed, used)
        in_loss = known >= 0
        if completion is not None:
            codes, in_loss = completion.codes, completion.in_loss
        samples, truths = list(packed.samples), []
        parts = zip(packed.split(codes), packed.split(in_loss), n_known, strict=True)
        for i, (own, counts, n) in enumerate(parts):
            costs = np.full(len(own), 1.0 if self.loss == "hamming-count" else 1 / max(n, 1))
            if completion is not None and used[i] and not self.allow_unmatched:
                own = extended(samples[i], own, counts)
            kept = own != UNKNOWN
            if used[i] and not kept.all():
                samples[i] = self._select_rows(i, samples[i], kept)
            truths.append(Matching(own[kept] - 1, (costs * counts)[kept]))
            if used[i]:
                self._check_size(i, samples[i], truths[i])
        attributes = self._attributes(packed)
        oracle = PythonOracleAdapter(self._oracle(attributes))
        options = CallOptions(self.n_jobs, None, searches=False)
        problem, data = oracle.problem(OracleSamples(samples, truths), weights, options)
        total = float(weights[used].sum())
        n_rows = float(weights[used] @ n_known[used])
        nodes = TrainedNodes(
            *self._features_and_weights(packed, weights),
            n_rows / total,
            1.0 if self.loss == "hamming-count" else total / n_rows,
            attributes["_bias"],
        )
        return Training(
            problem,
            weights[used],
            total,
            nodes,
            data,
            Inference(self.decoder),
            attributes,
            features=(packed.features,) if packed.features.shape[1] else (),
            empty=packed.empty,
            n_threads=oracle.n_threads(problem, self.n_jobs),
        )

    def _prepared(self, packed, used):
        """Return packed samples for a fit, given the mask `used` of training samples."""
        return packed

    def _attributes(self, packed):
        """Return the fitted attributes that depend on the data."""
        x = packed.samples[0]
        return {
            "n_features_in_": x.features.shape[1],
            "_row_features": x.row_features.shape[1],
            "_column_features": x.column_features.shape[1],
            # The meaning of w_ must not change if a parameter is set after the fit.
            "_bias": bool(self.fit_intercept and self.allow_unmatched),
            "_allow_unmatched": bool(self.allow_unmatched),
        }

    def _features_and_weights(self, packed, weights):
        """Return the features of all pairs, and the weight of the sample of each pair."""
        return packed.features, np.repeat(weights, packed.n_pairs)

    def _select_rows(self, i, sample, kept):
        """Return a sample without the rows whose match is unknown."""
        return sample.select_rows(kept)

    def _oracle(self, attributes):
        return MatchingOracle(layout_of(attributes), attributes["_allow_unmatched"])

    def _check_size(self, i, sample, truth):
        """Raise ValueError unless a true matching is as large as `allow_unmatched` requires."""
        n_pairs, size = np.count_nonzero(truth.columns >= 0), min(sample.shape)
        if not self.allow_unmatched and n_pairs < size:
            raise ValueError(
                f"y[{i}] has {n_pairs} pairs, but allow_unmatched=False requires {size}, the "
                "smaller number of rows and columns; use allow_unmatched=True"
            )

    def decode(self, model, samples, known=None):
        oracle = self._oracle(vars(model))
        parts = [None] * len(samples) if known is None else samples.split(known)
        out = [np.empty(0, dtype=np.int32)]
        for i, (x, codes) in enumerate(zip(samples.samples, parts, strict=True)):
            columns = None if codes is None else np.asarray(codes) - 1
            with named_sample(i):
                out.append(oracle.best(oracle.gains(x, model._w), model._w, columns) + 1)
        return np.concatenate(out)

    def decision_function(self, model, X):
        samples = self.pack(X, model)
        oracle, out = self._oracle(vars(model)), []
        for i, x in enumerate(samples.samples):
            with named_sample(i):
                out.append(oracle.gains(x, model._w))
        return PerSample.from_items(out)

    def output(self, model, samples, codes):
        return PerSample.from_items(own.astype(np.intp) - 1 for own in samples.split(codes))

    def truth(self, model, samples, y, sample_weight):
        codes = pack_matches(y, samples, self.ignore_label)
        weights = check_weights(sample_weight, len(samples))
        return codes, np.repeat(weights, np.diff(samples.offsets)) * (codes != UNKNOWN)

    def known_codes(self, model, samples, y_partial):
        marker = -2 if self.ignore_label is None else self.ignore_label
        return pack_matches(y_partial, samples, marker, "y_partial")

    def hidden(self, X, y, sample_weight):
        packed = self.pack(X)
        codes = pack_matches(y, packed, self.ignore_label)
        used = check_weights(sample_weight, len(packed)) > 0
        used &= [bool((own >= 0).any()) for own in packed.split(codes)]
        return KnownLabels(codes, np.repeat(used, np.diff(packed.offsets)), warm=False)

    def axis_values(self, model):
        return {
            "row_feature": {"feature": [f"row{k}" for k in range(model._row_features)]},
            "column_feature": {"feature": [f"column{k}" for k in range(model._column_features)]},
            **super().axis_values(model),
        }
