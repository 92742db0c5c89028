"""Rewrites of the window to dividers: what became of what, and whether it can be undone."""

from __future__ import annotations

from dataclasses import replace

from helix_desktop.context.event import (
    AssistantSpoke,
    BudgetSet,
    ModeChanged,
    ModelChosen,
    Recorded,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.context.event_rewrite import FoldMade, Form, FormChosen, Pinned, SweepMade, Unpinned
from helix_desktop.context.event_summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.context.rewrite_kind import RIDING
from helix_desktop.context.spending import dollars
from helix_desktop.context.tool import Mode
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.chat.rows import DividerKind, DividerRow
from helix_desktop.ui.figures import tokens_text

_FORMS: dict[Form, str] = {"full": "whole", "preview": "as a preview", "compact": "in compact form"}
MODE_TEXTS: dict[Mode, str] = {
    "ask": "Mode ask: you are asked before anything is changed or run",
    "plan": "Mode plan: the agent reads and plans, and changes nothing",
    "auto": "Mode auto: edits and commands in the sandbox run unasked",
}
_NAME = 60  # characters of an output's name


class Dividers:
    """The dividers of one session's rewrites by the seq of their event."""

    def __init__(self) -> None:
        self._rows: dict[int, DividerRow] = {}

    def added(self, recorded: Recorded, after: Transcript) -> DividerRow | None:
        """The divider that an event adds; None when it adds none."""
        row = _divider(recorded, after)
        if row is not None:
            self._rows[recorded.seq] = row
        return row

    def changed(self, after: Transcript) -> list[DividerRow]:
        """The dividers that an undo or redo touched: a rewrite's, and the sweep's that rides on it."""
        found: list[DividerRow] = []
        for seq, row in self._rows.items():
            undone = after.rewrites.knows(seq) and not after.rewrites.holds(seq)
            if undone != row.undone:
                way = ("undo",) if after.can_undo(seq) else ("redo",) if after.can_redo(seq) else ()
                first = tuple(name for name in row.actions if name not in ("undo", "redo"))
                self._rows[seq] = replace(row, undone=undone, actions=(*first, *way))
                found.append(self._rows[seq])
        return found


def _divider(recorded: Recorded, after: Transcript) -> DividerRow | None:
    seq, quiet, about = recorded.seq, False, 0
    actions: tuple[str, ...] = ("view", "undo")
    kind: DividerKind
    match recorded.event:
        case SweepMade() as sweep:
            kind, text, quiet = "sweep", sweep_text(sweep, after), sweep.reason in RIDING
        case ModeChanged() | ModelChosen() | BudgetSet() as setting:
            (kind, text), quiet, actions = _setting(setting), True, ()
        case HandoverMade() as handover:
            kind, text = "handover", handover_text(handover)
        case FoldMade() as fold:
            kind, text = "left out" if fold.how == "truncate" else "fold", fold_text(fold)
        case ObservationsPlaced() as placed:
            made = after.rewrites.observed.get(placed.made)
            kind, text = "observations", placed_text(placed, made)
        case ObservationsMade() as made:
            kind, text, quiet, actions = "observations", prepared_text(made), True, ("view",)
        case FormChosen(target=about) as chosen:
            kind, text, quiet, actions = "form", form_text(chosen, after), True, ("show", "undo")
        case Pinned(target=about) | Unpinned(target=about) as pin:
            kind, text, quiet, actions = "pin", pin_text(pin, after), True, ("show",)
        case _:
            return None
    return DividerRow(f"e{seq}", kind, text, seq, actions=actions, quiet=quiet, about=about)


def _setting(event: ModeChanged | ModelChosen | BudgetSet) -> tuple[DividerKind, str]:
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
    """A sweep in a few words."""
    return f"{swept_text(sweep, transcript)} · saved {tokens_text(sweep.saved)} tokens"


def swept_text(sweep: SweepMade, transcript: Transcript) -> str:
    """What became markers in a sweep."""
    events = [item.event for seq in sweep.masked if (item := transcript.item(seq)) is not None]
    steps = sum(1 for event in events if isinstance(event, AssistantSpoke))
    pictured = sum(1 for event in events if isinstance(event, UserSpoke))
    said = swept_words(len(events) - steps - pictured, steps, pictured)
    return f"{said[:1].upper()}{said[1:]}"


def swept_words(outputs: int, steps: int, pictured: int) -> str:
    """What became markers: outputs, the arguments of so many steps, the images of so many messages."""
    parts = [_count(outputs, "output")] if outputs or not (steps or pictured) else []
    if steps:
        parts.append(f"the arguments of {_count(steps, 'step')}")
    if pictured:
        parts.append(f"the images of {_count(pictured, 'message')}")
    became = "became a marker" if parts == ["1 output"] else "became markers"
    return f"{', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]} {became}"


def handover_text(handover: HandoverMade) -> str:
    """A handover in a few words."""
    change = f"{tokens_text(handover.before)} → {tokens_text(handover.after)} tokens"
    return f"{_count(handover.messages, 'message')} handed over · {change}"


def fold_text(fold: FoldMade) -> str:
    """A fold in a few words."""
    saved = f"saved {tokens_text(fold.saved)} tokens"
    match fold.how:
        case "condense":
            return f"Older notes condensed into one · {saved}"
        case "truncate":
            return f"{_count(fold.steps, 'step')} left out for want of room · {saved}"
    return f"{_count(fold.steps, 'step')} folded into a note · {saved}"


def prepared_text(made: ObservationsMade) -> str:
    """Prepared observations in a few words."""
    count = _count(len(made.observations), "observation")
    if made.reflection:
        return f"{count} refined and prepared"
    return f"{count} prepared from {_count(made.messages, 'message')}"


def placed_text(placed: ObservationsPlaced, made: ObservationsMade | None) -> str:
    """Observations that were put in place, in a few words."""
    saved = f"saved {tokens_text(placed.saved)} tokens"
    if made is None:
        return f"Observations put in place · {saved}"
    count = _count(len(made.observations), "observation")
    if made.reflection:
        return f"{count}, refined, took the place of the former ones · {saved}"
    return f"{count} took the place of {_count(made.messages, 'message')} · {saved}"


def form_text(chosen: FormChosen, transcript: Transcript) -> str:
    """A choice of the person in a few words."""
    how = f"{_FORMS[chosen.form]} · {tokens_text(chosen.tokens)} tokens"
    return f"You let the agent see {_name(chosen.target, transcript)} {how}"


def pin_text(pin: Pinned | Unpinned, transcript: Transcript) -> str:
    """A pin set or taken off, in a few words."""
    name = _name(pin.target, transcript)
    return (
        f"You pinned {name} · it stays in the window" if isinstance(pin, Pinned) else f"You unpinned {name}"
    )


def budget_text(budget: BudgetSet) -> str:
    """What the session may spend from now on, in a few words."""
    parts = [f"{budget.tokens:,} tokens"] if budget.tokens else []
    parts += [dollars(budget.cost)] if budget.cost else []
    return f"Budget: {' or '.join(parts) if parts else 'as much as it takes'}"


def _name(seq: int, transcript: Transcript) -> str:
    item = transcript.item(seq)
    if item is None or not isinstance(item.event, ToolAnswered):
        return f"e{seq}"
    words = " ".join(f"{item.event.name} {item.event.target}".split())
    return words if len(words) <= _NAME else f"{words[: _NAME - 1]}…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
