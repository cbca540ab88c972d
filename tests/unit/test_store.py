"""Files of explorations: what is read back, and what can't be resumed."""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from bohrbug.exploration import store as stores
from bohrbug.exploration.findings import Findings
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.result import Failure, Result
from bohrbug.exploration.saving import ResumeError, Saved, check_points
from bohrbug.exploration.spending import Spending
from bohrbug.exploration.store import ExplorationStore, Subject, kept_in, look
from bohrbug.exploration.verdicts import Caveat, CaveatKind, Verdict, VerdictKind
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.protocol import Runtime

OPTIONS = ExploreOptions(epoch=1.0)
TARGET = {"kind": "function", "name": "shop:test", "path": None}
POINTS = (("shop.py", "Shop.buy", 7, 12), ("shop.py", "Shop.buy", 7, 40))
SIGNATURE = (OutcomeKind.ASSERTION, "AssertionError", ("shop.py", 3))

SAVED = Saved(
    strategy={"strategy": "dfs", "version": 2, "left": [["0", "0.1"]]},
    pieces=[{"left": []}],
    lessons=[Plan(("0", 3, "0.1"))],
    points=list(POINTS),
    counters=[17, 4],
    executions=12,
    diverged=1,
    steps=30,
    tasks=3,
    seconds=0.5,
    proposed=10,
    restarts=2,
    longest_passed=28,
    notes=[Caveat("a note", CaveatKind.DIVERGENCE)],
    uncontrolled={"a child process": 2},
    occurrences={SIGNATURE: 4},
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text("tickets = 1\n")
    return path


@pytest.fixture
def kept(tmp_path: Path, source: Path) -> Path:
    """The file of an exploration that was saved."""
    path = tmp_path / "kept.exploration"
    store = ExplorationStore(subject(source), path)
    assert store.load() is None
    store.save(SAVED, findings(), [str(source)])
    store.close()
    return path


def subject(source: Path, **changes: object) -> Subject:
    return replace(Subject(TARGET, "test", OPTIONS, (str(source),)), **changes)  # type: ignore[arg-type]


def findings() -> Findings:
    result = Result("test", Verdict(VerdictKind.INCONCLUSIVE))
    # Nothing is executed.
    platform = Platform(cast(Runtime, None))
    learner = Learner(platform.runtime, OPTIONS.conditions())
    found = Findings(
        OPTIONS, Spending(OPTIONS.seconds), result, learner, platform, lambda: "dfs", lambda: False
    )
    outcome = Outcome(OutcomeKind.ASSERTION, "AssertionError", "0", "AssertionError")
    trace = Trace(outcome=outcome)
    failure = Failure(
        outcome, trace, Plan(("0",)), "dfs", 3, 0, confirmed=3, occurrences=4, points=POINTS
    )
    found.failures[outcome.signature()] = failure
    return found


def resumed(path: Path, of: Subject) -> Saved:
    store = ExplorationStore(of, path, resume=True)
    try:
        loaded = store.load()
    finally:
        store.close()
    assert loaded is not None
    assert [failure.occurrences for failure, is_untimely in loaded.failures] == [4]
    assert [failure.points for failure, is_untimely in loaded.failures] == [POINTS]
    assert loaded.saved is not None
    return loaded.saved


def test_what_was_saved_is_read_back(kept: Path, source: Path) -> None:
    assert resumed(kept, subject(source)) == SAVED


def test_what_can_not_be_saved_leaves_what_was_there(
    kept: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(failure: Failure) -> None:
        raise OSError("no space left")

    store = ExplorationStore(subject(source), kept, resume=True)
    store.load()
    with monkeypatch.context() as patched:
        patched.setattr(stores, "_failure_to_json", fails)
        with pytest.raises(OSError, match="no space"):
            store.save(replace(SAVED, executions=99), findings(), [])
    store.close()
    assert resumed(kept, subject(source)) == SAVED


def test_saving_takes_a_small_share_of_the_time_and_what_is_found_is_followed_by_it(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each look at the clock finds that ten seconds have passed.
    moments = itertools.count(0.0, 10.0)
    now = 0.0

    def clock() -> float:
        nonlocal now
        now = next(moments)
        return now

    monkeypatch.setattr(stores, "_now", clock)
    store = ExplorationStore(subject(source), tmp_path / "kept.exploration")
    store.save(SAVED, findings(), [])
    saved = now
    while not store.is_due():
        pass
    assert now - saved >= 10.0 / stores.SHARE
    store.save(SAVED, findings(), [])
    assert not store.is_due()
    store.save_findings(findings())
    assert store.is_due()
    store.close()


def test_what_a_file_says_of_itself(kept: Path) -> None:
    told = look(kept)
    assert told.executions == 12
    assert told.failures == 1
    assert told.subject.options == OPTIONS
    assert told.subject.test == "test"
    assert kept_in(kept.parent) == [kept]


def test_an_exploration_has_a_file_of_its_own_options(source: Path) -> None:
    own = subject(source).path()
    assert subject(source, options=replace(OPTIONS, seconds=5.0, workers=1)).path() == own
    assert subject(source, options=replace(OPTIONS, bound=1)).path() != own
    assert subject(source, target={**TARGET, "name": "shop:other"}).path() != own


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"options": replace(OPTIONS, bound=1)}, "the option bound was 2 and is 1"),
        ({"target": {**TARGET, "name": "shop:other"}}, "it is of another test"),
    ],
)
def test_another_exploration_is_not_resumed(
    kept: Path, source: Path, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(ResumeError, match=words):
        resumed(kept, subject(source, **changes))


def test_an_exploration_of_an_edited_program_is_not_resumed(
    kept: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.write_text("tickets = 2\n")
    monkeypatch.chdir(source.parent)
    with pytest.raises(ResumeError, match=r": shop\.py has changed"):
        resumed(kept, subject(source))


def test_more_time_is_no_other_exploration(kept: Path, source: Path) -> None:
    assert resumed(kept, subject(source, options=replace(OPTIONS, seconds=None))) == SAVED


def test_a_damaged_state_is_told(kept: Path, source: Path) -> None:
    connection = sqlite3.connect(kept)
    connection.execute("UPDATE state SET content = x'00'")
    connection.commit()
    connection.close()
    with pytest.raises(ResumeError, match="is damaged"):
        resumed(kept, subject(source))


def test_an_empty_file_stays_as_it_is(tmp_path: Path) -> None:
    empty = tmp_path / "empty.exploration"
    empty.touch()
    with pytest.raises(ResumeError, match="is empty"):
        look(empty)
    assert not empty.stat().st_size
    with pytest.raises(ResumeError, match="it is a folder"):
        look(tmp_path)


def test_a_file_that_is_in_use_is_left_alone(kept: Path, source: Path) -> None:
    store = ExplorationStore(subject(source), kept, resume=True)
    store.load()
    try:
        with pytest.raises(ResumeError, match="in use"):
            ExplorationStore(subject(source), kept, resume=True).load()
        other = ExplorationStore(subject(source), kept)
        other.save(SAVED, findings(), [])
        assert "in use by another process" in other.trouble
        other.discard()
        # It was over before there was anything to save.
        ExplorationStore(subject(source), kept).discard()
        assert kept.exists()
    finally:
        store.close()
    ExplorationStore(subject(source), kept).discard()
    assert not kept.exists()


def test_a_racy_place_that_does_not_show_again_is_told() -> None:
    here, there = POINTS
    check_points([here], [there, here])
    with pytest.raises(ResumeError, match="1 of its 2 racy places"):
        check_points([here, there], [there])
