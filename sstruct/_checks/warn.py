"""Warnings that refer to the line of the user's code."""

import sys
import warnings

# Frames of these packages are skipped: pipelines and searches of scikit-learn call fits, and joblib
# calls those of folds.
INSIDE = ("sstruct.", "sklearn.", "joblib.")


def warn_user(message, category=UserWarning):
    """Issue a warning that refers to the line of the user that led to it."""
    frame, level = sys._getframe(1), 2
    while frame is not None and f"{frame.f_globals.get('__name__')}.".startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
