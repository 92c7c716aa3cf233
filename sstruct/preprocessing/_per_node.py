"""Application of scikit-learn transformers to the nodes of sequences, images and graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from sstruct._checks.arrays import array_of, is_empty, items_of
from sstruct._checks.shown import shortened
from sstruct._compat.public_module import public_module
from sstruct._estimators.core.fitted_state import (
    CheckedState,
    FittedState,
    Labels,
    Number,
    Of,
    check_parameters,
    reads_one_fit,
)
from sstruct._estimators.segment.label_spans import labels_and_splits
from sstruct._input.frames import cut, frame_like, joined, library_of
from sstruct._input.labels import label_array, object_array
from sstruct._input.ragged import (
    ExpectedInput,
    check_node_weights,
    check_weights,
    flat_labels,
    is_of_nodes,
    pack_nodes,
)
from sstruct.preprocessing._structures import structures_of
from sstruct.sequences import FeatureList, Sequences

__all__ = ["PerNode"]


def _transformer_has(name):
    """Return a check that the transformer (fitted, if available) has a method."""
    return lambda self: hasattr(getattr(self, "transformer_", self.transformer), name)


def _transformers_have(name):
    """Return a check that both transformers have a method; a missing edge transformer passes."""

    def check(self):
        edge_transformer = getattr(self, "edge_transformer_", self.edge_transformer)
        return _transformer_has(name)(self) and (
            edge_transformer is None or hasattr(edge_transformer, name)
        )

    return check


# No output wrapping, because set_output would try to make one data frame of ragged data.
@public_module("sstruct.preprocessing")
class PerNode(
    CheckedState, MetaEstimatorMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Apply a scikit-learn transformer to the nodes of sequences, images or graphs.

    The transformer is fitted once, on the nodes (pixels) of all samples as rows of a single array.

    Parameters
    ----------
    transformer : estimator
        Any transformer that keeps the number of rows: ``StandardScaler()``, ``PCA(10)``,
        ``OneHotEncoder()``, ``SelectKBest()``, or a pipeline. It is cloned before fitting.
    edge_transformer : estimator or None, default=None
        Transformer for the edge features of graphs or sequences, fitted on the features of all
        edges. None leaves them unchanged. With ``pairwise="contrast"`` its output must be
        nonnegative, such as the output of ``MaxAbsScaler()``.

    Attributes
    ----------
    transformer_ : estimator
        The fitted transformer.
    edge_transformer_ : estimator
        The fitted transformer of edge features, if any.
    n_features_in_ : int
        Number of features per node.
    feature_names_in_ : ndarray of shape (n_features,)
        Defined if the sequences are data frames with named columns or ``Sequences`` with names.

    See Also
    --------
    sstruct.preprocessing.SequenceVectorizer : Convert feature dicts to rows.
    sstruct.Sequences : Ragged data stored as one flat array, which avoids copies.

    Notes
    -----
    The output has the type of the input: a list, an object array, ``Sequences``, or an array of
    shape (n, L, n_features_out), which is replaced by ``Sequences`` if the transformer returns
    sparse output. Items are sparse if the transformer returns sparse output, data frames if the
    input items are data frames with named columns and the transformer supports
    ``get_feature_names_out``, and arrays otherwise. ``Sequences`` with feature names get the output
    names of the transformer, for use by the next estimator. Images are dense arrays
    (H, W, n_features_out). Graphs keep their edges and node sizes; edge features are changed only
    by `edge_transformer`. ``PerNode`` has no ``set_output``, since ragged data does not fit into a
    data frame.

    Empty items stay empty. scikit-learn's ``FeatureUnion`` combines the lists and ``Sequences``
    returned by transformers of this module into ``Sequences``, for example to append word features
    to arrays. For images and graphs, and if scikit-learn is configured with
    ``transform_output="pandas"``, pass a union to ``PerNode``: ``PerNode(make_union(...))``.

    Text transformers read a single column, to be selected by a ``ColumnTransformer``:
    ``PerNode(make_column_transformer((TfidfVectorizer(), "text")))`` for data frames, or column 0
    of arrays (L_i, 1).

    Values may be strings or missing if the transformer supports that. If the items are pandas or
    polars data frames with named columns, the transformer receives a data frame.

    2-D input (chains of one node) is passed to the transformer unchanged.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sstruct import ChainSSVM
    >>> from sstruct.preprocessing import PerNode
    >>> X = [[[1.0, 20.0], [3.0, 40.0]], [[5.0, 60.0]]]
    >>> PerNode(StandardScaler()).fit_transform(X)[1]
    array([[1.22474487, 1.22474487]])
    >>> model = make_pipeline(PerNode(StandardScaler()), ChainSSVM(random_state=0))
    >>> model.fit(X, [["a", "a"], ["b"]]).predict(X)[0].tolist()
    ['a', 'a']
    """

    _fitted_state = FittedState(
        {
            "transformer_": Of(methods=("transform",)),
            "edge_transformer_": Of(methods=("transform",), optional=True),
            "n_features_in_": Number(whole=True, least=1, size="F"),
            "feature_names_in_": Labels(size="F", strings=True, optional=True),
        }
    )

    edge_transformer: Any
    transformer_: Any
    edge_transformer_: Any
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self, transformer: BaseEstimator, edge_transformer: BaseEstimator | None = None
    ) -> None:
        self.transformer = transformer
        self.edge_transformer = edge_transformer

    def fit(self, X: Iterable[Any], y: Any = None, **params: Any) -> PerNode:
        """Fit the transformer to all nodes.

        Parameters
        ----------
        X : list of arrays of shape (L_i, n_features)
            Dense arrays, sparse arrays or data frames; or an object array,
            :class:`sstruct.Sequences`, or an array of shape (n, L, n_features). For images, a list
            of arrays of shape (H, W, n_features), or an array of shape (n, H, W, n_features). For
            graphs, a list of tuples (node features, edges[, edge features[, node sizes]]). For
            sequences with edge features, a list of tuples (features, edge features). 2-D X is
            passed on unchanged.
        y : list of label sequences, spans, label images or arrays of node labels, optional
            Passed as one flat array to transformers that use labels, but not to the edge
            transformer.
        **params : dict
            Passed to the transformers. Arrays with an entry for each of the n samples, such as
            `sample_weight`, are repeated for the nodes or edges of each sample. `sample_weight`
            may also contain one array of node weights per sample, as for estimators.
            With metadata routing enabled, each transformer receives what it has requested;
            otherwise the edge transformer receives the parameters that its ``fit`` accepts.

        Returns
        -------
        self : PerNode
            The fitted transformer.

        Raises
        ------
        ValueError, TypeError
            If samples are inconsistent; the message names the sample.
        """
        self._fit(X, y, params, transform=False)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None, **params: Any) -> Any:
        """Fit the transformer to all nodes and transform them.

        Parameters
        ----------
        X : list of arrays of shape (L_i, n_features)
            As in :meth:`fit`.
        y : list of label sequences, optional
            As in :meth:`fit`.
        **params : dict
            As in :meth:`fit`.

        Returns
        -------
        X_out : same type as X
            The transformed nodes.
        """
        return self._fit(X, y, params, transform=True)

    def transform(self, X: Iterable[Any]) -> Any:
        """Transform the nodes.

        Parameters
        ----------
        X : list of arrays of shape (L_i, n_features)
            As in :meth:`fit`.

        Returns
        -------
        X_out : same type as X
            The transformed nodes.
        """
        return self._apply("transform", X)

    @available_if(_transformers_have("inverse_transform"))
    def inverse_transform(self, X: Iterable[Any]) -> Any:
        """Map transformed nodes back, if the transformer supports it.

        Parameters
        ----------
        X : list of arrays of shape (L_i, n_features_out)
            Output of :meth:`transform`.

        Returns
        -------
        X_original : same type as X
            The nodes in the original feature space.
        """
        return self._apply("inverse_transform", X)

    def _apply(self, method, X):
        """Call a method of the fitted transformers."""
        self = self._require_fitted()  # a copy, safe from concurrent fits
        given = structures_of(items_of(X))
        items = given.items
        edge_transformer, edge_rows = getattr(self, "edge_transformer_", None), None
        edges = None if edge_transformer is None else given.edges
        names, forward = getattr(self, "feature_names_in_", None), method == "transform"
        width = self.n_features_in_ if forward else _n_features_out(self.transformer_)
        expected = ExpectedInput(type(self).__name__, width, names if forward else None)
        nodes = pack_nodes(expected, items, numeric=False)
        if forward:
            names = _names_out(self.transformer_, nodes)
        out = _call_unless_empty(self.transformer_, method, _rows(items, nodes), nodes is not None)
        out = _split_like(items, nodes, out, names)
        if edges is not None:
            edge_rows = edges.replaced(
                _call_unless_empty(edge_transformer, method, edges.rows.flat)
            )
        return _joinable(given, given.restored(out, edge_rows))

    @available_if(_transformer_has("get_feature_names_out"))
    @reads_one_fit
    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Get output feature names of the transformer.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns.

        Returns
        -------
        names : ndarray of str objects
            Names of the output columns.
        """
        known = getattr(self, "feature_names_in_", None)
        names = known if input_features is None else input_features
        return self.transformer_.get_feature_names_out(names)

    def _fit(self, X, y, params, transform):
        check_parameters(self)
        for name in ("transformer", "edge_transformer"):
            self._check_transformer(name)
        given = structures_of(items_of(X))
        items = given.items
        expected = ExpectedInput(type(self).__name__)
        nodes = pack_nodes(expected, items, numeric=False)
        edges = self._edges(given, nodes)
        labels = y
        if y is not None and nodes is not None:
            labels, _ = labels_and_splits(given.labels(y), "y")
            labels = flat_labels(labels, nodes, expected, label_array)
        node_params, edge_params = self._routed(params, transform)
        if nodes is not None:
            node_params = {
                name: _repeat_for_nodes(name, v, nodes, given) for name, v in node_params.items()
            }
        rows = _rows(items, nodes)
        inner, out = _fit_clone(self.transformer, rows, labels, node_params, transform)
        if transform:
            out = _split_like(items, nodes, out, _names_out(inner, nodes))
        edge_inner, edge_rows = None, None
        if edges is not None:
            n = len(nodes)
            edge_params = {
                name: _repeat_for_edges(name, v, edges, n) for name, v in edge_params.items()
            }
            edge_inner, edge_rows = _fit_clone(
                self.edge_transformer, edges.rows.flat, None, edge_params, transform
            )
        if transform:
            out = given.restored(out, None if edge_rows is None else edges.replaced(edge_rows))
            out = _joinable(given, out)
        width = inner.n_features_in_ if hasattr(inner, "n_features_in_") else _count_columns(rows)
        names = None if nodes is None else nodes.feature_names
        self._publish(
            {
                "transformer_": inner,
                "edge_transformer_": edge_inner,
                "n_features_in_": width,
                "feature_names_in_": getattr(inner, "feature_names_in_", names),
            }
        )
        return out

    def _check_transformer(self, name):
        """Raise TypeError if the parameter is not a transformer."""
        given = getattr(self, name)
        if given is None and name == "edge_transformer":
            return
        if isinstance(given, type) or not hasattr(given, "transform"):
            raise TypeError(f"{name} must be a transformer, found {shortened(given)}")

    def _edges(self, given, nodes):
        """Return the EdgeRows to fit `edge_transformer` on, or None if it is not set."""
        if self.edge_transformer is None:
            return None
        edges = given.edges
        if edges is None or not edges.rows.offsets[-1]:
            found = "a 2-D array" if nodes is None else given.kind
            without = " without edge features" * (edges is not None or given.kind == "graphs")
            raise ValueError(
                "edge_transformer requires graphs with edge features, (node features, edges, edge "
                "features), or sequences with edge features, (features, edge features), found "
                f"{found}{without}"
            )
        return edges

    def _routed(self, params, transform):
        """Return the subset of `params` for each transformer."""
        inner, edge_transformer = self.transformer, self.edge_transformer
        if params and get_config()["enable_metadata_routing"]:
            caller = "fit_transform" if transform else "fit"
            routed = process_routing(self, caller, **params)
            return (
                routed.transformer[_fit_method(inner, transform)],
                {}
                if edge_transformer is None
                else routed.edge_transformer[_fit_method(edge_transformer, transform)],
            )
        taken = [] if edge_transformer is None else params
        taken = [name for name in taken if has_fit_parameter(edge_transformer, name)]
        return params, {name: params[name] for name in taken}

    def get_metadata_routing(self) -> MetadataRouter:
        """Get metadata routing of this object: all metadata is routed to the transformers.

        Returns
        -------
        routing : MetadataRouter
            Routing information.
        """
        router = MetadataRouter(owner=type(self).__name__)
        for name in ("transformer", "edge_transformer"):
            inner = getattr(self, name)
            if inner is None:
                continue
            mapping = MethodMapping().add(caller="fit", callee="fit")
            mapping.add(caller="fit_transform", callee=_fit_method(inner, True))
            router.add(method_mapping=mapping, **{name: inner})
        return router

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.transformer, "__sklearn_tags__") and not isinstance(self.transformer, type):
            tags = deepcopy(get_tags(self.transformer))
        tags.requires_fit = True  # also if the transformer is stateless
        tags.input_tags.three_d_array = True
        tags.array_api_support = False  # nodes are concatenated and split with NumPy
        return tags


def _fit_method(transformer, transform):
    """Return the name of the method to fit a transformer and, with `transform`, transform."""
    return "fit_transform" if transform and hasattr(transformer, "fit_transform") else "fit"


def _fit_clone(transformer, rows, labels, params, transform):
    """Return a fitted clone and, with `transform`, the transformed rows."""
    inner = clone(transformer)
    try:
        if _fit_method(inner, transform) == "fit_transform":
            return inner, inner.fit_transform(rows, labels, **params)
        inner.fit(rows, labels, **params)
        return inner, inner.transform(rows) if transform else None
    except OverflowError:
        raise ValueError("X contains a value too large for dtype('float64')") from None


def _rows(X, nodes):
    """Return the input of the transformer: all nodes as one array or data frame."""
    if nodes is None:
        return X
    if nodes.feature_names is None or isinstance(X, Sequences):
        return nodes.flat
    # Transformers may select the columns of a data frame by name and dtype.
    frame = joined([item for item in items_of(X) if not is_empty(item)])
    return nodes.flat if frame is None else frame


def _call_unless_empty(transformer, method, rows, rows_are_nodes=True):
    """Call a method of a fitted transformer, unless there are no rows.

    rows_are_nodes : whether rows are the nodes of samples; 2-D X is passed on even if it is empty
    """
    if not rows_are_nodes or rows.shape[0]:
        return getattr(transformer, method)(rows)
    if method == "inverse_transform":
        return np.empty((0, getattr(transformer, "n_features_in_", 0)))
    return np.empty((0, _n_features_out(transformer) or 0))


def _n_features_out(transformer):
    """Return the number of columns of the output of a fitted transformer, or None if unknown."""
    try:
        return len(transformer.get_feature_names_out())
    except (AttributeError, ValueError):
        return None


def _count_columns(rows):
    """Return the number of columns of rows that the transformer did not validate."""
    shape = rows.shape if hasattr(rows, "shape") else array_of(rows, "X").shape
    if len(shape) < 2:
        raise ValueError(f"X has {len(shape)} dimensions, expected at least 2 (nodes, features)")
    return shape[1]


def _names_out(transformer, nodes):
    """Return the output feature names of a fitted transformer if its input has names."""
    if nodes is None or nodes.feature_names is None:
        return None
    try:
        return transformer.get_feature_names_out(nodes.feature_names)
    except (AttributeError, ValueError):  # no names, or duplicates
        return None


def _repeat_for_nodes(name, value, nodes, given):
    """Repeat values with an entry per sample for each of its nodes."""
    if name == "sample_weight" and value is not None:
        if is_of_nodes(value):
            value = given.node_weights(value)
        by_sample, own = check_node_weights(value, nodes)
        return np.repeat(by_sample, nodes.lengths) if own is None else own
    if getattr(value, "ndim", 0) == 1 and len(value) == len(nodes):
        return np.repeat(np.asarray(value), nodes.lengths)
    return value


def _repeat_for_edges(name, value, edges, n_samples):
    """Repeat values with an entry per sample for each of its edges."""
    if name == "sample_weight" and value is not None:
        if is_of_nodes(value):
            raise ValueError(
                "sample_weight has node weights, which edge_transformer does not support; pass "
                "one weight per sample, or use a transformer without sample_weight"
            )
        return edges.of_edges(check_weights(value, n_samples))
    if getattr(value, "ndim", 0) == 1 and len(value) == n_samples:
        return edges.of_edges(np.asarray(value))
    return value


def _joinable(given, out):
    """Return lists as FeatureList, and all other objects unchanged.

    scikit-learn's FeatureUnion can concatenate lists of sequences; for images and graphs, the
    FeatureList raises an error.
    """
    if isinstance(out, list):
        out = FeatureList(out)
        out.kind = given.kind
    return out


def _split_like(X, nodes, out, names=None):
    """Split transformed rows into the type of X; `names` are the feature names, if known."""
    if nodes is None:
        return out
    frame = out if library_of(out) else None
    if hasattr(out, "to_numpy"):  # a data frame of any library
        out = out.to_numpy()
    if len(np.shape(out)) != 2 or np.shape(out)[0] != nodes.flat.shape[0]:
        raise ValueError(
            f"the transformer returned an array of shape {np.shape(out)} for {nodes.flat.shape[0]} "
            "nodes, expected one row per node"
        )
    if nodes.form == "stacked" and not sparse.issparse(out):
        return out.reshape(len(nodes), *nodes.sample_shape, out.shape[1])
    sequences = Sequences(out, nodes.offsets)
    if isinstance(X, Sequences):
        sequences.feature_names = names
    if nodes.form == "stacked" or isinstance(X, Sequences):
        return sequences
    items = list(items_of(X))
    library = next((library_of(item) for item in items if not is_empty(item)), None)
    if names is not None and library and not sparse.issparse(out):
        frame = frame_like(out, library, list(names)) if frame is None else frame
        items = cut(frame, nodes.offsets, items)
    else:
        items = list(sequences)
    return object_array(items) if isinstance(X, np.ndarray) else items
