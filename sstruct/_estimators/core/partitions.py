"""Validate, score and gather samples in partitions on a cluster."""

import os
from contextlib import nullcontext
from itertools import chain

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config

from sstruct._checks.arrays import concatenated, is_sized
from sstruct._checks.compressed import stacked
from sstruct._checks.shown import errors_of
from sstruct._cluster.partition import (
    check_length,
    choose,
    existing_partitions,
    futures,
    gathered,
    lists_of,
    rows_of,
)
from sstruct._compat import num_samples
from sstruct._estimators.core.structure import weighted_accuracy
from sstruct._estimators.core.training import Samples
from sstruct._input import frames
from sstruct._input.mapped_files import open_mapped
from sstruct._input.ragged import check_not_lengths, check_weights
from sstruct._input.threads import current_client, in_task
from sstruct.sequences import Sequences


class Partitions:
    """Partitions of samples as futures, for built-in structures.

    Dask replaces futures in lists by their results when it calls a task, but not in this object.

    Parameters
    ----------
    X : list of Future
    y : list of Future or None
        If None, X has pairs of samples and labelings.
    rows : bool
        Whether samples are rows of arrays, sparse matrices and frames, not items of lists.
    """

    def __init__(self, X, y, rows):
        self.X, self.y, self.rows = X, y, rows

    @classmethod
    def from_arguments(cls, X, y, rows):
        """Return the Partitions of the arguments of ``fit``."""
        client = current_client()
        y = None if y is None else futures(client, y, "y", rows)
        return cls(futures(client, X, "X", rows), y, rows)

    def __len__(self):
        return len(self.X)

    def of_weight(self, sample_weight, rejects_lengths=False):
        """Return the partitions with a sample of positive weight, and the weights of all samples.

        Raises
        ------
        ValueError
            If there is no such sample; with `rejects_lengths` also if the weights are integers that
            equal the numbers of labels of the samples.
        """
        client = current_client()
        parts, lengths = self._parts(client)
        if not sum(lengths):
            raise ValueError("X has 0 samples, expected at least 1")
        if rejects_lengths and sample_weight is not None:
            sources = [part.source for part in parts]
            found = gathered(client, client.map(_numbers_of_labels, sources, pure=False), sources)
            check_not_lengths(sample_weight, np.concatenate(found))
        weights = check_weights(sample_weight, sum(lengths))
        return choose(parts, lengths, weights), weights

    def here(self):
        """Return all samples and labelings, concatenated, in a task.

        Raises
        ------
        ValueError
            If there are no partitions.
        """
        from distributed import worker_client

        if not len(self):
            raise ValueError("X has 0 partitions, expected at least 1")
        with worker_client() as client:  # lets other tasks run until the partitions arrive
            pairs = client.gather([part.source for part in self._parts(client)[0]])
        return _in_one_piece(pairs)

    def map_splits(self, function, splits, *args):
        """Call a function for each split of the partitions, each in a separate task.

        Partitions are dependencies of the tasks, so no task waits for another one, and one thread
        of one worker is sufficient.

        Parameters
        ----------
        function : callable
            ``function(train, test, *args)`` with two pairs of samples and labelings.
        splits : list of (array-like of int or bool, array-like of int or bool)
            Partitions for training and for testing.
        *args : objects
            Further arguments of all calls.

        Returns
        -------
        results : list
            In the order of the splits.
        rows : list of ndarray of int
            The indices of the training samples of each split among all samples.
        """
        from distributed import worker_client

        numbers = [[np.arange(len(self))[rows] for rows in map(np.asarray, s)] for s in splits]
        for k, (train, test) in enumerate(numbers):
            if not len(train) or not len(test):
                name = "test" if len(train) else "training"
                raise ValueError(f"split {k} of cv has no {name} partition, expected at least 1")
        # A waiting task releases its thread to other tasks.
        with worker_client() if in_task() else nullcontext(current_client()) as client:
            parts, lengths = self._parts(client)
            sources = [part.source for part in parts]
            pairs = [[[sources[i] for i in rows] for rows in split] for split in numbers]
            tasks = [
                client.submit(_call_on_split, get_config(), function, *split, *args, pure=False)
                for split in pairs
            ]
            results = gathered(client, tasks, sources)
        part_rows = np.split(np.arange(sum(lengths)), np.cumsum(lengths)[:-1])
        return results, [np.concatenate([part_rows[i] for i in train]) for train, _ in numbers]

    def _parts(self, client):
        take = _rows_taken if self.rows else _taken
        return existing_partitions(client, self.X, self.y, take, self.rows)


