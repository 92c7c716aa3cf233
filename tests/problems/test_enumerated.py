"""Test arguments, ties, work and counts of EnumeratedProblem and CostlyProblem."""

import numpy as np
import pytest

from sstruct._kernels._clock import seconds
from sstruct._problems.core._decode import decode
from sstruct._testing import _costly
from sstruct._testing import _problem_access as access
from sstruct._testing._costly import CostlyProblem
from sstruct._testing._enumerated import EnumeratedProblem
from tests.problems.test_contract import make_chains

GOOD = dict(
    planes=[[0, 0], [1, 2], [3, 4], [0, 0], [5, 6]], losses=[0, 1, 1, 0, 2], offsets=[0, 3, 5]
)


def changed(name, where, value):
    array = np.array(GOOD[name], dtype=float)
    array[where] = value
    return {name: array}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"planes": [1.0, 2.0]}, r"planes has shape \(2,\)"),
        ({"planes": np.empty((5, 0))}, r"planes has shape \(5, 0\)"),
        ({"losses": [0.0]}, r"losses has shape \(1,\)"),
        ({"offsets": [0, 3]}, "offsets must increase from 0 to 5"),
        ({"offsets": [1, 3, 5]}, "offsets must increase from 0 to 5"),
        ({"offsets": [0, 3, 3, 5]}, "at least one labeling per block"),
        ({"offsets": [0, 6, 5]}, "offsets must increase"),
        ({"offsets": [0]}, "offsets must increase"),
        ({"offsets": [[0, 3, 5]]}, "offsets must increase"),
        (changed("planes", (3, 1), 1), "block 1: the first labeling must be the truth"),
        (changed("losses", 0, 1), "block 0: the first labeling must be the truth"),
        (changed("losses", 2, -1), "losses nonnegative"),
        (changed("losses", 2, np.nan), "must be finite"),
        (changed("planes", (2, 0), np.inf), "must be finite"),
    ],
)
def test_invalid_planes(change, message):
    EnumeratedProblem(**GOOD)
    with pytest.raises(ValueError, match=message):
        EnumeratedProblem(**{**GOOD, **change})


def test_access_functions_validate_labelings():
    problem = EnumeratedProblem(**GOOD)
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match=rf"block 1: found labeling {wrong}, expected 0 to 1"):
            problem.code_loss(1, np.array([wrong], dtype=np.int32))
    with pytest.raises(ValueError, match="block 1: labeling code of 2 entries"):
        problem.code_loss(1, np.zeros(2, dtype=np.int32))
    with pytest.raises(ValueError, match=r"block 0: found labeling 3"):
        CostlyProblem(problem, 0).code_loss(0, np.array([3], dtype=np.int32))
    with pytest.raises(IndexError, match="block 2 is out of range for a problem with 2 blocks"):
        CostlyProblem(problem, 0).code_loss(2, np.array([0], dtype=np.int32))


def test_costly_calls_are_counted_declared_and_waited_for(rng):
    chains = make_chains(rng, 3, (4, 1))
    plain, pause = chains.problem, 0.02
    costly = CostlyProblem(plain, pause)
    begin = seconds()
    work = costly.best_code(0, chains.padded)[2]
    assert seconds() - begin >= pause
    assert work == plain.best_code(0, chains.padded)[2] + pause * _costly.WORK_PER_SECOND
    assert costly.n_calls == 1
    fork = costly.fork()
    fork.best_code(1, chains.padded)
    assert (fork.n_calls, costly.n_calls) == (1, 2)
    decode(costly, chains.padded)
    assert (fork.n_calls, costly.n_calls) == (1, 4)
    assert fork.oracle_seconds >= pause
    assert costly.oracle_seconds >= 3 * pause + fork.oracle_seconds
    access.scores(costly, 0, chains.padded, costly.true_code(0)[np.newaxis])
    assert costly.n_calls == 4
    assert costly.problem is plain
