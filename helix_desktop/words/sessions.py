"""Sessions as text."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.words.translation import Translator, translate

tr = Translator("Sessions")


def session_title(title: str) -> str:
    """Return a session's title as the user reads it; one without a title of its own is a new session."""
    return tr("New session") if title in {"", NEW_TITLE} else title


def failure_text(budget_spent: bool) -> str:
    """Return what the list and the header say of a turn that failed, or ended because the budget is spent."""
    return tr("Budget spent") if budget_spent else tr("Last turn failed")


def failure_reason(texts: Iterable[str]) -> str:
    """Return what a turn failed with, and why, as the user reads it."""
    return " ".join(translate(text) for text in texts if text)
