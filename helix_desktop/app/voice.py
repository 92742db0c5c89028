"""What a command without a window says: its answer on standard output, what happens on standard error."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import msgspec

from helix_desktop.agent.update import ArrivalVoided, Arriving, Happened, SpendDecided, Trouble, Update
from helix_desktop.context.content import Entry
from helix_desktop.context.damage import LostContent
from helix_desktop.context.digest import size_text
from helix_desktop.context.event import (
    AssistantSpoke,
    BudgetNeared,
    Event,
    Recorded,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
)
from helix_desktop.context.event_rewrite import FoldMade, SweepMade
from helix_desktop.context.event_summary import HandoverFailed, HandoverMade, ObservationsPlaced
from helix_desktop.context.rewrite_kind import SweepReason
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.spending import Budget, Spending
from helix_desktop.ui.rewrite_text import trigger_text

_TELL_EVERY = 0.05  # share of some work after which it is told again how far it is


class Line(msgspec.Struct, frozen=True):
    """One JSON line: an event in its place, and the session it belongs to."""

    session: str
    seq: int
    at: int
    event: Event


def out(text: str) -> None:
    """A line for whoever reads the answer. Raises OSError when nobody can."""
    sys.stdout.write(text + "\n")


def err(text: str) -> None:
    """A line for the person."""
    sys.stderr.write(text + "\n")


def named(one: Entry | LostContent) -> str:
    """What a content is called, on one line: a file's name may hold signs that steer a terminal."""
    return revealed_name(f"{one.tool} {one.target}".rstrip())


class Telling:
    """Tells a person at a terminal how far some work is; others need not know."""

    def __init__(self, work: str = "") -> None:
        """`work` goes before each share."""
        self._work = work
        self._aloud, self._told = sys.stderr.isatty(), 0.0

    def tell(self, done: int, size: int) -> None:
        """Hear how much of how much is done."""
        share = done / size if size else 1.0
        if self._aloud and share - self._told >= _TELL_EVERY:
            self._told = share
            err(f"{self._work}{share * 100:.0f} %")


class Voice:
    """Tells a turn as it happens: the answer's text, or every event as a JSON line.

    `on_gone` is called once when standard output can no longer be written; nothing is said there after that.
    """

    def __init__(self, as_json: bool, on_gone: Callable[[], object]) -> None:
        self._as_json, self._on_gone = as_json, on_gone
        self.gone: OSError | None = None
        self.troubled = False

    def hear(self, session: str, update: Update) -> None:
        """Say what an update means."""
        if isinstance(update, Trouble):
            self.troubled = True
            err(f"helix-desktop: {update.what} {update.why} {update.fix}".rstrip())
        if isinstance(update, ArrivalVoided):
            err(f"Retrying in {math.ceil(update.wait_s)} s (attempt {update.attempt}): {update.reason}")
        if isinstance(update, SpendDecided):
            err(_spend_decision(update))
        if self.gone is not None:
            return
        try:
            self._json(session, update) if self._as_json else self._text(update)
        except OSError as error:  # a listener must not raise: the fact is on record, whoever hears of it
            self.gone = error
            self._on_gone()

    def _json(self, session: str, update: Update) -> None:
        if isinstance(update, Happened):
            one: Recorded = update.recorded
            out(msgspec.json.encode(Line(session, one.seq, one.at, one.event)).decode())
            sys.stdout.flush()  # a line that was read is a fact: it may be relied on at once

    def _text(self, update: Update) -> None:
        match update:
            case Arriving(text=text, reasoning=False):
                sys.stdout.write(text)
                sys.stdout.flush()
            case Happened(recorded=recorded):
                _tell(recorded.event)
            case _:
                pass

    def end(self, ended: TurnEnded) -> None:
        """Say why a turn did not end well, if so."""
        if ended.how != "done":
            err(f"helix-desktop: the turn {ended.how}. {ended.what} {ended.why} {ended.fix}".rstrip())


def _spend_decision(decided: SpendDecided) -> str:
    estimate = decided.ask.estimate
    work = "compacting" if decided.ask.work == "handover" else "observing"
    what = f"about {estimate.tokens:,} tokens with {estimate.model} ({estimate.price})"
    if decided.allowed:
        return f"[{work}: reads {what}, within the budget]"
    return (
        f"[{work} was not started: it would read {what}, which no budget covers. The context stays as it is; "
        "a full context is compacted without a model. Set --budget-tokens or --budget-usd.]"
    )


def _tell(event: Event) -> None:
    match event:
        case AssistantSpoke(text=text) if text:
            out("")
        case ToolAnswered() as answer:
            state = "ok" if answer.ok else answer.outcome.replace("ran", "failed")
            stored = f", {answer.digest[:12]}" if answer.digest else ""
            about = f"{answer.name} {answer.target}".rstrip()
            err(f"[{about}: {state}, {size_text(answer.size)}{stored}]")
        case SweepMade() as sweep:
            err(_sweep_text(sweep))
        case FoldMade() as fold:
            err(f"[fold: {fold.steps} steps became a note, {fold.saved} tokens saved]")
        case ObservationsPlaced(saved=saved):
            err(f"[observations took the place of what they cover, {saved} tokens saved]")
        case HandoverMade() as made:
            why = trigger_text(made.trigger, made.threshold)
            err(f"[handover ({why}): {made.messages} messages, {made.before} -> {made.after} tokens]")
        case SubagentStarted() as started:
            err(f"[subagent {started.title}".rstrip() + f": session {started.session}]")
        case BudgetNeared() as neared:
            budget = Budget(neared.most_tokens, neared.most_cost)
            err(f"[budget: {budget.text(Spending(neared.tokens, neared.cost))} spent]")
        case HandoverFailed() as failed:
            err(f"[not handed over: {failed.what} {failed.why}]")
        case _:
            pass


def _sweep_text(sweep: SweepMade) -> str:
    if sweep.reason is SweepReason.REFUSED:
        return "[the model's server refused an image: a marker is sent instead]"
    return f"[sweep: {len(sweep.masked)} messages' content became markers, {sweep.saved} tokens saved]"
