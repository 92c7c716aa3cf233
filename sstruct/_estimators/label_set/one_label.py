"""Training data and class scores of rows with one label each."""

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets

from sstruct._checks.arrays import concatenated
from sstruct._estimators.core.lam_from_scale import TrainedNodes, mean_cost
from sstruct._estimators.core.sample_data import SampleData, first_rows
from sstruct._estimators.core.training import Inference, Training
from sstruct._estimators.label_set.label_set_training import blocks_of_weight
from sstruct._input.labels import check_reserved, encode, is_one_label, shortened, training_classes
from sstruct._input.losses import class_weights
from sstruct._input.ragged import check_weights, flat_labels
from sstruct._problems.core._rows import AT_ONCE, compressed
from sstruct._problems.label_set._multiclass import MulticlassProblem


def flat_row_labels(y, rows, structure):
    """Return one label per row, of any dtype; raise if labels are sequences."""
    if isinstance(y, list | tuple):
        for i, label in enumerate(y):
            if isinstance(label, list | np.ndarray) and not is_one_label(label):
                raise ValueError(
                    f"y[{i}] is {shortened(label)}, expected one label: y should be a 1d array"
                )
    return flat_labels(y, rows, structure)


def one_label_training(structure, rows, y, sample_weight, cost_of):
    """Return the Training.

    Parameters
    ----------
    structure : ClassStructure
        With `class_weight`.
    rows : Nodes
    y, sample_weight : as passed to ``fit``
    cost_of : callable
        Returns the (K, K) costs, given codes, weights and the number of classes.
    """
    labels = flat_row_labels(y, rows, structure)
    # Integers, booleans and strings need no check, and scikit-learn does not support objects.
    if labels.dtype.kind not in "iubUSO":
        check_classification_targets(labels)
    weights = check_weights(sample_weight, len(rows))
    used = weights > 0
    classes = training_classes(structure.classes, labels, used, int)
    _check_sorted(classes)
    if len(classes) < 2:
        raise ValueError("y has one class in samples of positive weight, expected two or more")
    codes = encode(labels, classes)
    if structure.classes is None:
        check_reserved(structure, classes, codes, "y[{}]".format)
    codes, weights = codes[used], weights[used]
    cost = cost_of(codes, weights, len(classes))
    total = float(weights.sum())
    row_weight = np.zeros(len(rows))
    row_weight[used] = weights
    node = mean_cost(cost, codes, weights, total)
    trained = TrainedNodes(rows.flat, row_weight, 1, node, structure.fit_intercept)
    factor = class_weights(structure.class_weight, classes, codes, weights)[codes]
    weights = weights * factor
    kept, flat = blocks_of_weight(structure.class_weight, weights / total, rows, used)
    bias, codes = structure.fit_intercept, codes[kept]
    problem = MulticlassProblem(compressed(flat), codes, len(classes), cost=cost, bias=bias)
    return Training(
        problem,
        weights[kept],
        total,
        trained,
        SampleData(
            len(codes), [classes.astype(object)], lambda n: [*first_rows(flat, n), codes[:n]]
        ),
        Inference("enumeration"),
        {
            "n_features_in_": rows.n_features,
            "feature_names_in_": rows.feature_names,
            "classes_": classes,
            # The meaning of w_ must not change if a parameter is set after the fit.
            "_bias": bias,
        },
        features=(flat,),
    )


def _check_sorted(classes):
    """Raise ValueError unless classes are sorted; scikit-learn computes no scores for objects."""
    if classes.dtype != object and (classes != (expected := np.unique(classes))).any():
        raise ValueError(
            "classes must be sorted, because scikit-learn's scores of probabilities and decision "
            f"values require this order: found {shortened(classes.tolist())}, expected "
            f"{shortened(expected.tolist())}"
        )


def class_scores(model, rows):
    """Return the score of each class, (n, K), of packed rows."""
    # In chunks, since the product makes float64 copies of float32 features.
    step = max(1, AT_ONCE // rows.n_features)
    parts = [rows.flat]
    if len(rows) > step:
        parts = [rows.flat[a : a + step] for a in range(0, len(rows), step)]
    coef, intercept = model.table("coef").T, model.table("intercept")
    scores = [safe_sparse_dot(part, coef) + intercept for part in parts]
    return scores[0] if len(scores) == 1 else concatenated(scores, "scores")
