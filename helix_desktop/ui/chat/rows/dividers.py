"""Rewrites of the window to dividers: what became of what, and whether it can be undone."""

from __future__ import annotations

from dataclasses import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.cost import format_usd
from helix_desktop.domain.events.rewrite import FoldMade, Form, FormChosen, Pinned, SweepMade, Unpinned
from helix_desktop.domain.events.rewrite_kinds import ATTACHED_SWEEP_REASONS
from helix_desktop.domain.events.session import (
    AssistantSpoke,
    BudgetSet,
    ModeChanged,
    ModelChosen,
    RecordedEvent,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.tools import PermissionMode
from helix_desktop.ui.chat.actions import ButtonAction, Redo, ShowInChat, ShowInTimeline, Undo
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import DividerKind, DividerRow
from helix_desktop.words.numbers import format_tokens

_FORMS: dict[Form, str] = {"full": "whole", "preview": "as a preview", "compact": "in compact form"}
MODE_TEXTS: dict[PermissionMode, str] = {
    "ask": "Mode ask: you are asked before anything is changed or run",
    "plan": "Mode plan: the agent reads and plans, and changes nothing",
    "auto": "Mode auto: edits and commands in the sandbox run unasked",
}
_NAME = 60  # characters of an output's name


class Dividers:
    """The dividers of one session's rewrites by the seq of their event."""

    def __init__(self) -> None:
        self._rows: dict[int, DividerRow] = {}

    def divider_for(self, recorded: RecordedEvent, transcript: Transcript) -> DividerRow | None:
        """Return the divider that an event adds; None when it adds none."""
        row = _divider(recorded, transcript)
        if row is not None:
            self._rows[recorded.seq] = row
        return row

    def updated_dividers(self, transcript: Transcript) -> list[DividerRow]:
        """Return the dividers that an undo or redo touched: a rewrite's, and the sweep's that rides on it."""
        rows: list[DividerRow] = []
        for seq, row in self._rows.items():
            undone = transcript.rewrites.is_undoable(seq) and not transcript.rewrites.is_active(seq)
            if undone != row.is_undone:
                actions: list[ButtonAction] = [
                    action for action in row.actions if not isinstance(action, Undo | Redo)
                ]
                if transcript.can_undo(seq):
                    actions.append(Undo(seq))
                elif transcript.can_redo(seq):
                    actions.append(Redo(seq))
                self._rows[seq] = replace(row, is_undone=undone, actions=tuple(actions))
                rows.append(self._rows[seq])
        return rows


def _divider(recorded: RecordedEvent, transcript: Transcript) -> DividerRow | None:
    seq, quiet = recorded.seq, False
    actions: tuple[ButtonAction, ...] = (ShowInTimeline(seq), Undo(seq))
    kind: DividerKind
    match recorded.event:
        case SweepMade() as sweep:
            kind, text, quiet = "sweep", sweep_text(sweep, transcript), sweep.reason in ATTACHED_SWEEP_REASONS
        case ModeChanged() | ModelChosen() | BudgetSet() as setting:
            (kind, text), quiet, actions = _setting_change(setting), True, ()
        case HandoverMade() as handover:
            kind, text = "handover", handover_text(handover)
        case FoldMade() as fold:
            kind, text = "left out" if fold.how == "truncate" else "fold", fold_text(fold)
        case ObservationsPlaced() as placed:
            observations = transcript.rewrites.observations.get(placed.made)
            kind, text = "observations", observations_placed_text(placed, observations)
        case ObservationsMade() as observations:
            kind, text, quiet, actions = (
                "observations",
                observations_prepared_text(observations),
                True,
                (ShowInTimeline(seq),),
            )
        case FormChosen(target=about) as chosen:
            kind, text, quiet = "form", form_text(chosen, transcript), True
            actions = (ShowInChat(about), Undo(seq))
        case Pinned(target=about) | Unpinned(target=about) as pin:
            kind, text, quiet, actions = "pin", pin_text(pin, transcript), True, (ShowInChat(about),)
        case _:
            return None
    return DividerRow(RowKey(seq), kind, text, actions=actions, is_quiet=quiet)


def _setting_change(event: ModeChanged | ModelChosen | BudgetSet) -> tuple[DividerKind, str]:
    match event:
        case ModeChanged(mode=mode):
            return "mode", MODE_TEXTS[mode]
        case ModelChosen(model=model):
            return "model", model_text(model)
        case BudgetSet():
            return "budget", budget_text(event)


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
    parts = [_pluralize(outputs, "output")] if outputs or not (steps or image_messages) else []
    if steps:
        parts.append(f"the arguments of {_pluralize(steps, 'step')}")
    if image_messages:
        parts.append(f"the images of {_pluralize(image_messages, 'message')}")
    became = "became a marker" if parts == ["1 output"] else "became markers"
    return f"{', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]} {became}"


def handover_text(handover: HandoverMade) -> str:
    """Return a handover in a few words."""
    change = f"{format_tokens(handover.before)} → {format_tokens(handover.after)} tokens"
    return f"{_pluralize(handover.messages, 'message')} handed over · {change}"


def fold_text(fold: FoldMade) -> str:
    """Return a fold in a few words."""
    saved = f"saved {format_tokens(fold.saved)} tokens"
    match fold.how:
        case "condense":
            return f"Older notes condensed into one · {saved}"
        case "truncate":
            return f"{_pluralize(fold.steps, 'step')} left out for want of room · {saved}"
    return f"{_pluralize(fold.steps, 'step')} folded into a note · {saved}"


def observations_prepared_text(event: ObservationsMade) -> str:
    """Prepared observations in a few words."""
    count = _pluralize(len(event.observations), "observation")
    if event.reflection:
        return f"{count} refined and prepared"
    return f"{count} prepared from {_pluralize(event.messages, 'message')}"


def observations_placed_text(event: ObservationsPlaced, observations: ObservationsMade | None) -> str:
    """Observations that were put in place, in a few words."""
    saved = f"saved {format_tokens(event.saved)} tokens"
    if observations is None:
        return f"Observations put in place · {saved}"
    count = _pluralize(len(observations.observations), "observation")
    if observations.reflection:
        return f"{count}, refined, took the place of the former ones · {saved}"
    return f"{count} took the place of {_pluralize(observations.messages, 'message')} · {saved}"


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
    words = " ".join(f"{item.event.name} {item.event.target}".split())
    return words if len(words) <= _NAME else f"{words[: _NAME - 1]}…"


def _pluralize(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