def _taken(X, y, number):
    """Task: return a partition as lists, or as Sequences; X may be mapped from a file."""
    if _is_path(X) and y is not None:
        with errors_of(f"partition {number} of X"):
            X = Sequences.from_lengths(open_mapped(X), [len(labels) for labels in y])
    if not isinstance(X, Sequences):
        return lists_of(X, y, number)
    return rows_of(X, y, number)


def _rows_taken(X, y, number):
    """Task: return a partition of rows; X and y may be mapped from files."""
    X, y = (open_mapped(part) if _is_path(part) else part for part in (X, y))
    return rows_of(X, y, number)


def _numbers_of_labels(pair):
    """Task: return the number of labels of each sample, 0 if it has no list of labels."""
    return np.array([len(labels) if is_sized(labels) else 0 for labels in pair[1]], dtype=np.int64)


def _is_path(values):
    return isinstance(values, str | os.PathLike)


def _call_on_split(config, function, train, test, *args):
    """Task: call a function with the partitions for training and for testing."""
    with config_context(**config):
        return function(_in_one_piece(train), _in_one_piece(test), *args)


def _in_one_piece(pairs):
    """Return the concatenated samples and labelings of partitions."""
    return tuple(_concatenated(list(parts)) for parts in zip(*pairs, strict=True))


def _concatenated(parts):
    """Return the concatenation of partitions, a list if they are lists or Sequences."""
    if sparse.issparse(parts[0]):
        return stacked(parts, "the partitions")
    if isinstance(parts[0], list | Sequences):
        return list(chain(*parts))
    table = frames.joined(parts)
    return concatenated(parts, "the partitions") if table is None else table


def chosen_samples(X, y, places, n_samples, number):
    """Return the selected samples of a partition, without a copy if all are selected.

    Raises
    ------
    ValueError
        If the partition does not have `n_samples` samples.
    """
    check_length(X, n_samples, number)
    if len(places) == num_samples(X):
        return X, y
    samples = Samples(X, y).subset(places)
    return samples.X, samples.y


def parted_score(structure, model, X, y, sample_weight):
    """Return the score of a FittedModel on partitions."""
    partitions = Partitions.from_arguments(X, y, structure.samples_are_rows)
    if in_task():
        X, y = partitions.here()
        samples = structure.pack(X, model)
        return structure.score(model, samples, structure.truth(model, samples, y, sample_weight))
    parts, weights = partitions.of_weight(sample_weight)
    client = current_client()
    [fitted] = client.scatter([(structure, model)], hash=False)
    found = [
        client.submit(
            _score_in,
            fitted,
            part.source,
            weights[part.rows],
            part.chosen,
            part.n_samples,
            part.number,
        )
        for part in parts
    ]
    scores, weights = map(np.array, zip(*client.gather(found), strict=True))
    return weighted_accuracy(scores, weights)


def _score_in(fitted, pair, weights, *selection):
    """Task: return the score of a model on a partition, and the sum of its weights."""
    X, y = chosen_samples(*pair, *selection)
    structure, model = fitted
    with errors_of(f"partition {selection[-1]}"):
        samples = structure.pack(X, model)
        truth = structure.truth(model, samples, y, weights)
        total = truth[1].sum()
        return structure.score(model, samples, truth) if total else 0.0, total
