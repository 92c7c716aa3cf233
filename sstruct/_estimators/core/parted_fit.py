"""Fits whose samples are in partitions on a cluster: sweeps over them, and their Training."""

import os
from itertools import chain, pairwise

import numpy as np
from joblib.parallel import get_active_backend
from scipy import sparse

from sstruct._checks.arrays import is_sized
from sstruct._checks.compressed import stacked
from sstruct._checks.shown import shortened
from sstruct._cluster.dask_parts import PartsOnDask
from sstruct._cluster.parts import choose, lists_of, parts_there, rows_of
from sstruct._compat import num_samples
from sstruct._estimators.core.held_out import Samples
from sstruct._estimators.core.lam_from_scale import joined, scale_of
from sstruct._estimators.core.sample_data import SampleData, fingerprint
from sstruct._estimators.core.threads import active_client, in_task
from sstruct._estimators.core.training import Quality, Training, alike
from sstruct._input.ragged import check_weights, is_of_nodes
from sstruct._solvers.core.seed import random_of
from sstruct._solvers.rounds.parts import PartedBlocks, facts_of, part_of, size_of
from sstruct._solvers.rounds.solver import Rounds
from sstruct.mapped import open_mapped
from sstruct.sequences import Sequences


class PartOfFit:
    """One partition of a fit, where the data are: labels, packed problem, rounds.

    Parameters
    ----------
    X, y : list; or array, sparse matrix or frame, where samples are rows
        All samples of the partition.
    estimator : BaseSSVM
    chosen : list of int
        The samples of positive weight.
    weights : ndarray of shape (len(chosen),)
    number : int
        Of the partition.
    """

    def __init__(self, X, y, estimator, chosen, weights, number):
        self.X, self.y = _chosen(X, y, chosen)
        self.estimator, self.weights, self.number = estimator, weights, number
        estimator._is_part = True
        self.sample_weight = self.block_weight = self.problem = self.rounds = None

    def labels(self):
        """Return the distinct labels that train; None: no class is to be found."""
        try:
            return self.estimator._distinct_labels(self.y)
        except (ValueError, TypeError):
            self._prepared()  # which names the sample
            raise

    def _prepared(self):
        try:
            self.estimator._check_given(self.X, self.y, self.weights)
            return self.estimator._training_of(self.X, self.y, self.weights)
        except (ValueError, TypeError) as error:
            raise type(error)(f"partition {self.number}: {error}") from error

    def pack(self, classes, for_file):
        """Check and pack the samples; return what the caller has to know of them.

        for_file : bool
            Whether there is to be a checkpoint, which other samples must not go on from.
        """
        if classes is not None:
            self.estimator.set_params(classes=classes)
        training = self._prepared()
        nodes, automatic = training.nodes, isinstance(self.estimator.lam, str)
        self.X = self.y = training.nodes = None
        self.problem, self.sample_weight = training.problem, training.sample_weight
        return {
            **facts_of(self.problem),
            "sample_weight": self.sample_weight,
            "total_weight": training.total_weight,
            "bounds": self.estimator._bounds(self.problem),
            "scale": scale_of(nodes, training.total_weight) if automatic else None,
            "inference": training.inference,
            "attributes": training.attributes,
            "digest": fingerprint(self.estimator._told_apart(training)) if for_file else "",
        }

    def share(self, total_weight):
        """Hear the sum of all partitions' weights."""
        self.block_weight = self.sample_weight / total_weight

    def start(self, *setup):
        """Make the dual state."""
        self.rounds = part_of(self.problem, self.block_weight, *setup)

    def advance(self, *news):
        """See `PartRounds`, here and below."""
        return self.rounds.advance(*news)

    def measure(self, *news):
        return self.rounds.measure(*news)

    def rebuild(self, *share):
        return self.rounds.rebuild(*share)

    def keep(self, *news):
        return self.rounds.keep(*news)

    def take_up(self, *kept):
        self.rounds.take_up(*kept)


