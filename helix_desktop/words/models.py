"""The names of models as text."""

from __future__ import annotations

from helix_desktop.words.translation import Translator

tr = Translator("Models")


def model_name(label: str, demo: bool) -> str:
    """Return a model's display name, from PROVIDER/NAME."""
    return tr("Offline demo model") if demo else label.partition("/")[2] or label
