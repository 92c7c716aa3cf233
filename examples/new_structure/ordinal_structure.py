"""The Structure of OrdinalSSVM, for rows with one label from an ordered set."""

import numpy as np
from ordinal_problem import OrdinalProblem, ordinal_layout
from scipy import sparse

from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import Labels, Number
from sstruct._estimators.core.lam_from_scale import TrainedNodes, mean_cost
from sstruct._estimators.core.sample_data import SampleData
from sstruct._estimators.core.structure import NodeStructure
from sstruct._estimators.core.training import Inference, Training
from sstruct._input.labels import encode, training_classes
from sstruct._input.ragged import check_weights, flat_labels, pack_rows
from sstruct._input.threads import n_threads
from sstruct._problems.core._decode import decode

# The types, shapes and ranges of fitted attributes, for models that are loaded from files.
ORDINAL_STATE = BASE_STATE.extended(
    {
        "classes_": Labels(size="K"),
        "n_features_in_": Number(whole=True, least=1, size="F"),
        "feature_names_in_": Labels(size="F", strings=True, optional=True),
    },
    layout=lambda state: ordinal_layout(len(state["classes_"]), int(state["n_features_in_"])),
)


class OrdinalStructure(NodeStructure):
    """Rows with one label from an ordered set, with the parameters of an OrdinalSSVM."""

    state = ORDINAL_STATE
    scaling = "{}"

    def pack(self, X, model=None):
        rows = pack_rows(self.expected_input(model), X)
        if sparse.issparse(rows.flat):
            rows.flat = rows.flat.toarray()
        rows.flat = np.ascontiguousarray(rows.flat, dtype=np.float64)
        return rows

    def train(self, X, y, sample_weight, completion=None, model=None):
        rows = self.pack(X, model)
        labels, weights = flat_labels(y, rows, self), check_weights(sample_weight, len(rows))
        used = weights > 0
        classes = training_classes(self.classes, labels, used, int)
        if len(classes) < 2:
            raise ValueError(f"y has {len(classes)} class, expected two or more")
        X, codes, weights = rows.flat[used], encode(labels, classes)[used], weights[used]
        total = float(weights.sum())
        problem = OrdinalProblem(X, codes, len(classes))
        cost = np.abs(np.subtract.outer(np.arange(len(classes)), np.arange(len(classes))))
        return Training(
            problem,
            weights,
            total,
            TrainedNodes(X, weights, 1, mean_cost(cost, codes, weights, total), True),
            SampleData(len(codes), [classes.astype(object)], lambda n: [X[:n], codes[:n]]),
            Inference("enumeration"),
            {
                "n_features_in_": rows.n_features,
                "feature_names_in_": rows.feature_names,
                "classes_": classes,
            },
            features=(X,),
        )

    def decode(self, model, samples, known=None):
        problem = OrdinalProblem(samples.flat, None, len(model.classes_))
        return decode(problem, model._w, n_threads(self.n_jobs))
