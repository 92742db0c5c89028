"""What several tests need."""

from datetime import datetime, timedelta
from pathlib import Path

from tidewatch.clock import UTC
from tidewatch.readings import Reading

ROOT = Path(__file__).resolve().parent.parent
HARBOUR = ROOT / "data" / "2025-03-harbour.csv"
NORTHGATE = ROOT / "data" / "2025-03-northgate.csv"
START = datetime(2025, 3, 10, tzinfo=UTC)


def row(levels, minutes=10, start=START):
    """Readings with these levels, evenly spaced."""
    return [Reading(start + timedelta(minutes=minutes * n), level, "ok") for n, level in enumerate(levels)]
