"""Functions shared by displays; matplotlib is imported only when something is drawn."""

import numpy as np


def import_pyplot(caller):
    """Return matplotlib.pyplot, or raise an ImportError with installation instructions."""
    # The equivalent check of scikit-learn is private.
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} requires matplotlib: install sstruct[plot].") from error
    return plt


def drawing_axes(display, ax, figsize=None):
    """Return matplotlib.pyplot and the axes, which are made if `ax` is None."""
    plt = import_pyplot(f"{type(display).__name__}.plot")
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained" if figsize else None)
    return plt, ax


def draw_curves(display, ax, curves, kwargs, xlabel, ylabel, kind="plot"):
    """Plot curves, with one color for each name; return axes, figure and lines.

    curves : list of (name, xs, ys, options); `kwargs` of the user take precedence
    """
    _, ax = drawing_axes(display, ax)
    colors, lines = {}, []
    for name, xs, ys, options in curves:
        options = options | kwargs
        if name in colors:
            options.setdefault("color", colors[name])
        (line,) = getattr(ax, kind)(xs, ys, **options)
        colors[name] = line.get_color()
        lines.append(line)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(True, which="major", alpha=0.3)
    ax.set_axisbelow(True)
    if lines:
        ax.legend()
    return ax, ax.figure, lines


def finite_curves(name, history, keys, xs):
    """Yield label, xs, ys and style of the upper (solid) and lower (dashed) curve of a history."""
    for key, style in zip(keys, ("-", "--")):
        ys = np.asarray(history[key], dtype=float)
        shown = np.isfinite(ys)
        if shown.any():
            yield f"{name}, {key.replace('_', ' ')}", xs[shown], ys[shown], style
