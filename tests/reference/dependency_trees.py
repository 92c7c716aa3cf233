"""Dependency trees by their definition, all of them."""

from functools import cache
from itertools import product


def is_tree(heads):
    """Whether every token, numbered from 1 on, descends from the root, 0."""
    for token in range(1, len(heads) + 1):
        seen = set()
        while token != 0:
            if token in seen:
                return False
            seen.add(token)
            token = heads[token - 1]
    return True


def is_projective(heads):
    """Whether all tokens between a head and its dependent descend from the head."""
    for d, h in enumerate(heads, 1):
        for t in range(min(d, h) + 1, max(d, h)):
            while t not in (0, h):
                t = heads[t - 1]
            if t != h:
                return False
    return True


@cache
def every(n, projective=False, single_root=True):
    """All trees of n tokens, as tuples of heads."""
    return [
        heads
        for heads in product(range(n + 1), repeat=n)
        if is_tree(heads)
        and (not single_root or heads.count(0) == 1)
        and (not projective or is_projective(heads))
    ]
