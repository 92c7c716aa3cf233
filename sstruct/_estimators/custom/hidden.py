"""Partially known labelings of user-defined structures, completed by the oracle."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sstruct._input.completion import KnownOutputs
from sstruct._problems.custom.oracle_calls import encoded


@dataclass(frozen=True)
class KnownLabelings(KnownOutputs):
    """The counterpart of KnownLabels for labelings that only the oracle understands.

    Attributes
    ----------
    oracle : object
        With ``complete``.
    samples : list
    codes : list
        The labelings as passed to ``fit``; None for samples of weight 0.
    """

    oracle: Any
    samples: list
    codes: list

    @property
    def n_hidden(self):
        """Number of training samples; only the oracle knows their hidden labels."""
        return sum(y is not None for y in self.codes)

    def completed(self, w):
        """Return the completion of each labeling by the oracle, the initial one if w is None."""
        pairs = zip(self.samples, self.codes)
        return [None if y is None else self.oracle.complete(x, y, w) for x, y in pairs]

    def changed(self, codes, others):
        """Count the labelings whose joint features differ."""
        return sum(
            y is not None and self._differ(x, y, z) for x, y, z in zip(self.samples, codes, others)
        )

    def _differ(self, x, y, z):
        a, b = (self.oracle.joint_feature(x, encoded(self.oracle, x, each)) for each in (y, z))
        if sparse.issparse(a) or sparse.issparse(b):
            return abs(sparse.csr_array(a) - sparse.csr_array(b)).max() > 0
        return not np.array_equal(a, b)