def parted_training(estimator, X, y, sample_weight, validation):
    """Return the Training of samples in partitions, whose problem is a `PartedBlocks`.

    Raises
    ------
    ValueError, TypeError
        Where a parameter does not go with partitions, or samples are not as expected; names
        partition and sample.
    """
    _check_goes_with_partitions(estimator)
    if any(given is not None for given in validation):
        raise ValueError("X_val and y_val do not go with partitions on a cluster: leave None")
    client = client_of_partitions()
    sources, lengths = _parts_of(client, X, y, estimator._samples_are_rows)
    weights = check_weights(sample_weight, sum(lengths))
    if not weights.any():
        raise ValueError("X has no sample of positive weight")
    sources = choose(sources, lengths, weights)
    local = estimator.__class__(**estimator.get_params())
    # One for all parts, where it says how labelings are searched.
    local.random_state = int(random_of(estimator.random_state).randint(np.iinfo(np.int32).max))
    local.checkpoint = None  # which is written here
    parts = PartsOnDask(
        client,
        PartOfFit,
        [(part, (local, part.chosen, weights[part.rows], part.number)) for part in sources],
        size_of,
    )
    classes = estimator._parameters().get("classes")
    if classes is None or estimator._classes_by_type:
        found = parts.begin("labels", [()] * len(parts))
        _check_one_kind(found, [part.number for part in sources])
        classes = None if found[0] is None else estimator._joined_labels(found)
    facts = parts.begin("pack", [(classes, estimator.checkpoint is not None)] * len(parts))
    _check_agree(facts, [part.number for part in sources])
    total = sum(fact["total_weight"] for fact in facts)
    parts.begin("share", [(total,)] * len(parts))
    problem = PartedBlocks(parts, facts)
    problem.bounds = facts[0]["bounds"]
    training = Training(
        problem,
        np.concatenate([fact["sample_weight"] for fact in facts]),
        total,
        None,
        SampleData(sum(lengths), [np.array([f["digest"] for f in facts])], lambda n: []),
        max((fact["inference"] for fact in facts), key=lambda f: list(Quality).index(f.quality)),
        facts[0]["attributes"],
    )
    training.lam = estimator._lam(total, lambda: joined([fact["scale"] for fact in facts]))
    return training


def cut_for_cluster(estimator, X, y, sample_weight, validation):
    """Cut samples that are here into parts for a cluster; None: they train here.

    Under ``parallel_config(backend="dask", n_jobs=k)``, into k parts, where parameters go with
    parts and samples are in lists, Sequences, arrays or matrices.
    """
    client, n_parts = active_client(), get_active_backend()[1]
    if client is None or in_task() or n_parts is None or n_parts < 2:
        return None
    if any(given is not None for given in validation) or is_of_nodes(sample_weight):
        return None
    if estimator._samples_are_rows:
        cuts = sparse.issparse(X) or getattr(X, "ndim", 0) == 2
    else:
        stacked = isinstance(X, np.ndarray) and (X.ndim > 2 or X.dtype == object)
        cuts = stacked or isinstance(X, list | Sequences)
    if not cuts or not (is_sized(y) or sparse.issparse(y)) or num_samples(X) != num_samples(y):
        return None
    try:
        _check_goes_with_partitions(estimator)
    except ValueError:
        return None
    from dask import delayed

    ends = np.linspace(0, num_samples(X), min(n_parts, num_samples(X)) + 1).round().astype(int)
    parts = [Samples(X, y).of(np.arange(a, b)) for a, b in pairwise(ends)]
    return tuple(
        [delayed(getattr(part, name), traverse=False) for part in parts] for name in ("X", "y")
    )


def client_of_partitions():
    """Return the client of joblib's active backend, or Dask's current one."""
    client = active_client()
    if client is None:
        from distributed import default_client

        client = default_client()
    return client


def _parts_of(client, X, y, rows):
    """Return partitions of a built-in structure, and their lengths."""
    return parts_there(client, X, y, _rows_taken if rows else _taken, rows)


def _taken(X, y, number):
    """Task: a partition as lists; Sequences stay what they are, and X may be of a mapped file."""
    if _is_path(X) and y is not None:
        try:
            X = Sequences.from_lengths(open_mapped(X), [len(labels) for labels in y])
        except (ValueError, TypeError) as error:
            raise type(error)(f"partition {number} of X: {error}") from error
    if not isinstance(X, Sequences):
        return lists_of(X, y, number)
    if len(X) != num_samples(y):
        raise ValueError(f"partition {number} has {len(X)} samples in X and {len(y)} in y")
    return X, y


