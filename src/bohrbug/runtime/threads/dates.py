"""Dates under control: what reads the clock in C is told virtual time, too.

``datetime.datetime.now`` is a method of a type of the interpreter, of which nobody may set an
attribute; subclasses and other modules have that very type.  So its namespace is changed from
below.  ``datetime.today`` and ``date.today`` call ``time.time``.
"""

from __future__ import annotations

import datetime
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.namespaces import put_into_closed
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.rewrite import files, tell
from bohrbug.runtime.threads.rewrite.callables import CALLABLE_PLACES
from bohrbug.runtime.threads.rewrite.place import Place

_datetime = datetime.datetime
_utc = datetime.UTC
_now, _utcnow, _from_timestamp, _timestamp, _astimezone = (
    vars(_datetime)[name] for name in ("now", "utcnow", "fromtimestamp", "timestamp", "astimezone")
)
_date = datetime.date
_date_from_timestamp = vars(_date)["fromtimestamp"]
_UTCNOW_IS_DEPRECATED = (
    "datetime.datetime.utcnow() is deprecated and scheduled for removal in a future version. Use "
    "timezone-aware objects to represent datetimes in UTC: datetime.datetime.now(datetime.UTC)."
)


def is_travelling() -> bool:
    """Whether the package ``time_machine`` has put another time into the real functions."""
    machine = sys.modules.get("time_machine")
    # The second name is that of its versions before 3.
    names = ("traveller_stack", "coordinates_stack")
    return machine is not None and any(getattr(machine, name, ()) for name in names)


def _in_virtual_time() -> Execution | None:
    """The execution whose clock tells the date, if one does."""
    execution = controlled()
    if execution is None or execution.clock.is_real or is_travelling():
        return None
    return execution


def _moment(execution: Execution) -> float:
    """Seconds since 1970, in virtual time."""
    return execution.clock.epoch + execution.clock.read(execution)


def now(cls: Any, tz: Any = None) -> Any:
    """Stands for ``datetime.datetime.now``."""
    if tz is None:
        _read_time_zone()
    execution = _in_virtual_time()
    if execution is None:
        return _now.__get__(None, cls)(tz)
    return _from_timestamp.__get__(None, cls)(_moment(execution), tz)


def utcnow(cls: Any) -> Any:
    """Stands for ``datetime.datetime.utcnow``."""
    if sys.version_info >= (3, 12):
        warnings.warn(_UTCNOW_IS_DEPRECATED, DeprecationWarning, stacklevel=2)
    execution = _in_virtual_time()
    if execution is None:
        return _now.__get__(None, cls)(_utc).replace(tzinfo=None)
    return _from_timestamp.__get__(None, cls)(_moment(execution), _utc).replace(tzinfo=None)


def from_timestamp(cls: Any, timestamp: Any, tz: Any = None) -> Any:
    """Stands for ``datetime.datetime.fromtimestamp``."""
    if tz is None:
        _read_time_zone()
    return _from_timestamp.__get__(None, cls)(timestamp, tz)


def timestamp(self: Any) -> Any:
    """Stands for ``datetime.datetime.timestamp``."""
    if self.tzinfo is None:
        _read_time_zone()
    return _timestamp(self)


def as_time_zone(self: Any, tz: Any = None) -> Any:
    """Stands for ``datetime.datetime.astimezone``."""
    if tz is None or self.tzinfo is None:
        _read_time_zone()
    return _astimezone(self, tz)


def date_from_timestamp(cls: Any, timestamp: Any, /) -> Any:
    """Stands for ``datetime.date.fromtimestamp``."""
    _read_time_zone()
    return _date_from_timestamp.__get__(None, cls)(timestamp)


_INSTEAD: dict[type, dict[str, Any]] = {
    _datetime: {
        "now": classmethod(now),
        "utcnow": classmethod(utcnow),
        "fromtimestamp": classmethod(from_timestamp),
        "timestamp": timestamp,
        "astimezone": as_time_zone,
    },
    _date: {"fromtimestamp": classmethod(date_from_timestamp)},
}
_ORIGINALS = {
    class_: {name: vars(class_)[name] for name in instead} for class_, instead in _INSTEAD.items()
}


