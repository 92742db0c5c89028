"""The names of models as text."""

from __future__ import annotations


def model_name(label: str, demo: bool) -> str:
    """Return a model's display name, from PROVIDER/NAME."""
    return "Offline demo model" if demo else label.partition("/")[2] or label
