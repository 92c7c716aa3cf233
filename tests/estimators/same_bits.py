"""Fits whose results must not depend on threads, workers or interruptions."""

import os

import numpy as np
from sklearn.base import clone

from sstruct._solvers.core.checkpoint import Checkpoint
from tests.options import solver_with


def assert_same_bits(a, b):
    """Compare two models and the histories of their fits, except for times."""
    np.testing.assert_array_equal(a.w_, b.w_)
    for name in ("status_", "n_iter_", "n_oracle_calls_", "objective_", "dual_objective_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in [name for name in a.history_ if "seconds" not in name]:
        np.testing.assert_array_equal(a.history_[name], b.history_[name], err_msg=name)
    assert getattr(a, "lam_", None) == getattr(b, "lam_", None)
    assert getattr(a, "whole_objective_", None) == getattr(b, "whole_objective_", None)


def keep_files(patch, path):
    """Save after every pass; return the list of the contents of all files.

    Files are not flushed to the disk, which only matters if the machine loses power.
    """
    kept, save = [], Checkpoint.save

    def keep(self, arrays, notes):
        save(self, arrays, notes)
        kept.append(path.read_bytes())

    patch.setattr(os, "fsync", lambda file: None)
    patch.setattr(Checkpoint, "due", lambda self: True)
    patch.setattr(Checkpoint, "save", keep)
    return kept


def check_resuming(model, X, y, path, monkeypatch, least, *, at_end=True, every=1):
    """Resume a fit from the files of some passes; return the files, at least `least`.

    at_end : whether to resume from the last file, too, after which there is no pass
    every : the number of passes from one resumed file to the next, at least a sixth of `least`
    """
    whole = clone(model).fit(X, y)
    model = clone(model).set_params(solver=solver_with(model.solver, checkpoint=path))
    with monkeypatch.context() as patch:
        kept = keep_files(patch, path)
        assert_same_bits(clone(model).fit(X, y), whole)
    assert len(kept) >= least
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        for content in kept[: -1 : max(every, least // 6)] + kept[-1:] * at_end:
            path.write_bytes(content)
            assert_same_bits(clone(model).fit(X, y), whole)
    return kept
