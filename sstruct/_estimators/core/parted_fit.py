"""Fits of samples in partitions on a cluster."""

import numpy as np
from joblib.parallel import get_active_backend
from scipy import sparse

from sstruct._checks.arrays import is_partitioned, is_sized
from sstruct._checks.parameters import drawn_seed
from sstruct._checks.shown import shortened
from sstruct._cluster.dask_partitions import DaskPartitions
from sstruct._cluster.partition import changed, cuts
from sstruct._compat import num_samples
from sstruct._estimators.core.fit import (
    check_given,
    identifying_arrays,
    pack_training,
    resolve_lam_and_scale,
)
from sstruct._estimators.core.lam_from_scale import joined, scale_of
from sstruct._estimators.core.partitions import Partitions, chosen_samples
from sstruct._estimators.core.prior import prior_weights, with_prior
from sstruct._estimators.core.sample_data import SampleData, fingerprint
from sstruct._estimators.core.training import Quality, Samples, Training, have_same_values
from sstruct._input.ragged import NO_NODES, NoNodesError, is_of_nodes
from sstruct._input.threads import active_client, current_client, in_task
from sstruct._solvers.rounds.partitioned_blocks import (
    PartitionedBlocks,
    facts_of,
    padding_of,
    part_of,
    size_of,
)
from sstruct.sequences import Sequences


class PartOfFit:
    """The state of one partition on its worker: labels, packed problem, rounds.

    Parameters
    ----------
    X, y : list; or array, sparse matrix or frame if samples are rows
        All samples of the partition.
    structure : Structure
    chosen : list of int
        The samples of positive weight.
    weights : ndarray of shape (len(chosen),)
    n_samples : int
        Number of samples of the partition when it was first computed.
    number : int
        Number of the partition.
    """

    def __init__(self, X, y, structure, chosen, weights, n_samples, number):
        self.X, self.y = chosen_samples(X, y, chosen, n_samples, number)
        self.structure, self.weights, self.number = structure, weights, number
        structure.is_part = True
        self.sample_weight = self.block_weight = self.problem = self.rounds = self.digest = None

    def labels(self):
        """Return the distinct labels of training nodes; None if classes need not be found."""
        try:
            return self.structure.distinct_labels(self.y)
        except (ValueError, TypeError):
            self._prepared()  # raises an error that names the sample
            raise

    def _prepared(self):
        try:
            check_given(self.structure, self.X, self.y, self.weights)
            return pack_training(self.structure, Samples(self.X, self.y, self.weights))
        except NoNodesError:
            raise
        except (ValueError, TypeError) as error:
            raise type(error)(f"partition {self.number}: {error}") from error

    def pack(self, classes, for_file):
        """Validate and pack the samples; return a dict of facts for the caller.

        If no node of the partition is labeled, return the NoNodesError.

        for_file : bool
            Whether the fit writes a checkpoint, which identifies its samples.
        """
        if classes is not None:
            self.structure = self.structure.with_parameters(classes=classes)
        try:
            training = self._prepared()
        except NoNodesError as error:
            return error
        nodes, structure = training.nodes, self.structure
        automatic = isinstance(structure.pairwise_scale, str) or isinstance(structure.lam, str)
        self.X = self.y = training.nodes = None
        self.problem, self.sample_weight = training.problem, training.sample_weight
        self.digest = training.data.fingerprint()
        return {
            **facts_of(self.problem),
            "sample_weight": self.sample_weight,
            "total_weight": training.total_weight,
            "bounds": training.bounds,
            "scale": scale_of(nodes, training.total_weight) if automatic else None,
            "inference": training.inference,
            "attributes": training.attributes,
            "empty": training.empty,
            "data_warnings": training.data_warnings,
            "data_digest": self.digest,
            "fit_digest": fingerprint(identifying_arrays(training)) if for_file else "",
            "padding": padding_of(self.problem) if for_file else None,
        }

    def share(self, total_weight, pairwise_scale, digest):
        """Set the sum of sample weights over all partitions, and the size of pairwise features.

        Returns
        -------
        ndarray of shape (n_blocks,)
            The `norms` of the problem, upper bounds of the joint features of each block.

        Raises
        ------
        ValueError
            If the digest of the packed data is not `digest`, their digest when `pack` was called.
        """
        if self.digest != digest:
            raise changed(self.number, f"found digest {self.digest}, expected {digest}")
        self.block_weight = self.sample_weight / total_weight
        if pairwise_scale not in (None, 1):
            self.problem.scale_features(1 / pairwise_scale)
        return np.asarray(self.problem.norms(), dtype=np.float64)

    def start(self, *setup):
        """Create the dual state."""
        self.rounds = part_of(self.problem, self.block_weight, *setup)

    def advance(self, *news):
        """See `PartitionFit` for this and the following methods."""
        return self.rounds.advance(*news)

    def measure(self, *news):
        return self.rounds.measure(*news)

    def rebuild(self, *share):
        return self.rounds.rebuild(*share)

    def keep(self, *news):
        return self.rounds.keep(*news)

    def export_state(self, *news):
        return self.rounds.export_state(*news)

    def restore_state(self, *kept):
        self.rounds.restore_state(*kept)


