"""Moments and lengths of time as text, in local time."""

from __future__ import annotations

from datetime import datetime, timedelta

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MINUTE, _HOUR = 60, 3_600  # seconds


def local_time(at_ms: int) -> datetime:
    """Return a moment, in milliseconds since 1970, as local time."""
    return datetime.fromtimestamp(at_ms / 1000)


def format_relative_time(at_ms: int, now_ms: int, with_time: bool = False) -> str:
    """Return when something was: `now`, `2 min ago`, `14:18`, `Yesterday`, `12 Nov`.

    With `with_time`, days before today carry their time of day.
    """
    minutes = (now_ms - at_ms) // 60_000
    if minutes < 1:
        return "now"
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min ago"
    at, now = local_time(at_ms), local_time(now_ms)
    if at.date() == now.date():
        return f"{at:%H:%M}"
    day = "Yesterday" if at.date() == now.date() - timedelta(days=1) else format_day(at, now)
    return f"{day} {at:%H:%M}" if with_time else day


def format_short_time(at_ms: int, now: datetime) -> str:
    """Return a moment as short as a list needs it: `now`, `14:02`, `Tue`, `12 Nov`, `12 Nov 2025`."""
    moment = local_time(at_ms)
    if (now - moment).total_seconds() < _MINUTE:
        return "now"
    days = (now.date() - moment.date()).days
    if days <= 0:
        return f"{moment:%H:%M}"
    return _DAYS[moment.weekday()] if days < len(_DAYS) else format_day(moment, now)


def format_day(moment: datetime, now: datetime) -> str:
    """Return a day: `12 Nov`, and the year where it is another than that of `now`."""
    day = f"{moment.day} {_MONTHS[moment.month - 1]}"
    return day if moment.year == now.year else f"{day} {moment.year}"


def format_duration(milliseconds: int) -> str:
    """Return a length of time as people say it: `3 ms`, `0.4 s`, `12 s`, `3 min 20 s`."""
    seconds = milliseconds / 1000
    if seconds < 0.05:  # noqa: PLR2004 - would read 0.0 s
        return f"{milliseconds} ms"
    if seconds < 9.95:  # noqa: PLR2004 - below ten seconds one decimal is worth its room
        return f"{seconds:.1f} s"
    whole_seconds = round(seconds)
    if whole_seconds < _MINUTE:
        return f"{whole_seconds} s"
    return f"{whole_seconds // _MINUTE} min {whole_seconds % _MINUTE} s"


def format_exact_duration(milliseconds: int) -> str:
    """Return a length of time with its tenths: `340 ms`, `12.4 s`, `3 min 10 s`."""
    if milliseconds < 1_000:  # noqa: PLR2004 - milliseconds of a second
        return f"{milliseconds} ms"
    seconds = milliseconds / 1_000
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // _MINUTE} min {int(seconds) % _MINUTE} s"


def format_elapsed(seconds: int) -> str:
    """Return a running time as a clock shows it: `0:07`, `12:40`, `1:02:40`."""
    seconds = max(0, seconds)
    minutes = f"{seconds // _MINUTE % _MINUTE}:{seconds % _MINUTE:02}"
    return f"{seconds // _HOUR}:{minutes:0>5}" if seconds >= _HOUR else minutes


def format_time_of_day(at_ms: int) -> str:
    """Return a time of day: `14:02`; empty for 0, which is not known."""
    return f"{local_time(at_ms):%H:%M}" if at_ms else ""


def format_date(at_ms: int) -> str:
    """Return a day with its year: `03 Nov 2026`."""
    return f"{local_time(at_ms):%d %b %Y}"


def format_date_and_time(at_ms: int) -> str:
    """Return a moment: `3 Nov 2026, 14:02`; `earlier` for 0, which is not known."""
    if not at_ms:
        return "earlier"
    moment = local_time(at_ms)
    return f"{moment.day} {moment:%b %Y, %H:%M}"