class DatePatches(Patches):
    """Patches, and with them those of ``datetime.datetime``."""

    def install(self) -> None:
        """See :class:`Patches`."""
        super().install()
        for class_, instead in _INSTEAD.items():
            put_into_closed(class_, instead)

    def restore(self) -> None:
        """See :class:`Patches`."""
        for class_, originals in _ORIGINALS.items():
            put_into_closed(class_, originals)
        super().restore()


def add_to(patches: Patches) -> None:
    """Add what ``time`` has that reads the clock if it is given no moment, and its other clocks."""
    if hasattr(time, "tzset"):
        patches.add(time, "tzset", _setting_time_zone(time.tzset))
    for name in ("localtime", "gmtime", "ctime"):
        patches.add(time, name, _of_a_moment(name))
    for name, given in (("asctime", 0), ("strftime", 1)):
        patches.add(time, name, _of_a_local_time(name, given))
    for name in ("process_time", "thread_time", "clock_gettime"):
        for nanoseconds in (False, True):
            full = name + ("_ns" if nanoseconds else "")
            if hasattr(time, full):
                patches.add(time, full, _clock(full, nanoseconds))


def _place_of_dates() -> Place:
    name = "a date in local time"
    code = _place_of_dates.__code__.replace(co_name=name, co_qualname=name)
    return CALLABLE_PLACES.setdefault(name, Place((code, 0)))


_DATES = _place_of_dates()


_TIME_ZONE = "the time zone"
_OF_TIME_ZONE = ("tzname", "timezone", "altzone", "daylight")


def _read_time_zone() -> None:
    if tell.active:
        files.use_state(_TIME_ZONE, False, _DATES)


def _setting_time_zone(real: Callable[[], None]) -> Callable[[], None]:
    def tzset() -> None:
        if tell.active:
            tell.in_one_step(_DATES, _tell_time_zone_set)
        real()

    return tzset


def _tell_time_zone_set() -> None:
    files.use_state(_TIME_ZONE, True, _DATES)
    for name in _OF_TIME_ZONE:
        tell.item(vars(time), name, True, _DATES)


def _of_a_moment(name: str) -> Callable[..., Any]:
    real, is_local = getattr(time, name), name != "gmtime"

    def function(seconds: Any = None, /) -> Any:
        if is_local:
            _read_time_zone()
        execution = _in_virtual_time() if seconds is None else None
        return real(seconds) if execution is None else real(_moment(execution))

    return function


def _of_a_local_time(name: str, given: int) -> Callable[..., Any]:
    real, local_time = getattr(time, name), time.localtime

    def function(*arguments: Any) -> Any:
        if len(arguments) == given:
            _read_time_zone()
        execution = _in_virtual_time() if len(arguments) == given else None
        if execution is None:
            return real(*arguments)
        return real(*arguments, local_time(_moment(execution)))

    return function


_OF_THE_DAY = frozenset(
    getattr(time, name)
    for name in ("CLOCK_REALTIME", "CLOCK_REALTIME_COARSE", "CLOCK_TAI")
    if hasattr(time, name)
)


_OF_WORK = frozenset(
    getattr(time, name)
    for name in ("CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID")
    if hasattr(time, name)
)


def _clock(name: str, nanoseconds: bool) -> Callable[..., Any]:
    real = getattr(time, name)

    def function(*clocks: Any) -> Any:
        execution = controlled()
        is_of_day = bool(clocks) and clocks[0] in _OF_THE_DAY
        if execution is None or execution.clock.is_real or (is_of_day and is_travelling()):
            return real(*clocks)
        if not all(isinstance(clock, int) for clock in clocks):
            return real(*clocks)
        if is_of_day:
            value = _moment(execution)
        else:
            value = execution.clock.read(execution)
            if clocks and clocks[0] not in _OF_WORK:
                value += execution.clock.uptime
        return int(value * 1_000_000_000) if nanoseconds else value

    return function
