"""Test that the fuzzer detects and reproduces each kind of finding."""

import os
import random
import re
import sys
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

pytest.importorskip("resource")

from sstruct import GridCRFSSVM, MulticlassSSVM, StructuredSVM
from tests.estimators.custom.choices import ConstrainedChoice, make_choices
from tests.hostile import runner, values
from tests.hostile.case import REJECTED, Case, shown
from tests.hostile.certificates import BLOCKS, check_certificate
from tests.hostile.judge import FindingError, judge
from tests.hostile.values import MischiefError, _NoRepr
from tests.registry import TRAINED

X, Y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1]


def kill():
    os.abort()  # unlike os.kill, never returns


def sleep():
    time.sleep(60)


def trip():
    {}["key"]


def reject():
    MulticlassSSVM(lam=-1).fit(X, Y)


ACTS = (reject, trip, kill, sleep)


def staged(case):
    case.attempt("act", ACTS[int(case.name.rsplit(":", 1)[1])])


def test_each_kind_is_found_and_repeated(monkeypatch):
    monkeypatch.setitem(runner.DOMAINS, "staged", staged)
    monkeypatch.setattr(runner, "MAX_SECONDS", 1)
    sys.stdout.flush()
    report = runner.run(["staged"], 0, cases=len(ACTS), workers=2)
    kinds = {name: finding.kind for name, finding, _ in report.first.values()}
    assert kinds == {"staged:0:1": "exception", "staged:0:2": "crash", "staged:0:3": "hang"}
    assert report.counts["staged"]["rejected"] == 1
    for name in kinds:
        assert runner.Trial(name).key is not None
    assert runner.Trial("staged:0:0").key is None


def test_a_case_is_a_function_of_its_name():
    cases = [runner.run_case(domain, 5, 17)[0] for domain in runner.DOMAINS for _ in range(2)]
    # The repr of some objects contains their address.
    logs = [[re.sub(r"0x[0-9a-f]+", "0x", line) for line in case.log] for case in cases]
    assert logs[::2] == logs[1::2]


def test_damage_can_be_left_out():
    cases = [Case("estimators", 0, 3, without) for without in ((), {0})]
    found = [case.damaged("x", 1.0) for case in cases]
    assert found[1] == 1.0
    assert [len(case.log) for case in cases] == [1, 0]


@pytest.mark.parametrize("error", [KeyError("a"), ValueError(), MemoryError()])
def test_unexpected_exceptions(error):
    with pytest.raises(FindingError) as found:
        judge(raised(error))
    assert found.value.kind == "exception"


def raised(error):
    try:
        raise error
    except Exception as caught:
        return caught


def test_expected_exceptions():
    assert Case("estimators", 0, 0).attempt("fit", reject) is REJECTED
    for call in (lambda: np.empty(2**55), lambda: np.zeros(2) @ np.zeros(3)):
        with pytest.raises((MemoryError, ValueError)) as error:
            call()
        judge(error.value)
    with pytest.raises(np.linalg.LinAlgError) as error:
        np.linalg.inv(np.zeros((2, 2)))
    judge(error.value)
    judge(MischiefError("a user's own"))


@pytest.mark.parametrize("name", ["objective_", "dual_objective_"])
def test_false_certificates_are_seen(name):
    model = MulticlassSSVM(random_state=0).fit(X, Y)
    assert check_certificate("rows", model, X, Y)
    setattr(model, name, model.objective_ + 0.1)
    with pytest.raises(FindingError, match=name):
        check_certificate("rows", model, X, Y)


@pytest.mark.parametrize("name", BLOCKS)
def test_certificates_of_every_example_are_recomputed(name):
    example = TRAINED[name]
    assert check_certificate(name, example.fitted(), *example.samples())


def test_true_certificates_are_believed():
    balanced = {"classes": [0, 1, 2], "class_weight": "balanced", "random_state": 0}
    assert check_certificate("rows", MulticlassSSVM(**balanced).fit(X, Y), X, Y)
    # Fixed costs of edges make w = 0 worse than the largest losses.
    images, labels = [np.ones((1, 2, 1))], [np.array([[0, 1]])]
    grid = GridCRFSSVM(pairwise=100, classes=[0, 1], random_state=0).fit(images, labels)
    assert grid.dual_objective_ > 50
    assert check_certificate("grid", grid, images, labels)


def test_odd_labels_are_not_recomputed():
    model = StructuredSVM(ConstrainedChoice(), random_state=0)
    choices, labels = make_choices(np.random.default_rng(0), 2)
    model.fit(choices, labels)
    assert check_certificate("choices", model, choices, labels)
    assert not check_certificate("choices", model, choices, [Decimal("NaN")] * 2)


def die_of_two(case):
    """Die in case 6, but only if case 2 ran in the same process."""
    number = int(case.name.rsplit(":", 1)[1])
    DONE.append(number)
    if number == 6 and 2 in DONE:
        os.write(2, b"the reason\n")
        kill()
    os.write(2, b"not the reason\n")


DONE = []


def test_deaths_that_take_more_than_one_case_are_narrowed(monkeypatch):
    monkeypatch.setitem(runner.DOMAINS, "staged", die_of_two)
    monkeypatch.setattr(sys.modules[__name__], "DONE", [])
    report = runner.run(["staged"], 0, cases=8)
    ((name, finding, _),) = report.first.values()
    assert name == "staged:0:0-6-1"
    assert runner.Trial(name).key
    assert "the reason" in finding.details
    assert "not the reason" not in finding.details


def test_damage_does_not_reach_scipy():
    wrong = sparse.csr_matrix(np.eye(3))
    wrong.indptr[1] = 2**30
    for damage in (values._matrix_dtype, values._scaled_matrix, values._other_format, values._cut):
        with pytest.raises(ValueError, match="indptr"):
            damage(random.Random(0), wrong)


def test_description_of_hostile_objects():
    damaged = sparse.csr_matrix(np.eye(2))
    damaged.indptr = damaged.indptr[:0]
    assert shown(pd.Series([(damaged, 1)])).startswith("Series Series of shape (1,)")
    assert shown(ValueError(_NoRepr())).startswith("ValueError ")