def parted_training(structure, samples, validation):
    """Return the Training of samples in partitions, whose problem is a `PartitionedBlocks`.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not supported for partitions, or samples are invalid; the message names
        the partition and the sample.
    """
    _check_supports_partitions(structure)
    if validation.given:
        raise ValueError("X_val and y_val are not supported for partitions on a cluster; use None")
    partitions = Partitions.from_arguments(samples.X, samples.y, structure.samples_are_rows)
    sources, weights = partitions.of_weight(samples.sample_weight, structure.rejects_lengths)
    structure = with_prior(structure)
    parts, facts, ends, empty = _packed_parts(structure, current_client(), sources, weights)
    total = sum(fact["total_weight"] for fact in facts)
    lam, scale = resolve_lam_and_scale(
        structure, total, lambda: joined([fact["scale"] for fact in facts])
    )
    shares = [(total, scale, fact["data_digest"]) for fact in facts]
    for fact, norms in zip(facts, parts.begin("share", shares)):
        fact["norms"] = norms
    problem = PartitionedBlocks(parts, facts)
    training = Training(
        problem,
        np.concatenate([fact["sample_weight"] for fact in facts]),
        total,
        None,
        _data_of(facts, ends, problem.ends),
        max((fact["inference"] for fact in facts), key=lambda f: list(Quality).index(f.quality)),
        facts[0]["attributes"],
        empty=empty,
        data_warnings=tuple(set.intersection(*(set(fact["data_warnings"]) for fact in facts))),
        bounds=facts[0]["bounds"],
    )
    training.prior = prior_weights(structure, training)
    training.set_lam_and_scale(lam, scale)
    return training


def _packed_parts(structure, client, sources, weights):
    """Pack the samples of all partitions on their workers, and leave out unlabeled partitions.

    Parameters
    ----------
    structure : Structure
    client : distributed.Client
    sources, weights : result of ``Partitions.of_weight``

    Returns
    -------
    parts : DaskPartitions
        A PartOfFit for each partition with a labeled node.
    facts : list of dict
        Results of their method `pack`.
    ends : ndarray of int of shape (n_parts,)
        Cumulative numbers of samples of positive weight at the ends of these partitions.
    empty : ndarray of int
        Indices of all samples without nodes.
    """
    local = structure.with_parameters(
        prior=None,  # only the caller needs it
        # The same in all partitions, since it may control the search for labelings.
        random_state=drawn_seed(structure.random_state),
        # Options of the solver, such as a checkpoint, are for the caller.
        solver=structure.chosen_solver.name,
    )
    parts = DaskPartitions(
        client,
        PartOfFit,
        [
            (part, (local, part.chosen, weights[part.rows], part.n_samples, part.number))
            for part in sources
        ],
        size_of,
    )
    classes = structure.parameters.get("classes")
    if classes is None or structure.classes_by_type:
        found = parts.begin("labels", [()] * len(parts))
        _check_one_kind(found, [part.number for part in sources])
        classes = None if found[0] is None else structure.joined_labels(found)
    for_file = structure.solver_option("checkpoint") is not None
    facts = parts.begin("pack", [(classes, for_file)] * len(parts))
    empty = [
        np.array(part.rows, dtype=np.intp)[fact.empty if _is_left_out(fact) else fact["empty"]]
        for part, fact in zip(sources, facts, strict=True)
    ]
    ends = np.cumsum([len(part.chosen) for part in sources])
    kept = [k for k, fact in enumerate(facts) if not _is_left_out(fact)]
    if not kept:
        unlabeled = [error for error in facts if str(error) != NO_NODES]
        raise (unlabeled or facts)[0]
    parts.keep_only(kept)
    facts = [facts[k] for k in kept]
    _check_agree(facts, [sources[k].number for k in kept])
    return parts, facts, ends[kept], np.concatenate(empty)


