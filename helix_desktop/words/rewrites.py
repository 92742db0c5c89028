"""What became of the window, and what was chosen for a session, in a few words each."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.cost import format_usd
from helix_desktop.domain.events.rewrite import FoldMade, Form, FormChosen, Pinned, SweepMade, Unpinned
from helix_desktop.domain.events.session import AssistantSpoke, BudgetSet, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.tools import PermissionMode
from helix_desktop.words.numbers import format_tokens

_FORMS: dict[Form, str] = {"full": "whole", "preview": "as a preview", "compact": "in compact form"}
MODE_TEXTS: dict[PermissionMode, str] = {
    "ask": "Mode ask: you are asked before anything is changed or run",
    "plan": "Mode plan: the agent reads and plans, and changes nothing",
    "auto": "Mode auto: edits and commands in the sandbox run unasked",
}
_NAME_CAP = 60  # characters of an output's name


def model_text(label: str) -> str:
    """Say which model was chosen for a session; an empty label is the workspace's default."""
    if not label:
        return "Model for this session: workspace default"
    return f"Model for this session: {'offline demo model' if label.startswith('demo/') else label}"


def sweep_text(sweep: SweepMade, transcript: Transcript) -> str:
    """Return a sweep in a few words."""
    return f"{sweep_contents_text(sweep, transcript)} · saved {format_tokens(sweep.saved)} tokens"


def sweep_contents_text(sweep: SweepMade, transcript: Transcript) -> str:
    """Return what became markers in a sweep."""
    events = [item.event for seq in sweep.masked if (item := transcript.item(seq)) is not None]
    steps = sum(1 for event in events if isinstance(event, AssistantSpoke))
    pictured = sum(1 for event in events if isinstance(event, UserSpoke))
    text = masked_contents_text(len(events) - steps - pictured, steps, pictured)
    return f"{text[:1].upper()}{text[1:]}"


def masked_contents_text(outputs: int, steps: int, image_messages: int) -> str:
    """Return what became markers: outputs, the arguments of so many steps, the images of so many messages."""
    parts = [pluralize(outputs, "output")] if outputs or not (steps or image_messages) else []
    if steps:
        parts.append(f"the arguments of {pluralize(steps, 'step')}")
    if image_messages:
        parts.append(f"the images of {pluralize(image_messages, 'message')}")
    became = "became a marker" if parts == ["1 output"] else "became markers"
    return f"{', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]} {became}"


def handover_text(handover: HandoverMade) -> str:
    """Return a handover in a few words."""
    change = f"{format_tokens(handover.before)} → {format_tokens(handover.after)} tokens"
    return f"{pluralize(handover.messages, 'message')} handed over · {change}"


def fold_text(fold: FoldMade) -> str:
    """Return a fold in a few words."""
    saved = f"saved {format_tokens(fold.saved)} tokens"
    match fold.how:
        case "condense":
            return f"Older notes condensed into one · {saved}"
        case "truncate":
            return f"{pluralize(fold.steps, 'step')} left out for want of room · {saved}"
    return f"{pluralize(fold.steps, 'step')} folded into a note · {saved}"


def observations_prepared_text(event: ObservationsMade) -> str:
    """Prepared observations in a few words."""
    count = pluralize(len(event.observations), "observation")
    if event.reflection:
        return f"{count} refined and prepared"
    return f"{count} prepared from {pluralize(event.messages, 'message')}"


def observations_placed_text(event: ObservationsPlaced, observations: ObservationsMade | None) -> str:
    """Observations that were put in place, in a few words."""
    saved = f"saved {format_tokens(event.saved)} tokens"
    if observations is None:
        return f"Observations put in place · {saved}"
    count = pluralize(len(observations.observations), "observation")
    if observations.reflection:
        return f"{count}, refined, took the place of the former ones · {saved}"
    return f"{count} took the place of {pluralize(observations.messages, 'message')} · {saved}"


def form_text(event: FormChosen, transcript: Transcript) -> str:
    """Return a short text for an output form that the user chose."""
    how = f"{_FORMS[event.form]} · {format_tokens(event.tokens)} tokens"
    return f"You let the agent see {_output_name(event.target, transcript)} {how}"


def pin_text(event: Pinned | Unpinned, transcript: Transcript) -> str:
    """Return a pin set or taken off, in a few words."""
    name = _output_name(event.target, transcript)
    return (
        f"You pinned {name} · it stays in the window" if isinstance(event, Pinned) else f"You unpinned {name}"
    )


def budget_text(event: BudgetSet) -> str:
    """Return what the session may spend from now on, in a few words."""
    parts = [f"{event.tokens:,} tokens"] if event.tokens else []
    parts += [format_usd(event.cost)] if event.cost else []
    return f"Budget: {' or '.join(parts) if parts else 'as much as it takes'}"


def _output_name(seq: int, transcript: Transcript) -> str:
    item = transcript.item(seq)
    if item is None or not isinstance(item.event, ToolAnswered):
        return f"e{seq}"
    return ellipsize(" ".join(f"{item.event.name} {item.event.target}".split()), _NAME_CAP)
