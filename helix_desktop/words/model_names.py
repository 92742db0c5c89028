"""The names of models, and of levels of reasoning effort, as text."""

from __future__ import annotations

from helix_desktop.domain.choices import Effort, SentEffort
from helix_desktop.domain.events.session import EffortRefused
from helix_desktop.words.translation import Translator

tr = Translator("Models")

_NO_MODEL = "no model"  # how the log begins the label of a summary that no model wrote


def demo_model_name() -> str:
    return tr("Offline demo model")


def model_name(label: str, demo: bool) -> str:
    """Return a model's display name, from PROVIDER/NAME."""
    return demo_model_name() if demo else label.partition("/")[2] or label


def model_text(label: str) -> str:
    """Return which model was chosen for a session; an empty label is the workspace's default."""
    if not label:
        return tr("Model for this session: workspace default")
    if label.startswith("demo/"):
        return tr("Model for this session: offline demo model")
    return tr("Model for this session: {model}", model=label)


def recorded_writer(label: str) -> str:
    """Return the label of the model that wrote a recorded summary; empty if none did."""
    return "" if label.startswith(_NO_MODEL) else label


def writer_name(label: str, demo: bool) -> str:
    """Return who wrote a summary, from the label of its model; empty: no model did."""
    if demo:
        return model_name(label, demo)
    return label or tr("Without a model")


def slow_model_text(label: str) -> str:
    """Return that a model wasn't asked about a large output, and where to change that; empty for none."""
    if not label:
        return ""
    return tr(
        "{model} was too slow before and wasn't asked which part to send: see Settings → Model roles.",
        model=label,
    )


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


def effort_text(effort: Effort) -> str:
    """Return which effort was chosen for a session; empty is the workspace's."""
    if not effort:
        return tr("Reasoning effort for this session: workspace default")
    return tr("Reasoning effort for this session: {effort}", effort=effort_name(effort))


def with_effort(model: str, effort: SentEffort) -> str:
    return f"{model} · {effort_name(effort)}" if effort else model


def effort_refused_text(event: EffortRefused) -> str:
    return tr(
        "{model} doesn't accept this reasoning effort: {effort}. Requests continue without it.",
        model=event.model,
        effort=effort_name(event.effort),
    )
