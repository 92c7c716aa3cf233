"""Graphs decoded by enumeration, and without completion of unknown labels."""

import pytest

from sstruct._estimators.graph import graph_structure, nearest_labels
from sstruct._testing._graph_enumeration import graph_enumeration


@pytest.fixture
def enumerated(monkeypatch):
    """Decoding by enumeration, whatever the model: every certificate is exact."""
    monkeypatch.setattr(graph_structure, "decoder_of", lambda *_, **__: graph_enumeration())


@pytest.fixture
def without_completion(monkeypatch):
    """Unknown nodes are all too far from known labels to be completed."""
    monkeypatch.setattr(nearest_labels, "MOST_EDGES", 0)
