"""matplotlib, imported only where something is drawn; what displays of curves share."""

import numpy as np


def import_pyplot(caller):
    """Return matplotlib.pyplot, or raise an ImportError that says what to install."""
    # scikit-learn has such a check, but under a private name.
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: install sstruct[plot].") from error
    return plt


def draw_curves(display, ax, curves, kwargs, xlabel, ylabel, kind="plot"):
    """Draw curves into axes, those of one name in one color; return axes, figure and lines.

    curves : list of (name, xs, ys, options); `kwargs`, which users give, take precedence
    """
    plt = import_pyplot(f"{type(display).__name__}.plot")
    if ax is None:
        _, ax = plt.subplots()
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
    """Yield label, xs, ys and style of an upper (solid) and a lower (dashed) curve of a history."""
    for key, style in zip(keys, ("-", "--")):
        ys = np.asarray(history[key], dtype=float)
        shown = np.isfinite(ys)
        if shown.any():
            yield f"{name}, {key.replace('_', ' ')}", xs[shown], ys[shown], style
