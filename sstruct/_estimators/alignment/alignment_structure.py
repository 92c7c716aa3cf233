"""The Structure of AlignmentSSVM, for pairs of sequences that are aligned."""

import numpy as np
from scipy import sparse

from sstruct._checks.parameters import FLAG
from sstruct._estimators.alignment.alignment_oracle import (
    AlignmentOracle,
    alignment_layout,
    symbol_pairs,
)
from sstruct._estimators.alignment.alignment_samples import pack_alignments
from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import Flag, Labels, Number
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.matching.matching_structure import MatchingStructure
from sstruct._oracles.alignment._alignment import METHODS, best_alignment

DECODERS = {"global": "Needleman-Wunsch", "local": "Smith-Waterman"}


def pairs_of(state):
    """Return the result of `symbol_pairs` of fitted attributes."""
    symbols = state.get("symbols_")
    return symbol_pairs(0 if symbols is None else len(symbols), bool(state["_symmetric"]))


def layout_of(state):
    """Return the WeightLayout of fitted attributes."""
    return alignment_layout(
        int(state["n_features_in_"]),
        pairs_of(state)[1],
        bool(state["_bias"]),
        bool(state["_symmetric"]),
    )


def substitution_weights(model):
    """Return the weight of each pair of symbols, (S, S), of a FittedModel."""
    index, _ = pairs_of(vars(model))
    weights = model.table("substitution")
    return weights[index[:-1, :-1]]


def gap_weights(name, model):
    """Return the weights of the gaps of both sequences."""
    return np.broadcast_to(model.table(name), 2).copy()


ALIGNMENT_STATE = BASE_STATE.extended(
    {
        "n_features_in_": Number(whole=True, least=0),
        "symbols_": Labels(size="S", optional=True),
        # The meaning of w_ must not change if a parameter is set after the fit.
        "_bias": Flag(),
        "_symmetric": Flag(),
        "_local": Flag(),
    },
    layout=layout_of,
)


class AlignmentStructure(MatchingStructure):
    """The Structure of AlignmentSSVM."""

    state = ALIGNMENT_STATE
    valid_values = Structure.valid_values | {
        "loss": ("hamming-count", "hamming"),
        "method": METHODS,
        "symmetric": FLAG,
    }
    # Any positions may be unaligned.
    allow_unmatched = True

    @property
    def decoder(self):
        return DECODERS[self.method]

    def pack(self, X, model=None):
        if model is None:
            return pack_alignments(X)
        symbols = model.get("symbols_")
        packed = pack_alignments(X, model.n_features_in_, symbols is not None)
        return packed if symbols is None else packed.encoded(symbols)

    def _prepared(self, packed, used):
        if not packed.has_symbols or packed.symbols is not None:
            return packed
        # If the prior is a model, its weights determine the symbols.
        prior = getattr(self.prior, "model", None)
        symbols = None if prior is None else prior.get("symbols_")
        return packed.encoded(packed.distinct_symbols(used) if symbols is None else symbols)

    def _attributes(self, packed):
        return {
            "n_features_in_": packed.features.shape[1],
            "symbols_": packed.symbols,
            # With symbols, the bias of a pair would be redundant.
            "_bias": bool(self.fit_intercept and not packed.has_symbols),
            "_symmetric": bool(self.symmetric),
            "_local": self.method == "local",
        }

    def _features_and_weights(self, packed, weights):
        if not packed.has_symbols:
            return super()._features_and_weights(packed, weights)
        index, n = symbol_pairs(len(packed.symbols), bool(self.symmetric))
        if packed.features.shape[1] == 0:
            # A row for each pair of symbols, with its weight in all samples.
            counts = np.zeros(n + 1)
            for x, weight in zip(packed.samples, weights, strict=True):
                S = len(packed.symbols) + 1
                first, second = (np.bincount(own % S, minlength=S) for own in (x.first, x.second))
                np.add.at(counts, index, weight * np.outer(first, second))
            return sparse.eye_array(n, format="csr"), counts[:n]
        codes = np.concatenate([index[x.first][:, x.second].ravel() for x in packed.samples])
        known = codes < n
        symbols = sparse.csr_array(
            (np.ones(known.sum()), (np.flatnonzero(known), codes[known])), shape=(len(codes), n)
        )
        features = sparse.hstack([sparse.csr_array(packed.features), symbols], format="csr")
        return features, np.repeat(weights, packed.n_pairs)

    def _select_rows(self, i, sample, kept):
        raise ValueError(
            f"y[{i}] has no column of row {np.flatnonzero(~kept)[0]}, which LatentSSVM completes; "
            f"{self.estimator_name} requires all columns, -1 for unaligned rows"
        )

    def _oracle(self, attributes):
        return AlignmentOracle(layout_of(attributes), pairs_of(attributes)[0], attributes["_local"])

    def given_bounds(self, problem):
        # Weights of gaps are at most 0.
        bounds = problem.layout.unbounded()
        bounds[1, -2 if self.symmetric else -4 :] = 0
        return self.narrowed_bounds(problem, bounds)

    def first_labels(self, X, y, sample_weight, known):
        """Return initial completions with as many pairs as possible, and few gaps."""
        packed = self.pack(X)
        out = [np.empty(0, dtype=np.int32)]
        for x, codes in zip(packed.samples, packed.split(known.codes), strict=True):
            columns = np.where(codes < 0, -2, codes - 1).astype(np.int32)
            best, _ = best_alignment(np.ones(x.shape), [-0.25] * 2, [0.0] * 2, False, columns)
            out.append(best + 1)
        return np.concatenate(out)

    def axis_values(self, model):
        values = {"sequence": ["first", "second"]}
        symbols = model.get("symbols_")
        if symbols is not None:
            labels, S = symbols.tolist(), len(symbols)
            places = np.triu_indices(S) if model._symmetric else np.indices((S, S)).reshape(2, -1)
            names = ([labels[k] for k in own] for own in places)
            values["symbols"] = dict(zip(("first", "second"), names))
        return values | super(MatchingStructure, self).axis_values(model)
