"""Write models as ONNX graphs; Viterbi decoding consists of a forward and a backward Scan."""

import numpy as np

# The versions of onnx 1.12, so that older runtimes can load the files. Since opset 18, the axes of
# ReduceMax are an input.
OPSET, IR_VERSION = 17, 8


def onnx_content(model, created_by):
    """Return the content of an ONNX file with an ExportedModel, as bytes.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If classes have several types, since an ONNX tensor has one.
    """
    try:
        import onnx
    except ImportError:
        raise ImportError(
            'export to ONNX requires the package onnx: pip install "sstruct[onnx]"'
        ) from None
    types = {type(label) for label in model.classes}
    if len(types) > 1:
        raise ValueError(
            "classes_ contains labels of several types, which ONNX does not support; encode the "
            "labels as strings before the fit, or export to JSON"
        )
    graph = _Graph(onnx)
    codes = graph.codes(model)
    is_set = model.kind == "label sets"
    labels = codes if is_set else graph.add("Gather", graph.constant(_labels(model.classes)), codes)
    labels = graph.add("Identity", labels, output="labels")
    helper, kinds = onnx.helper, onnx.TensorProto
    kind_of = {str: kinds.STRING, bool: kinds.BOOL, int: kinds.INT64}
    kind = kinds.INT64 if is_set else kind_of[types.pop()]
    shape = ["L", len(model.classes)] if is_set else ["L"]
    inputs = [helper.make_tensor_value_info("X", kinds.DOUBLE, ["L", len(model.weights)])]
    outputs = [helper.make_tensor_value_info(labels, kind, shape)]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "sstruct", inputs, outputs, graph.constants),
        producer_name=created_by,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(made)
    return made.SerializeToString()


def _labels(classes):
    return np.array(classes, dtype=object if isinstance(classes[0], str) else None)


class _Graph:
    """Nodes and constants of a graph; names are numbered."""

    def __init__(self, onnx, prefix=""):
        self.onnx, self.prefix, self.nodes, self.constants = onnx, prefix, [], []

    def constant(self, value):
        """Add an array, and return its name."""
        name = f"{self.prefix}constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator, *inputs, n_outputs=1, output=None, **attributes):
        """Add a node, and return the name of its output, or the names if there are several."""
        names = [f"{self.prefix}{operator}{len(self.nodes)}_{k}" for k in range(n_outputs)]
        names = names if output is None else [output]
        make = self.onnx.helper.make_node
        self.nodes.append(make(operator, list(inputs), names, **attributes))
        return names[0] if n_outputs == 1 else names

    def codes(self, model):
        """Add nodes that compute the codes of the labels, and return the name of their output."""
        rows = "X"
        if model.center is not None:
            rows = self.add("Sub", rows, self.constant(model.center))
        if model.scale is not None:
            rows = self.add("Div", rows, self.constant(model.scale))
        scores = self.add("MatMul", rows, self.constant(model.weights))
        scores = self.add("Add", scores, self.constant(model.intercept))
        if model.kind == "label sets":
            return self.add(
                "Cast", self.add("Greater", scores, self.constant(0.0)), to=self._type("INT64")
            )
        if model.kind == "chain":
            return self.path(scores, model)
        return self.add("ArgMax", scores, axis=1, keepdims=0)

    def _type(self, name):
        return getattr(self.onnx.TensorProto, name)

    def path(self, scores, model):
        """Add Viterbi decoding, and return the name of its output, the codes of the labels.

        Ties are resolved in favor of the lowest last label, and then of the lowest predecessors.
        """
        K = len(model.classes)
        start, end = (np.array(each, dtype=np.float64) for each in (model.start, model.end))
        if model.allowed_boundaries is not None:
            start[~model.allowed_boundaries[0]] = end[~model.allowed_boundaries[1]] = -np.inf
        edge = np.zeros((K, K)) if model.transitions is None else np.array(model.transitions)
        if model.allowed_next is not None:
            edge[~model.allowed_next] = -np.inf
        length = self.add("Gather", self.add("Shape", scores), self.constant(np.int64(0)))
        zero, one = self.constant(np.int64(0)), self.constant(np.int64(1))
        positions = self.add("Range", zero, length, one)
        is_first = self.add("Equal", positions, zero)
        is_last = self.add("Equal", positions, self.add("Sub", length, one))
        for where, values in ((is_first, start), (is_last, end)):
            column = self.add("Unsqueeze", where, one)
            none = self.constant(np.zeros(K))
            scores = self.add("Add", scores, self.add("Where", column, self.constant(values), none))
        best, origins = self.add(
            "Scan", self.constant(np.zeros(K)), scores, is_first,
            n_outputs=2, num_scan_inputs=2, body=self._forward(edge),
        )  # fmt: skip
        last = self.add("ArgMax", best, axis=0, keepdims=0)
        _, codes = self.add(
            "Scan", last, origins, n_outputs=2, num_scan_inputs=1, body=self._backward(K),
            scan_input_directions=[1], scan_output_directions=[1],
        )  # fmt: skip
        return codes

    def _forward(self, edge):
        """Return the body of the forward Scan: the best scores of paths to each label of a node.

        The first node has no transition.
        """
        K, body = len(edge), _Graph(self.onnx, "forward_")
        column = body.add("Unsqueeze", "before", body.constant(np.array([1])))
        paths = body.add("Add", column, body.constant(edge))
        maximum = body.add("ReduceMax", paths, axes=[0], keepdims=0)
        origin = body.add("ArgMax", paths, axis=0, keepdims=0)
        none = body.constant(np.zeros(K))
        best = body.add("Add", body.add("Where", "is_first", none, maximum), "scores")
        return body._graph(
            [("before", "DOUBLE", [K]), ("scores", "DOUBLE", [K]), ("is_first", "BOOL", [])],
            [(best, "DOUBLE", [K]), (origin, "INT64", [K])],
        )

    def _backward(self, K):
        """Return the body of the backward Scan, which replaces a label by its predecessor."""
        body = _Graph(self.onnx, "backward_")
        before = body.add("Gather", "origin", "label")
        label = body.add("Identity", "label")
        inputs = [("label", "INT64", []), ("origin", "INT64", [K])]
        return body._graph(inputs, [(before, "INT64", []), (label, "INT64", [])])

    def _graph(self, inputs, outputs):
        make = self.onnx.helper.make_tensor_value_info
        inputs, outputs = (
            [make(name, self._type(kind), shape) for name, kind, shape in each]
            for each in (inputs, outputs)
        )
        return self.onnx.helper.make_graph(
            self.nodes, f"{self.prefix}step", inputs, outputs, self.constants
        )
