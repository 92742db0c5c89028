"""Alerts: which high waters pass a station's thresholds."""

from collections import namedtuple

from tidewatch.clock import show_clock, show_time

Alert = namedtuple("Alert", "colour time level over")
Alert.__doc__ = "A high water above a threshold: its colour, and by how many metres it is over it."

COLOURS = ("red", "amber", "yellow")


def colour_of(level, station):
    """The highest threshold that a level reaches, or None."""
    for colour in COLOURS:
        if level >= getattr(station, colour):
            return colour
    return None


def alerts(extremes, station):
    """The alerts of a row of extremes, in time order."""
    found = []
    for extreme in extremes:
        colour = colour_of(extreme.level, station) if extreme.kind == "high" else None
        if colour:
            over = round(extreme.level - getattr(station, colour), 3)
            found.append(Alert(colour, extreme.time, extreme.level, over))
    return found


def describe(alert, station):
    """An alert as a line of text, in the station's local time."""
    clock = show_clock(alert.time, station.utc_offset_minutes)
    day = show_time(alert.time)[:10]
    return (
        f"{alert.colour.upper()} {station.name} {day} {clock}: "
        f"{alert.level:.2f} m, {alert.over:.2f} m over the {alert.colour} mark"
    )


def worst(found):
    """The alert of the strongest colour, the highest among equals; None when there is none."""
    if not found:
        return None
    return min(found, key=lambda alert: (COLOURS.index(alert.colour), -alert.level))
