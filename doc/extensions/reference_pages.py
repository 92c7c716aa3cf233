"""Rearrange reference pages to show examples first and to group long lists of parameters.

The order of the docstrings in the sources follows numpydoc. This extension changes the output of
numpydoc.
"""

import re

# Groups of parameters of estimators, in the order of the docstrings, with their titles.
GROUPS = {
    "Model": (
        *("oracle", "parents", "edges", "constraints", "connectivity"),
        *("pairwise", "inference", "max_oracle_time", "costs"),
        *("duration_bins", "min_duration", "max_duration", "scale", "segment_features"),
        "self_transitions",
        *("transitions", "boundaries", "transition_mask", "class_scores"),
        *("method", "symmetric", "allow_unmatched", "fit_intercept"),
        *("labeled", "projective", "single_root"),
        *("bounds", "prior", "classes", "ignore_label"),
    ),
    "Objective": (
        *("lam", "pairwise_scale", "loss", "tolerance", "class_weight", "rescaling", "search"),
        "window_size",
    ),
    "Solver": ("solver",),
    "Stopping": ("tol", "max_iter", "max_time"),
    "Running": ("warm_start", "n_jobs", "batch_size", "random_state", "verbose"),
}
GROUP_OF = {name: title for title, names in GROUPS.items() for name in names}
# Minimum number of parameters that are shown in groups.
MANY = 10


def examples_first(lines):
    """Move the examples, with the references below them, before the parameters."""
    try:
        start, parameters = lines.index(".. rubric:: Examples"), lines.index(":Parameters:")
    except ValueError:
        return lines
    end = next(
        (at for at in range(start + 1, len(lines)) if lines[at].startswith((".. rubric::", ":"))),
        len(lines),
    )
    examples = [*lines[start:end], ""]
    rest = lines[:start] + lines[end:]
    return rest[:parameters] + examples + rest[parameters:]


def grouped(lines):
    """Insert the name of each group before its first parameter."""
    start = lines.index(":Parameters:") if ":Parameters:" in lines else len(lines)
    end = next(
        (at for at in range(start + 1, len(lines)) if re.match(r"\S", lines[at])), len(lines)
    )
    found = [re.match(r"    \*\*(\w+)\*\*", line) for line in lines[start:end]]
    names = [match[1] for match in found if match]
    if len(names) < MANY or not set(names) <= set(GROUP_OF):
        return lines
    out, last = lines[: start + 1], None
    for match, line in zip(found[1:], lines[start + 1 : end], strict=True):
        if match and GROUP_OF[match[1]] != last:
            last = GROUP_OF[match[1]]
            out += ["", f"    .. rubric:: {last}", "       :class: parameter-group", ""]
        out.append(line)
    return out + lines[end:]


def rearrange(app, what, name, obj, options, lines):
    lines[:] = grouped(examples_first(lines))


def setup(app):
    app.connect("autodoc-process-docstring", rearrange, priority=900)  # after numpydoc
    return {"parallel_read_safe": True}