def _is_left_out(fact):
    """Whether a partition has no labeled node and is not used in the fit."""
    return isinstance(fact, NoNodesError)


def _data_of(facts, sample_ends, block_ends):
    """Return the SampleData of partitions, which identifies whole partitions by their digests.

    sample_ends, block_ends : ndarray of shape (n_parts,)
        Cumulative numbers of training samples, and of blocks, at the end of each partition.
    """
    digests = np.array([fact["data_digest"] for fact in facts])

    def n_parts(n):
        return int(np.searchsorted(sample_ends, n, side="right"))

    return SampleData(
        n_samples=int(sample_ends[-1]),
        common=[],
        arrays_of_first=lambda n: [digests[: n_parts(n)], sample_ends[: n_parts(n)]],
        n_blocks=lambda n: np.append(0, block_ends)[n_parts(n)],
        costs=[np.array([fact["fit_digest"] for fact in facts])],
        hint=" On a cluster, put new samples into new partitions after the existing ones.",
    )


def as_partitions(structure, samples, validation):
    """Return the Samples of a fit, and whether they are in partitions.

    In a task of the cluster, which cannot wait for other tasks, partitions are fetched for a fit in
    this process. Under ``parallel_config(backend="dask", n_jobs=k)``, samples in this process are
    split into k partitions if their form and all parameters allow it.
    """
    if is_partitioned(samples.X):
        if not in_task():
            return samples, True
        X, y = Partitions.from_arguments(samples.X, samples.y, structure.samples_are_rows).here()
        return samples._replace(X=X, y=y), False
    n_parts = get_active_backend()[1]
    if active_client() is None or in_task() or n_parts is None or n_parts < 2:
        return samples, False
    if not _can_be_cut(structure, samples, validation):
        return samples, False
    from dask import delayed

    plain = samples._replace(sample_weight=None)
    parts = [plain.subset(np.arange(a, b)) for a, b in cuts(num_samples(samples.X), n_parts)]
    X, y = ([delayed(getattr(p, name), traverse=False) for p in parts] for name in ("X", "y"))
    return samples._replace(X=X, y=y), True


def _can_be_cut(structure, samples, validation):
    """Whether all parameters support partitions, and samples can be taken from X and y."""
    X, y = samples.X, samples.y
    if validation.given or is_of_nodes(samples.sample_weight):
        return False
    if structure.warm_start:  # added samples would change the boundaries of partitions
        return False
    if structure.samples_are_rows:
        has_samples = sparse.issparse(X) or getattr(X, "ndim", 0) == 2
    elif isinstance(X, np.ndarray):  # in two dimensions, X has structures of one node
        has_samples = X.ndim > 2 or X.dtype == object
    else:
        has_samples = isinstance(X, list | Sequences)
    if not has_samples or not (is_sized(y) or sparse.issparse(y)):
        return False
    try:
        _check_supports_partitions(structure)
        structure.check_partitions(y)
    except ValueError:
        return False
    return num_samples(X) == num_samples(y)


def _check_supports_partitions(structure):
    """Raise ValueError if a parameter needs all samples in one place."""
    name = "partitions on a cluster"
    structure.check_not_balanced(f"for {name}")
    structure.check_partitions()
    chosen = structure.chosen_solver
    if chosen.name not in ("auto", "mp-bcfw", "bcfw"):
        raise ValueError(f"solver={chosen.name!r} is not supported for {name}; use solver='auto'")
    for option, advice in chosen._unsupported_for_partitions():
        raise ValueError(
            f"{option}={getattr(chosen, option)!r} of {type(chosen).__name__} is not supported for "
            f"{name}; {advice}"
        )


def _check_one_kind(found, numbers):
    """Raise an error if some partitions have sets of labels and others one label per row."""
    kinds = ["one label per row" if labels is not None else "sets of labels" for labels in found]
    for kind, number in zip(kinds, numbers, strict=True):
        if kind != kinds[0]:
            raise ValueError(
                f"partition {number} of y has {kind}, but partition {numbers[0]} has {kinds[0]}"
            )


def _check_agree(facts, numbers):
    """Raise an error if the attributes of partitions differ, such as their numbers of features."""
    first = facts[0]["attributes"]
    for fact, number in zip(facts, numbers, strict=True):
        for name, expected in first.items():
            found = fact["attributes"][name]
            if not have_same_values(found, expected):
                raise ValueError(
                    f"partition {number}: {name.lstrip('_')} is {shortened(found)}, but it is "
                    f"{shortened(expected)} in partition {numbers[0]}"
                )
