"""Transformers of ragged data, for pipelines that end in a structured model."""

from sstruct.preprocessing._per_node import PerNode
from sstruct.preprocessing._sequence_vectorizer import SequenceVectorizer

__all__ = ["PerNode", "SequenceVectorizer"]
