"""The attackers themselves: they see what they are for, and repeat it."""

import os
import signal
import sys
import time

import pytest

pytest.importorskip("resource")

from sstruct import MulticlassSSVM
from tests.hostile import runner
from tests.hostile.case import REFUSED, Case
from tests.hostile.certificates import check_certificate
from tests.hostile.judge import FindingError, judge
from tests.hostile.values import MischiefError

X, Y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1]


def kill():
    os.kill(os.getpid(), signal.SIGABRT)


def sleep():
    time.sleep(60)


def trip():
    {}["key"]


def refuse():
    MulticlassSSVM(lam=-1).fit(X, Y)


ACTS = (refuse, trip, kill, sleep)


def staged(case):
    case.attempt("act", ACTS[int(case.name.rsplit(":", 1)[1])])


def test_each_kind_is_found_and_repeated(monkeypatch):
    monkeypatch.setitem(runner.DOMAINS, "staged", staged)
    monkeypatch.setattr(runner, "MOST_SECONDS", 1)
    sys.stdout.flush()
    report = runner.run(["staged"], 0, cases=len(ACTS), workers=2)
    kinds = {name: finding.kind for name, finding, _ in report.first.values()}
    assert kinds == {"staged:0:1": "exception", "staged:0:2": "crash", "staged:0:3": "hang"}
    assert report.counts["refused"] == 1
    for name in kinds:
        assert runner.Trial(name).key is not None
    assert runner.Trial("staged:0:0").key is None


def test_a_case_is_a_function_of_its_name():
    logs = [runner.run_case(domain, 5, 17)[0].log for domain in runner.DOMAINS for _ in range(2)]
    assert logs[::2] == logs[1::2]


def test_damage_can_be_left_out():
    cases = [Case("estimators", 0, 3, without) for without in ((), {0})]
    found = [case.damaged("x", 1.0) for case in cases]
    assert found[1] == 1.0
    assert [len(case.log) for case in cases] == [1, 0]


@pytest.mark.parametrize(
    "error, kind",
    [(KeyError("a"), "exception"), (ValueError("a"), "unclear"), (ValueError(), "exception")],
)
def test_what_is_no_refusal(error, kind):
    try:
        raise error
    except Exception as raised:
        with pytest.raises(FindingError) as found:
            judge(raised)
    assert found.value.kind == kind


def test_what_is_a_refusal():
    assert Case("estimators", 0, 0).attempt("fit", refuse) is REFUSED
    judge(MischiefError("a user's own"))


@pytest.mark.parametrize("name", ["objective_", "dual_objective_"])
def test_false_certificates_are_seen(name):
    model = MulticlassSSVM(random_state=0).fit(X, Y)
    assert check_certificate("rows", model, X, Y)
    setattr(model, name, model.objective_ + 0.1)
    with pytest.raises(FindingError, match=name):
        check_certificate("rows", model, X, Y)
