"""Turns that failed as text; the window's first frame needs it, so no events are imported."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.words.translation import Translator, translate

tr = Translator("Sessions")


def failure_text(budget_spent: bool) -> str:
    """Return what the list and the header say of a turn that failed, or ended because the budget is spent."""
    return tr("Budget spent") if budget_spent else tr("Last turn failed")


def turn_failure_reason(texts: Iterable[str]) -> str:
    return " ".join(translate(text) for text in texts if text)
