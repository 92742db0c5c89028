"""Stations: where a gauge stands, what its zero means, and when its water is dangerous."""

from collections import namedtuple
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = None

Station = namedtuple("Station", "id name gauge offset utc_offset_minutes yellow amber red")
Station.__doc__ = "A station; offset and thresholds in metres above chart datum."

_HERE = Path(__file__).resolve().parent.parent
STATIONS_FILE = _HERE / "config" / "stations.toml"


class UnknownStation(Exception):
    """No station has that name."""


def load_stations(path=STATIONS_FILE):
    """All stations of a file by their id.

    Raises ValueError when a station's thresholds do not rise from yellow to red.
    """
    text = Path(path).read_text(encoding="utf-8")
    table = tomllib.loads(text) if tomllib else _small_toml(text)
    stations = {}
    for name, fields in table.items():
        station = Station(id=name, **fields)
        if not station.yellow < station.amber < station.red:
            raise ValueError(f"{name}: thresholds must rise from yellow to red")
        stations[name] = station
    return stations


def station_of(name, path=STATIONS_FILE):
    """One station by its id. Raises UnknownStation that names those there are."""
    stations = load_stations(path)
    if name not in stations:
        raise UnknownStation(f"no station {name!r}; there are {', '.join(sorted(stations))}")
    return stations[name]


def _small_toml(text):
    """The little of TOML that the stations file uses: tables of strings and numbers."""
    tables = {}
    current = {}
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        if line.startswith("["):
            current = tables.setdefault(line.strip("[] "), {})
        elif line:
            key, value = (part.strip() for part in line.split("=", 1))
            current[key] = value.strip('"') if value.startswith('"') else _number(value)
    return tables


def _number(text):
    return float(text) if "." in text else int(text)