def _rows_taken(X, y, number):
    """Task: a partition of rows; X and y may be of mapped files."""
    X, y = (open_mapped(part) if _is_path(part) else part for part in (X, y))
    return rows_of(X, y, number)


def _is_path(values):
    return isinstance(values, str | os.PathLike)


def here(X, y, rows):
    """Return partitions' samples and labelings in one piece, in a task of the cluster."""
    from distributed import worker_client

    with worker_client() as client:  # which lets other tasks run until they are there
        parts, _ = _parts_of(client, X, y, rows)
        pairs = client.gather([part.source for part in parts])
    return tuple(
        _joined(list(some), name) for some, name in zip(zip(*pairs, strict=True), ("X", "y"))
    )


def _joined(parts, name):
    """Return partitions in one piece, of the kind of the first one."""
    first = parts[0]
    if sparse.issparse(first):
        return stacked(parts, name)
    if hasattr(first, "iloc"):
        import pandas

        return pandas.concat(parts)
    return list(chain(*parts)) if isinstance(first, list | Sequences) else np.concatenate(parts)


def _chosen(X, y, places):
    """Return samples of a partition, those of all places as they are."""
    if len(places) == num_samples(X):
        return X, y
    samples = Samples(X, y).of(places)
    return samples.X, samples.y


def parted_right(estimator, X, y, sample_weight):
    """Return the share of labels that an estimator predicts in each partition, and its weight."""
    if in_task():
        return estimator._right(*here(X, y, estimator._samples_are_rows), sample_weight)
    client = client_of_partitions()
    parts, lengths = _parts_of(client, X, y, estimator._samples_are_rows)
    weights = check_weights(sample_weight, sum(lengths))
    [model] = client.scatter([estimator], hash=False)
    found = [
        client.submit(_right_in, model, part.source, part.chosen, weights[part.rows], part.number)
        for part in choose(parts, lengths, weights)
    ]
    return tuple(map(np.array, zip(*client.gather(found), strict=True)))


def _right_in(estimator, pair, chosen, weights, number):
    """Task: the share of labels in a partition that an estimator predicts, and their weight."""
    try:
        right, weights = estimator._right(*_chosen(*pair, chosen), weights)
    except (ValueError, TypeError) as error:
        raise type(error)(f"partition {number}: {error}") from error
    total = weights.sum()
    return (right * weights).sum() / total if total > 0 else 0.0, total


def _check_goes_with_partitions(estimator):
    """Refuse what needs all samples in one place."""
    parameters, name = estimator._parameters(), "partitions on a cluster"
    for key in ("loss", "class_weight"):
        value = parameters.get(key)
        if isinstance(value, str) and value == "balanced":
            raise ValueError(
                f"{key}='balanced' does not go with {name}, as it counts all labels: give weights"
            )
    if isinstance(parameters.get("edges"), str) and estimator.edges == "tree":
        raise ValueError(
            f"edges='tree' does not go with {name}, as it looks at all labels: give edges"
        )
    if estimator.solver not in ("auto", "mp-bcfw", "bcfw"):
        raise ValueError(f"solver={estimator.solver!r} does not go with {name}: leave 'auto'")
    if estimator.early_stopping:
        raise ValueError(f"early_stopping=True does not go with {name}: leave False")
    for key, values in Rounds.refused(parameters):
        raise ValueError(
            f"{key}={parameters[key]!r} does not go with {name}: leave {key}={values[0]!r}"
        )


def _check_one_kind(found, numbers):
    """Refuse partitions of which some have sets of labels and others one label a row."""
    kinds = ["one label a row" if labels is not None else "sets of labels" for labels in found]
    for kind, number in zip(kinds, numbers, strict=True):
        if kind != kinds[0]:
            raise ValueError(
                f"partition {number} of y has {kind}, but partition {numbers[0]} {kinds[0]}"
            )


def _check_agree(facts, numbers):
    """Refuse partitions whose weights would mean something else."""
    first = facts[0]["attributes"]
    for fact, number in zip(facts, numbers, strict=True):
        for name, expected in first.items():
            found = fact["attributes"][name]
            if not alike(found, expected):
                raise ValueError(
                    f"partition {number}: {name.lstrip('_')} is {shortened(found)}, but "
                    f"{shortened(expected)} in partition {numbers[0]}"
                )
