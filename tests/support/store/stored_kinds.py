"""What older versions stored, compared with what is read of it now."""

from __future__ import annotations

_KINDS = {
    ("trigger", "85 %"): "threshold",
    ("trigger", "by hand"): "manual",
    ("reason", "by hand"): "manual",
    ("reason", "no room"): "overflow",
}
"""What the files of the first versions hold as texts, and the kinds these are now."""


def holds(now: object, stored: object) -> bool:
    """Return True if everything stored then is still present now, at any depth; of old texts the kind."""
    if isinstance(now, dict) and isinstance(stored, dict):
        return all(name in now and holds(now[name], kind_of(name, value)) for name, value in stored.items())
    if isinstance(now, list) and isinstance(stored, list):
        return len(now) == len(stored) and all(map(holds, now, stored))
    return now == stored


def kind_of(name: str, value: object) -> object:
    """Return what a stored field is read as: itself, or the kind for a text of the first versions."""
    return _KINDS.get((name, value), value) if isinstance(value, str) else value
