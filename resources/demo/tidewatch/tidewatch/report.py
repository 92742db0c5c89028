"""Reports: one day at one station, as Markdown."""

from tidewatch.alerts import alerts, describe
from tidewatch.clock import show_clock
from tidewatch.extremes import find_extremes, mean_range
from tidewatch.quality import check, without_spikes
from tidewatch.readings import of_day, shifted, usable
from tidewatch.table import markdown


def prepared(readings, station):
    """Readings as reports use them: no maintenance, no spikes, above chart datum."""
    return shifted(without_spikes(usable(readings)), station.offset)


def extremes_of_day(readings, station, day):
    """The high and low waters of a station's local day.

    They are looked for in the whole record, so that one near midnight has neighbours on both sides.
    """
    found = find_extremes(prepared(readings, station))
    days = {reading.time for reading in of_day(readings, day, station.utc_offset_minutes)}
    return [extreme for extreme in found if extreme.time in days]


def daily_report(readings, station, day):
    """The report of a day as text."""
    today = of_day(readings, day, station.utc_offset_minutes)
    if not today:
        return f"# {station.name}, {day}\n\nNo readings.\n"
    found = extremes_of_day(readings, station, day)
    rows = [
        (extreme.kind, show_clock(extreme.time, station.utc_offset_minutes), f"{extreme.level:.2f}")
        for extreme in found
    ]
    lines = [f"# {station.name}, {day}", ""]
    lines += [f"{len(today)} readings, {len(check(today))} quality findings.", ""]
    lines += markdown(rows, ("water", "time", "level (m)"))
    mean = mean_range(found)
    lines += ["", f"Mean range: {mean:.2f} m." if mean is not None else "Mean range: not known."]
    lines += ["", *_alert_lines(found, station)]
    return "\n".join(lines) + "\n"


def _alert_lines(found, station):
    raised = alerts(found, station)
    if not raised:
        return ["No alerts."]
    return ["Alerts:", *(f"- {describe(alert, station)}" for alert in raised)]
