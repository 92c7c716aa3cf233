"""Export of estimators and pipelines to files for other programming languages."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.shown import shortened
from sstruct._export.export_method import ExportMixin
from sstruct._export.write import content_for, write_model
from sstruct.preprocessing import PerNode, SequenceVectorizer

__all__ = ["export_model"]

SUPPORTED = "SequenceVectorizer, DictVectorizer, StandardScaler, MaxAbsScaler and RobustScaler"


def export_model(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted estimator or pipeline to a file that programs without Python can read.

    A JSON file contains everything that a prediction requires: classes, weights, allowed
    transitions, names of features, the rules of the vectorizer, and scaling. It is read by one C
    header and one JavaScript module without dependencies, see :func:`reader_path`; loading it does
    not execute code. An ONNX graph has an input ``X`` of float64, shape (L, n_features), the rows
    of one sequence, and the output ``labels``, shape (L,), or (L, K) for sets of labels.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        :class:`~sstruct.ChainSSVM` without edge features, :class:`~sstruct.MulticlassSSVM`, or
        :class:`~sstruct.MultilabelSSVM` without edges. For these, ``model.export(path)`` is the
        same. Before it, a pipeline may have a
        :class:`~sstruct.preprocessing.SequenceVectorizer` or scikit-learn's DictVectorizer, and
        StandardScaler, MaxAbsScaler or RobustScaler, also in
        :class:`~sstruct.preprocessing.PerNode`. Classes are strings, integers or booleans.
    path : str or path
        A name that ends in ``.json`` or ``.onnx`` (requires the package onnx). An existing file is
        replaced.

    Raises
    ------
    ValueError, TypeError
        If the path has another ending, or the model has steps, terms or classes that cannot be
        exported; the message names them.
    NotFittedError
        If the model is not fitted.
    FileNotFoundError
        If the folder of the file does not exist.
    ImportError
        If onnx is required and not installed.

    See Also
    --------
    sstruct.export.reader_path : Readers of JSON models.

    Notes
    -----
    Readers compute the same sums in float64 and resolve ties in the same way as ``predict``, so
    labels are identical unless the scores of two labelings differ by rounding errors only: the
    order of the terms of a sum depends on the machine. Weights are written with the fewest digits
    that identify them. Tables that are mostly zero are written sparsely. The graph of an ONNX file
    contains the whole table of weights and begins after the vectorizer, so JSON is better for
    feature dicts. Unlike the readers of JSON files, the graph does not validate its input: at least
    one row is required, and labels have no meaning if a row contains NaN or a mask forbids every
    labeling.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.pipeline import make_pipeline
    >>> from sstruct import ChainSSVM
    >>> from sstruct.export import export_model
    >>> from sstruct.preprocessing import SequenceVectorizer
    >>> X = [[{"word": "She"}, {"word": "sleeps"}], [{"word": "sleeps"}]]
    >>> tagger = make_pipeline(SequenceVectorizer(), ChainSSVM(random_state=0))
    >>> tagger = tagger.fit(X, [["N", "V"], ["V"]])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "tagger.json")
    ...     export_model(tagger, path)
    ...     content = json.loads(path.read_text(encoding="utf-8"))
    >>> content["classes"], content["features"]
    (['N', 'V'], ['word:She', 'word:sleeps'])
    """
    content_for(path)
    *steps, estimator = _steps(model) or [model]
    if not isinstance(estimator, ExportMixin):
        raise TypeError(_not_exportable(estimator))
    exported = estimator._exported()
    write_model(replace(exported, **_read_steps(steps, exported)), path)


def _steps(model):
    """Return the steps of a pipeline, which may be nested, or a list with only the model."""
    if isinstance(model, Pipeline):
        return [step for _, each in model.steps for step in _steps(each)]
    return [] if model is None or (isinstance(model, str) and model == "passthrough") else [model]


def _transformers(steps):
    """Replace each PerNode by its transformer, or by the steps of its pipeline."""
    flat = []
    for step in steps:
        inner = step.transformer_ if isinstance(step, PerNode) else step
        flat += [inner] if inner is step else _transformers(_steps(inner))
    return flat


def _not_exportable(estimator):
    """Return the error message for a model that cannot be exported."""
    advice = "pass a ChainSSVM, MulticlassSSVM or MultilabelSSVM, or a pipeline with one of these"
    if hasattr(estimator, "best_estimator_"):
        advice = "pass its best_estimator_"
    elif hasattr(estimator, "temperature_"):
        advice = "pass its estimator_; files contain no probabilities"
    elif type(estimator).__name__ == "LatentSSVM":
        advice = "pass its estimator_"
        if estimator.states_per_label != 1:
            advice = "its labels have hidden states; fit a ChainSSVM to the visible labels"
    return f"{shortened(estimator)} cannot be exported: {advice}"


def _read_steps(steps, exported):
    """Return the attributes of an ExportedModel that depend on the steps before the estimator."""
    for step in steps:
        if isinstance(step, PerNode):
            check_is_fitted(step)
    transformers = _transformers(steps)
    for step in transformers:
        check_is_fitted(step)
    attributes = {}
    if transformers and isinstance(transformers[0], SequenceVectorizer | DictVectorizer):
        attributes = _vectorizer(transformers.pop(0))
    n_features = len(exported.weights)
    for step in transformers:
        if not isinstance(step, StandardScaler | MaxAbsScaler | RobustScaler):
            raise ValueError(
                f"the step {shortened(step)} cannot be exported; supported are {SUPPORTED}, with a "
                "vectorizer first. Apply other steps outside of the exported pipeline"
            )
        if "center" in attributes:
            raise ValueError("a pipeline with two scalers cannot be exported; remove one of them")
        attributes |= _scaling(step)
    for key, name in (("features", "vectorizer"), ("center", "scaler"), ("scale", "scaler")):
        values = attributes.get(key)
        if values is not None and len(values) != n_features:
            raise ValueError(
                f"the {name} has {len(values)} features, but the model is expecting {n_features}; "
                "fit the pipeline again"
            )
    if transformers and exported.features is None and "features" not in attributes:
        names = getattr(transformers[0], "feature_names_in_", None)
        attributes["features"] = None if names is None else [str(name) for name in names]
    return attributes


def _vectorizer(step):
    """Return the feature names of a vectorizer, and its rules for feature dicts."""
    is_sequence = isinstance(step, SequenceVectorizer)
    vectorizer = {
        "kind": "sequence" if is_sequence else "dict",
        "separator": ":" if is_sequence else step.separator,
        "dtype": np.dtype(step.dtype).name,
    }
    if vectorizer["dtype"] not in ("float64", "float32"):
        raise ValueError(
            f"DictVectorizer with dtype={vectorizer['dtype']} cannot be exported; use float64 or "
            "float32"
        )
    names = [str(name) for name in step.get_feature_names_out()]
    return {"vectorizer": vectorizer, "features": names}


def _scaling(step):
    """Return the center and the scale of a scaler."""
    if isinstance(step, MaxAbsScaler) and getattr(step, "clip", False):
        raise ValueError("MaxAbsScaler with clip=True cannot be exported; use clip=False")
    center = getattr(step, "mean_" if isinstance(step, StandardScaler) else "center_", None)
    uses_mean = not isinstance(step, StandardScaler) or step.with_mean
    return {"center": center if uses_mean else None, "scale": step.scale_}
