"""The names of levels of reasoning effort as text."""

from __future__ import annotations

from helix_desktop.domain.choices import Effort, SentEffort
from helix_desktop.domain.events.session import EffortRefused
from helix_desktop.words.translation import Translator

tr = Translator("Models")


def effort_name(effort: Effort) -> str:
    """Return the display name of a level; empty for none."""
    names: dict[Effort, str] = {
        "": "",
        "default": tr("Provider default"),
        "none": tr("No reasoning"),
        "minimal": tr("Minimal", "reasoning effort"),
        "low": tr("Low", "reasoning effort"),
        "medium": tr("Medium", "reasoning effort"),
        "high": tr("High", "reasoning effort"),
        "xhigh": tr("Extra high", "reasoning effort"),
        "max": tr("Max", "reasoning effort"),
    }
    return names[effort]


def with_effort(model: str, effort: SentEffort) -> str:
    return f"{model} · {effort_name(effort)}" if effort else model


def effort_refused_text(event: EffortRefused) -> str:
    return tr(
        "{model} doesn't accept this reasoning effort: {effort}. Requests continue without it.",
        model=event.model,
        effort=effort_name(event.effort),
    )
