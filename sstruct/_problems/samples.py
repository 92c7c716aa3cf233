"""Samples as a user gave them, one by one."""

from scipy import sparse


def items(values, name):
    """Return samples as a list, without a look at them."""
    if isinstance(values, str | bytes | dict | set) or not hasattr(values, "__getitem__"):
        raise TypeError(
            f"{name} must be a list with an item a sample, found {type(values).__name__}"
        )
    if sparse.issparse(values):
        values = values.tocsr()
    rows = values.iloc if hasattr(values, "iloc") else values
    n = values.shape[0] if hasattr(values, "shape") and len(values.shape) else len(values)
    return [rows[i] for i in range(n)]
