"""Masks of allowed and forbidden transitions."""

from sstruct._input.transition_masks import bio_transitions, bioes_transitions

__all__ = ["bio_transitions", "bioes_transitions"]
