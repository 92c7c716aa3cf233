"""Models as JSON, with the schema in doc/explanation/export_format.rst."""

import json

import numpy as np

FORMAT, VERSION = "sstruct model", 1


def json_content(model, created_by):
    """Return the content of a JSON file with an ExportedModel, as bytes.

    Raises
    ------
    ValueError
        If a name cannot be encoded as UTF-8.
    """
    # One field per line, from which readers name the field in errors.
    lines = [f'"{name}": {_text(value, name)}' for name, value in _fields(model, created_by)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _text(value, name):
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start : error.end]
        raise ValueError(
            f"{name} contains {found!a}, which UTF-8 cannot encode; rename it before the fit"
        ) from None
    return text


def _fields(model, created_by):
    """Yield the names and values of all fields, in order."""
    yield "format", FORMAT
    yield "version", VERSION
    yield "created_by", created_by
    yield "kind", model.kind
    yield "classes", model.classes
    yield "vectorizer", model.vectorizer
    if model.kind == "chain":
        yield "start", _finite(model.start)
        yield "end", _finite(model.end)
        yield "transitions", None if model.transitions is None else _table(model.transitions)
        allowed = model.allowed_next
        yield "allowed_next", None if allowed is None else [_indices(row) for row in allowed]
        allowed = model.allowed_boundaries
        yield "allowed_first", None if allowed is None else _indices(allowed[0])
        yield "allowed_last", None if allowed is None else _indices(allowed[1])
    yield "intercept", _finite(model.intercept)
    yield "center", None if model.center is None else _finite(model.center)
    yield "scale", None if model.scale is None else _finite(model.scale)
    yield "features", model.features
    yield "weights", _table(model.weights)


def _finite(values):
    return np.asarray(values, dtype=np.float64).tolist()


def _indices(allowed):
    return np.flatnonzero(allowed).tolist()


def _table(values):
    """Return a table of numbers; only the nonzero ones if this is shorter."""
    rows, columns = np.nonzero(values)
    table = {"shape": list(values.shape)}
    if 2 * len(rows) > values.size:
        return table | {"values": _finite(values.ravel())}
    counts = np.bincount(rows, minlength=len(values))
    return table | {
        "counts": counts.tolist(),
        "columns": columns.tolist(),
        "values": _finite(values[rows, columns]),
    }
