"""The output of commands: results on standard output, progress and notices on standard error."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import msgspec

from helix_desktop.agent.session_updates import (
    ErrorRaised,
    EventRecorded,
    ResponseDelta,
    ResponseReset,
    SpendDecided,
    Update,
)
from helix_desktop.domain.cost import Budget, Spending
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.rewrite_kinds import SweepReason
from helix_desktop.domain.events.session import (
    AssistantSpoke,
    BudgetNeared,
    Event,
    RecordedEvent,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
)
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade, ObservationsPlaced
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.repair_report import LostContent
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.domain.user_text import plain_text
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.rewrite_reasons import trigger_text

_PRINT_EVERY = 0.05  # share of some work after which it is told again how far it is


class JsonLine(msgspec.Struct, frozen=True):
    """One JSON line: an event in its place, and the session it belongs to."""

    session: str
    seq: int
    at: int
    event: Event


def print_out(text: str) -> None:
    """Print a line of the result on standard output. Raises OSError if it is closed."""
    sys.stdout.write(text + "\n")


def print_err(text: str) -> None:
    """Print a line for the user on standard error."""
    sys.stderr.write(text + "\n")


def content_name(content: CacheEntry | LostContent) -> str:
    """Return the name of a content on one line, with control characters escaped."""
    return escape_hidden_name(f"{content.tool} {content.target}".rstrip())


class ProgressPrinter:
    """Prints the progress of a job, on a terminal only."""

    def __init__(self, label: str = "") -> None:
        """`label` is printed before each percentage."""
        self._label = label
        self._is_terminal, self._printed_share = sys.stderr.isatty(), 0.0

    def update(self, done: int, total: int) -> None:
        """Print the progress if it has advanced enough."""
        share = done / total if total else 1.0
        if self._is_terminal and share - self._printed_share >= _PRINT_EVERY:
            self._printed_share = share
            print_err(f"{self._label}{format_whole_percent(share)}")


class TurnPrinter:
    """Prints a turn as it happens: the answer's text, or every event as a JSON line.

    `on_output_error` is called once when standard output can no longer be written; nothing is
    printed there after that.
    """

    def __init__(self, as_json: bool, on_output_error: Callable[[], object]) -> None:
        self._as_json, self._on_output_error = as_json, on_output_error
        self.output_error: OSError | None = None
        self.had_error = False

    def on_update(self, session_id: str, update: Update) -> None:
        """Print an update."""
        if isinstance(update, ErrorRaised):
            self.had_error = True
            print_err(f"helix-desktop: {update.what} {update.why} {update.fix}".rstrip())
        if isinstance(update, ResponseReset):
            print_err(f"Retrying in {math.ceil(update.wait_s)} s (attempt {update.attempt}): {update.reason}")
        if isinstance(update, SpendDecided):
            print_err(_spend_decision_text(update))
        if self.output_error is not None:
            return
        try:
            self._print_json(session_id, update) if self._as_json else self._print_text(update)
        except OSError as error:  # a listener must not raise: the fact is on record, whoever hears of it
            self.output_error = error
            self._on_output_error()

    def _print_json(self, session_id: str, update: Update) -> None:
        if isinstance(update, EventRecorded):
            recorded: RecordedEvent = update.recorded
            line = JsonLine(session_id, recorded.seq, recorded.at, recorded.event)
            print_out(msgspec.json.encode(line, enc_hook=plain_text).decode())
            sys.stdout.flush()  # a line that was read is a fact: it may be relied on at once

    def _print_text(self, update: Update) -> None:
        match update:
            case ResponseDelta(text=text, is_reasoning=False):
                sys.stdout.write(text)
                sys.stdout.flush()
            case EventRecorded(recorded=recorded):
                _print_event(recorded.event)
            case _:
                pass

    def print_end(self, ended: TurnEnded) -> None:
        """Print why a turn did not end well, if it did not."""
        if ended.how != "done":
            print_err(f"helix-desktop: the turn {ended.how}. {ended.what} {ended.why} {ended.fix}".rstrip())


def _spend_decision_text(decision: SpendDecided) -> str:
    estimate = decision.ask.estimate
    work = "compacting" if decision.ask.work == "handover" else "observing"
    what = f"about {estimate.tokens:,} tokens with {estimate.model} ({estimate.price_text})"
    if decision.allowed:
        return f"[{work}: reads {what}, within the budget]"
    return (
        f"[{work} was not started: it would read {what}, which no budget covers. The context stays as it is; "
        "a full context is compacted without a model. Set --budget-tokens or --budget-usd.]"
    )


def _print_event(event: Event) -> None:
    match event:
        case AssistantSpoke(text=text) if text:
            print_out("")
        case ToolAnswered() as answer:
            state = "ok" if answer.ok else answer.outcome.replace("ran", "failed")
            stored = f", {answer.digest[:12]}" if answer.digest else ""
            about = f"{answer.name} {answer.target}".rstrip()
            print_err(f"[{about}: {state}, {format_bytes(answer.size)}{stored}]")
        case SweepMade() as sweep:
            print_err(_sweep_text(sweep))
        case FoldMade() as fold:
            print_err(f"[fold: {fold.steps} steps became a note, {fold.saved} tokens saved]")
        case ObservationsPlaced(saved=saved):
            print_err(f"[observations took the place of what they cover, {saved} tokens saved]")
        case HandoverMade() as event:
            why = trigger_text(event.trigger, event.threshold)
            print_err(
                f"[handover ({why}): {event.messages} messages, {event.before} -> {event.after} tokens]"
            )
        case SubagentStarted() as started:
            print_err(f"[subagent {started.title}".rstrip() + f": session {started.session}]")
        case BudgetNeared() as neared:
            budget = Budget(neared.most_tokens, neared.most_cost)
            print_err(f"[budget: {budget.usage_text(Spending(neared.tokens, neared.cost))} spent]")
        case HandoverFailed() as failed:
            print_err(f"[not handed over: {failed.what} {failed.why}]")
        case _:
            pass


def _sweep_text(sweep: SweepMade) -> str:
    if sweep.reason is SweepReason.REFUSED:
        return "[the model's server refused an image: a marker is sent instead]"
    return f"[sweep: {len(sweep.masked)} messages' content became markers, {sweep.saved} tokens saved]"
