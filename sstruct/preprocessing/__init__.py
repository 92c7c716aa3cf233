"""Transformers for ragged data, superpixel graphs and label sets of hierarchies."""

from sstruct.preprocessing._arc_vectorizer import ArcVectorizer
from sstruct.preprocessing._hierarchical_labels import hierarchical_labels
from sstruct.preprocessing._per_node import PerNode
from sstruct.preprocessing._sequence_vectorizer import SequenceVectorizer
from sstruct.preprocessing._superpixels import pixel_labels, superpixel_graph, superpixel_labels

__all__ = [
    "ArcVectorizer",
    "PerNode",
    "SequenceVectorizer",
    "hierarchical_labels",
    "pixel_labels",
    "superpixel_graph",
    "superpixel_labels",
]
