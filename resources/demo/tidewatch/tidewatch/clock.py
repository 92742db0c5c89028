"""Times: always aware, always UTC inside; local only where a person reads them."""

from datetime import datetime, timedelta, timezone

UTC = timezone.utc
_MINUTE = timedelta(minutes=1)


def parse_time(text):
    """Read an ISO 8601 time with a zone (`Z` or `+01:00`) as UTC.

    Raises ValueError for a time without a zone: a gauge's local clock cannot be guessed.
    """
    text = text.strip()
    if text.endswith(("Z", "z")):
        text = text[:-1] + "+00:00"
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time without a zone: {text!r}")
    return moment.astimezone(UTC)


def show_time(moment):
    """A time as the data files write it: 2025-03-14T18:50Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")


def show_clock(moment, offset_minutes=0):
    """Hours and minutes on a station's wall clock, `offset_minutes` east of UTC."""
    return (moment.astimezone(UTC) + offset_minutes * _MINUTE).strftime("%H:%M")


def day_bounds(day, offset_minutes=0):
    """The first moment of a station's local day and of the next one, in UTC; `day` is YYYY-MM-DD."""
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - offset_minutes * _MINUTE
    return start, start + timedelta(days=1)


def hours_between(earlier, later):
    """The hours from one time to another, negative when they are the other way round."""
    return (later - earlier).total_seconds() / 3600.0


def days_of(moments, offset_minutes=0):
    """The local days that some times fall on, each once, in order."""
    days = []
    for moment in moments:
        day = (moment.astimezone(UTC) + offset_minutes * _MINUTE).strftime("%Y-%m-%d")
        if not days or days[-1] != day:
            if day not in days:
                days.append(day)
    return days
