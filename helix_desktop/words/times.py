"""Moments and lengths of time as text, in local time."""

from __future__ import annotations

from datetime import datetime, timedelta

from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.words.translation import Translator, current_language

tr = Translator("Times")

AGE_STEP_MS = 10_000
"""How often an age changes: as of one of these steps of the clock, so that all that is drawn within one says
the same, however often each place is drawn."""
_MINUTE = 60  # seconds
_HOUR = 3_600  # seconds
_WEEK = 7  # days


def local_time(at_ms: int) -> datetime:
    """Return a moment, in milliseconds since 1970, as local time."""
    return datetime.fromtimestamp(at_ms / 1000)


def format_relative_time(at_ms: int, now_ms: int, with_time: bool = False) -> str:
    """Return when something was: `now`, `2 min ago`, `14:18`, `Yesterday`, `12 Nov`.

    With `with_time`, days before today carry their time of day.
    """
    minutes = (_age_now(now_ms) - at_ms) // 60_000
    if minutes < 1:
        return tr("now")
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return tr("{minutes} min ago", minutes=minutes)
    at = local_time(at_ms)
    now = local_time(now_ms)
    clock = current_language().show_clock(at)
    if at.date() == now.date():
        return clock
    day = tr("Yesterday") if at.date() == now.date() - timedelta(days=1) else format_day(at, now)
    return tr("{day} {clock}", day=day, clock=clock) if with_time else day


def format_short_time(at_ms: int, now: datetime) -> str:
    """Return a moment as short as a list needs it: `now`, `14:02`, `Tue`, `12 Nov`, `12 Nov 2025`."""
    moment = local_time(at_ms)
    if _age_now(round(now.timestamp() * 1000)) - at_ms < _MINUTE * 1000:
        return tr("now")
    days = (now.date() - moment.date()).days
    if days <= 0:
        return current_language().show_clock(moment)
    return current_language().show_weekday(moment) if days < _WEEK else format_day(moment, now)


def _age_now(now_ms: int) -> int:
    return now_ms - now_ms % AGE_STEP_MS


def format_day(moment: datetime, now: datetime) -> str:
    """Return a day: `12 Nov`, and the year where it is another than that of `now`."""
    return current_language().show_day(moment, with_year=moment.year != now.year)


def format_duration(milliseconds: int) -> str:
    """Return a length of time as people say it: `3 ms`, `0.4 s`, `12 s`, `3 min 20 s`."""
    seconds = milliseconds / 1000
    if seconds < 0.05:  # noqa: PLR2004 - would read 0.0 s
        return tr("{number} ms", number=milliseconds)
    if seconds < 9.95:  # noqa: PLR2004 - below ten seconds one decimal is worth its room
        return tr("{number} s", number=current_language().show_decimal(seconds, 1))
    whole_seconds = round(seconds)
    return tr("{number} s", number=whole_seconds) if whole_seconds < _MINUTE else _in_minutes(whole_seconds)


def format_exact_duration(milliseconds: int) -> str:
    """Return a length of time with its tenths: `340 ms`, `12.4 s`, `3 min 10 s`."""
    if milliseconds < 1_000:  # noqa: PLR2004 - milliseconds of a second
        return tr("{number} ms", number=milliseconds)
    seconds = milliseconds / 1_000
    if seconds < _MINUTE:
        return tr("{number} s", number=current_language().show_decimal(seconds, 1))
    return _in_minutes(int(seconds))


def _in_minutes(seconds: int) -> str:
    return tr("{minutes} min {seconds} s", minutes=seconds // _MINUTE, seconds=seconds % _MINUTE)


def format_elapsed(seconds: int) -> str:
    """Return a running time as a clock shows it: `0:07`, `12:40`, `1:02:40`."""
    seconds = max(0, seconds)
    minutes = f"{seconds // _MINUTE % _MINUTE}:{seconds % _MINUTE:02}"
    return f"{seconds // _HOUR}:{minutes:0>5}" if seconds >= _HOUR else minutes


def format_moment(at_ms: int, now_ms: int = 0) -> str:
    """Return when something was: `14:02` today, else with its day: `12 Nov 14:02`; empty for 0, not known.

    `now_ms` of 0 stands for this moment.
    """
    if not at_ms:
        return ""
    at = local_time(at_ms)
    now = local_time(now_ms or wall_clock_ms())
    clock = current_language().show_clock(at)
    if at.date() == now.date():
        return clock
    return tr("{day} {clock}", day=format_day(at, now), clock=clock)


def format_date(at_ms: int) -> str:
    """Return a day with its year: `3 Nov 2026`."""
    return current_language().show_day(local_time(at_ms), with_year=True)


def format_date_and_time(at_ms: int) -> str:
    """Return a moment: `3 Nov 2026, 14:02`; `earlier` for 0, which is not known."""
    if not at_ms:
        return tr("earlier")
    clock = current_language().show_clock(local_time(at_ms))
    return tr("{day}, {clock}", day=format_date(at_ms), clock=clock)
