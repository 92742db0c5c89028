"""Turns that failed as text; the window's first frame needs it, so no events are imported."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.words.translation import translate


def turn_failure_reason(texts: Iterable[str]) -> str:
    return " ".join(translate(text) for text in texts if text)
