"""Generated sentences with dependency trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstruct._checks.parameters import random_of
from sstruct.datasets._synthetic import RandomState, _as_size, _check_counts, _check_lengths
from sstruct.inference import dependency_tree

# Smallest distances from the head of the bins that have an indicator feature for each direction.
DISTANCES = np.array([1, 2, 3, 6])


def make_dependency_trees(
    n_samples: int = 100,
    *,
    min_length: int = 3,
    max_length: int = 10,
    n_tags: int = 5,
    n_labels: int = 0,
    noise: float = 0.1,
    projective: bool = False,
    random_state: RandomState = None,
) -> tuple[list[Any], list[Any]]:
    """Generate sentences of random tags, and their best trees under a random grammar.

    The grammar has a random score for each pair of tags of a head and a dependent, and for each
    direction and range of distances. Trees maximize the sum of these scores and of noise, and have
    one child of the root. Labels maximize random scores of pairs of tags, plus noise.

    Parameters
    ----------
    n_samples : int, default=100
        The number of sentences.
    min_length, max_length : int, default=3 and 10
        The range of the number of tokens, whose distribution is uniform.
    n_tags : int, default=5
        The number of tags.
    n_labels : int, default=0
        The number of labels of arcs; 0 for trees without labels.
    noise : float, default=0.1
        The standard deviation of the noise of the score of each arc and label. The scores of the
        grammar have standard deviation 2 for pairs of tags and 1 for distances.
    projective : bool, default=False
        Whether arcs must not cross.
    random_state : int, RandomState instance or None, default=None
        Determines the samples. Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples arrays of shape (n_tokens, n_tokens + 1, n_features)
        Features of all arcs, with one row per token and one column per head; column 0 is the root.
        The first (n_tags + 1) * n_tags features indicate the pair of tags; the root has a separate
        tag. The last 8 features indicate the distance (1, 2, 3 to 5, or at least 6) in each
        direction; they are 0 for arcs from the root.
    y : list of n_samples int arrays of shape (n_tokens,), or of pairs (heads, labels)
        The head of each token, 0 for the root. If `n_labels` is positive, also the label of each
        arc, as an int array.

    See Also
    --------
    sstruct.DependencySSVM : Learn to predict dependency trees.

    Examples
    --------
    >>> from sstruct.datasets import make_dependency_trees
    >>> X, y = make_dependency_trees(2, random_state=0)
    >>> X[0].shape
    (9, 10, 38)
    >>> y[0].tolist()
    [5, 3, 9, 3, 8, 9, 5, 3, 0]
    """
    _check_counts(n_samples=n_samples, n_tags=n_tags)
    _check_lengths(min_length, max_length)
    _check_counts(0, n_labels=n_labels)
    noise = _as_size("noise", noise)

    rng = random_of(random_state)
    n_pairs = (n_tags + 1) * n_tags
    grammar = rng.standard_normal(n_pairs + 2 * len(DISTANCES))
    grammar[:n_pairs] *= 2
    label_scores = rng.standard_normal((n_pairs, n_labels))
    X, y = [], []
    for _ in range(n_samples):
        n = rng.randint(min_length, max_length + 1)
        tags = np.append(n_tags, rng.randint(n_tags, size=n))
        head, token = np.arange(n + 1), np.arange(1, n + 1)[:, np.newaxis]
        pair = tags[np.newaxis, :] * n_tags + tags[1:, np.newaxis]
        features = np.zeros((n, n + 1, len(grammar)))
        np.put_along_axis(features, pair[:, :, np.newaxis], 1, axis=2)
        place = np.searchsorted(DISTANCES, abs(token - head), side="right") - 1
        place = n_pairs + np.where(head < token, place, place + len(DISTANCES))
        far = (head != 0) & (head != token)
        features[(*np.nonzero(far), place[far])] = 1
        features[head == token] = 0
        scores = features @ grammar + noise * rng.standard_normal((n, n + 1))
        heads, _ = dependency_tree(scores, projective=projective)
        heads = heads.astype(np.intp)
        X.append(features)
        if n_labels:
            scores = label_scores[pair[np.arange(n), heads]]
            scores = scores + noise * rng.standard_normal((n, n_labels))
            y.append((heads, scores.argmax(axis=1)))
        else:
            y.append(heads)
    return X, y
