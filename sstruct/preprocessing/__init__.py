"""Transformers of ragged data for pipelines, and label sets of hierarchies."""

from sstruct.preprocessing._hierarchical_labels import hierarchical_labels
from sstruct.preprocessing._per_node import PerNode
from sstruct.preprocessing._sequence_vectorizer import SequenceVectorizer

__all__ = ["PerNode", "SequenceVectorizer", "hierarchical_labels"]
