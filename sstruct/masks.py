"""Masks of allowed and forbidden transitions, and kinds of transitions that share a weight."""

from sstruct._input.transition_masks import bio_kinds, bio_transitions, bioes_transitions

__all__ = ["bio_kinds", "bio_transitions", "bioes_transitions"]
