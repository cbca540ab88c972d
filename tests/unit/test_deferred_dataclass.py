"""Dataclasses whose methods are made later are like any others."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import InitVar  # noqa: F401  (looked for in the module)
from typing import Any, ClassVar  # noqa: F401

import pytest

from bohrbug import deferred_dataclass
from bohrbug.deferred_dataclass import dataclass

WORDS = '''
from __future__ import annotations
from dataclasses import InitVar, field
from typing import ClassVar

@dataclass(frozen=True, slots=True)
class Place:
    """Where."""
    file: str
    line: int = 1
    marks: list = field(default_factory=list, hash=False, compare=False)

    def words(self):
        return f"{self.file}:{self.line}"

@dataclass(slots=True)
class Count:
    """How many."""
    of: str
    made: int = 0

    def __post_init__(self):
        self.made += 1

@dataclass(slots=True, eq=False)
class Alone:
    """Compared by identity."""
    number: int = 0

@dataclass(frozen=True, slots=True)
class Nothing:
    """Without fields."""
    kind: ClassVar[str] = "none"

@dataclass(frozen=True, slots=True)
class Given:
    number: int = 0
    what: InitVar[int] = 3

    def __post_init__(self, what):
        assert what == 3

@dataclass(frozen=True, slots=True)
class Undocumented:
    number: int = 0

@dataclass(frozen=True, slots=True)
class Further(Place):
    column: int = 0
'''


def _classes(decorator: Any) -> dict[str, Any]:
    made = {"dataclass": decorator, "__name__": __name__}
    exec(WORDS, made)
    return made


def _raised(function: Any) -> str:
    with pytest.raises((AttributeError, TypeError)) as raised:
        function()
    return repr(raised.value)


def _told(of: dict[str, Any]) -> list[object]:
    """All that can be told of the classes, in no order that would make the methods at once."""
    place, count, alone, further = (of[name] for name in ("Place", "Count", "Alone", "Further"))
    here = place("a.py")
    words = [
        hash(here) == hash(place("a.py")),
        hash(here) == hash(place("b.py")),
        _raised(lambda: setattr(here, "line", 2)),
        _raised(lambda: delattr(here, "line")),
        _raised(lambda: hash(count("a"))),
        _raised(lambda: place()),
        [repr(here), here == place("a.py"), here == place("b.py"), here == 3, here.words()],
        [count("a"), count("a", 2) == count("a", 2), count("a") == count("b")].__repr__(),
        [alone() == alone(), alone(3).number, hash(alone()) != 0],
        [repr(further("a.py", column=3)), further.__slots__, further("a.py").words()],
        repr(dataclasses.replace(here, line=7)),
        dataclasses.asdict(here),
        repr([copy.copy(here), copy.deepcopy(here), of["Nothing"](), of["Given"](1)]),
    ]
    for name in ("Place", "Count", "Alone", "Nothing", "Given", "Undocumented", "Further"):
        cls = of[name]
        fields = [(each.name, each.type, each.compare) for each in dataclasses.fields(cls)]
        words += [fields, cls.__match_args__, cls.__qualname__, cls.__doc__]
        words += [str(inspect.signature(cls)), dataclasses.is_dataclass(cls), hasattr(cls, "x")]
    return words


def test_they_are_as_if_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_dataclass._Pending, "is_over", False)
    assert _told(_classes(dataclass)) == _told(_classes(dataclasses.dataclass))


FIRST = {
    "its making": "Thing(1)",
    "a signature": "__import__('inspect').signature(Thing)",
    "a hash": "hash(Thing.__new__(Thing)) if False else Thing.__hash__",
    "its fields": "__import__('dataclasses').fields(Thing)",
    "a pattern": "Thing.__match_args__",
    "unpickling": "__import__('copyreg').__newobj__(Thing).__setstate__([1])",
}


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_all_methods_are_made_with_the_first_that_is_needed(first: str) -> None:
    words = f"""
from bohrbug import deferred_dataclass
@deferred_dataclass.dataclass(frozen=True, slots=True)
class Thing:
    'A thing.'
    a: "int"
assert Thing in deferred_dataclass._Pending.classes
{first}
assert Thing not in deferred_dataclass._Pending.classes
try:
    Thing(1).a = 2
except AttributeError:
    print(Thing(1) == Thing(1), Thing(1))
deferred_dataclass.complete_dataclasses()
assert not deferred_dataclass._Pending.classes
@deferred_dataclass.dataclass(slots=True)
class Late:
    'Late.'
    a: "int"
assert Late not in deferred_dataclass._Pending.classes
"""
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout == "True Thing(a=1)\n"


def test_they_can_be_pickled() -> None:
    from bohrbug.model.outcome import Outcome, OutcomeKind

    outcome = Outcome(OutcomeKind.LIVELOCK, "spins")
    assert pickle.loads(pickle.dumps(outcome)) == outcome
