"""The output of commands: results on standard output, progress and notices on standard error."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TextIO

import msgspec

from helix_desktop.agent.open_workspace import spending_of_session
from helix_desktop.agent.session import (
    ErrorRaised,
    EventRecorded,
    ModelCalled,
    ResponseDelta,
    ShownEventsStored,
    SummaryAwaited,
    Update,
)
from helix_desktop.cli.output_queue import OutputQueue
from helix_desktop.cli.rewrite_lines import RewriteWords
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.answer_bounds import AnswerBound
from helix_desktop.domain.events.conversation import AssistantSpoke, SubagentStarted, ToolAnswered, TurnEnded
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.session import (
    BudgetNeared,
    ChangesRecorded,
    EffortRefused,
    FilesChanged,
    InstructionsAdded,
    WindowLearned,
)
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import RetryScheduled, StopReason, display_name
from helix_desktop.domain.store import CacheEntry, SessionSummary
from helix_desktop.domain.store_reports import LostContent
from helix_desktop.domain.translatable_text import OptionalText, plain_text
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.words.answer_ends import cut_off_fix, cut_off_text, window_learned_text
from helix_desktop.words.file_changes import (
    auto_run_rules_text,
    auto_run_texts,
    changed_lines_text,
    files_changed_text,
    recorded_changes_text,
)
from helix_desktop.words.instructions import instructions_text
from helix_desktop.words.model_names import effort_refused_text
from helix_desktop.words.numbers import format_size, format_usd, format_whole_percent
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")

_LAST_WRITES_S = 2.0  # for a reader to take the output of a turn that was stopped
_queue: OutputQueue | None = None
_has_document = False
_PRINT_EVERY = 0.05  # share of some work after which it is told again how far it is


class JsonLine(msgspec.Struct, frozen=True):
    """One JSON line: an event in its place, and the session it belongs to."""

    session: str
    seq: int
    at: int
    event: Event


def write_text(stream: TextIO, text: str) -> None:
    """Write a text as it is; to a terminal with control and direction signs as codes: it would obey them."""
    if stream.isatty():
        text = escape_hidden(text)
    if _queue is None:
        stream.write(text)
    else:
        _queue.write(stream, text)


def _flush_out() -> None:
    """Give what was printed on standard output to its reader. Raises OSError if it is closed."""
    if _queue is None:  # its thread buffers nothing
        sys.stdout.flush()


@asynccontextmanager
async def queued_output(on_error: Callable[[OSError], object]) -> AsyncIterator[OutputQueue]:
    """Let a thread write all that is printed meanwhile: the event loop never waits for a reader.

    `on_error` is called with the first error of each stream. At the end all is written; after an error or a
    cancellation, what a reader takes within two seconds.
    """
    global _queue  # noqa: PLW0603 - there is one standard output
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _queue = output = OutputQueue(on_error)
    try:
        yield output
        await output.close()
    except BaseException:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WRITES_S):
                await output.close()
                _queue = None
        raise  # where a reader took nothing, the queue stays: what is still printed must not wait for it
    _queue = None


def print_out(text: str) -> None:
    """Print a line of the result on standard output. Raises OSError if it is closed."""
    write_text(sys.stdout, text + "\n")


def print_err(text: str) -> None:
    write_text(sys.stderr, text + "\n")


def print_notice(text: str) -> None:
    """Print a sentence for the user on standard error, behind the program's name."""
    print_err(f"helix-desktop: {text}")


def print_json(document: object) -> None:
    global _has_document  # noqa: PLW0603 - there is one standard output
    print_out(json.dumps(document, indent=1))
    _has_document = True


def begin_command() -> None:
    """Forget what commands before have printed: one process can run several."""
    global _has_document  # noqa: PLW0603 - there is one standard output
    _has_document = False


def print_json_error(
    what: OptionalText, why: OptionalText = "", fix: OptionalText = "", *, code: int
) -> None:
    """Print an error as the document of a command, or as its last JSON line; its texts are in English.

    Nothing where the command has printed its document: two would be none.
    """
    if not _has_document:
        texts = {"what": str.__str__(what), "why": str.__str__(why), "fix": str.__str__(fix)}
        print_out(json.dumps({"error": {**texts, "code": code}}))


def as_builtins(value: object) -> Any:
    """Return a struct as the objects of a JSON document, its texts in English."""
    return msgspec.to_builtins(value, enc_hook=plain_text)


def session_as_builtins(summary: SessionSummary) -> dict[str, Any]:
    """Return a session of a list; its id is `session`, as everywhere, and `id`, as in stored summaries."""
    unpriced = spending_of_session(summary).unpriced
    return {"session": summary.id, **as_builtins(summary), "unpriced": unpriced}


def content_name(content: CacheEntry | LostContent) -> str:
    """Return the name of a content on one line, with control characters escaped."""
    return escape_hidden_name(f"{content.tool} {content.target}".rstrip())


class ProgressPrinter:
    """Prints the progress of a job on one line, which goes at the end; on a terminal only."""

    def __init__(self, job: str = "") -> None:
        self._job = job
        self._is_terminal = sys.stderr.isatty()
        self._printed_share = 0.0

    def update(self, done: int, total: int) -> None:
        """Print the progress if it has advanced enough."""
        share = done / total if total else 1.0
        if not self._is_terminal:
            return
        if share >= 1.0 and self._printed_share:
            self._printed_share = 0.0
            _write_over("")
        elif share < 1.0 and share - self._printed_share >= _PRINT_EVERY:
            self._printed_share = share
            percent = format_whole_percent(share)
            _write_over(tr("{job}: {percent}", job=self._job, percent=percent) if self._job else percent)


def _write_over(text: str) -> None:
    """Write over the line of standard error that the cursor is in, and go to its beginning."""
    sys.stderr.write(f"\r{text}\x1b[K\r")
    sys.stderr.flush()


def print_remaining_work(is_compacting: bool, is_noting: bool) -> None:
    if is_compacting or is_noting:
        work = tr("compacting") if is_compacting else tr("summarizing older messages")
        print_err(tr("[the turn is done; still {work}: Ctrl+C stops it]", work=work))


class TurnPrinter:
    """Prints a turn as it happens: the answer's text, or every event as a JSON line.

    `transcript_of` returns an open session's transcript by its id. `on_output_error` is called once when
    standard output can no longer be written; nothing is printed there after that.
    """

    def __init__(
        self,
        as_json: bool,
        transcript_of: Callable[[str], Transcript | None],
        on_output_error: Callable[[], object],
    ) -> None:
        self._as_json = as_json
        self._transcript_of = transcript_of
        self._on_output_error = on_output_error
        self.output_error: OSError | None = None
        self.had_error = False
        self._is_streaming = sys.stdout.isatty()
        self._unrecorded = set[str]()  # sessions with text on the terminal of an answer that is not recorded
        self._last_error: tuple[str, str, str] | None = None

    def on_update(self, session_id: str, update: Update) -> None:
        if isinstance(update, ShownEventsStored):
            for recorded in update.recorded:
                self.on_update(session_id, EventRecorded(recorded))
            return
        if isinstance(update, EventRecorded) and not update.is_stored:
            return  # what is printed is on record
        if isinstance(update, ErrorRaised):
            self.had_error |= not update.is_warning
            self._last_error = update.what, update.why, update.fix
            _print_problem(update.details, update.what, update.why, update.fix)
        if isinstance(update, ModelCalled | RetryScheduled):
            self._end_lost_text(session_id)
        if isinstance(update, RetryScheduled):
            _print_retry(update)
        if isinstance(update, SummaryAwaited) and update.is_active:
            print_err(f"[{_full_context_text(update.subagent_title)}]")
        if self.output_error is not None:
            return
        try:
            self._print_json(session_id, update) if self._as_json else self._print_text(session_id, update)
        except OSError as error:  # a listener must not raise: the fact is on record, whoever hears of it
            self.on_write_error(error)

    def on_write_error(self, error: OSError) -> None:
        """Note that the output can't be written."""
        if self.output_error is None:
            self.output_error = error
            self._on_output_error()

    def _print_json(self, session_id: str, update: Update) -> None:
        if isinstance(update, EventRecorded):
            recorded: RecordedEvent = update.recorded
            line = JsonLine(session_id, recorded.seq, recorded.at, recorded.event)
            print_out(msgspec.json.encode(line, enc_hook=plain_text).decode())
            _flush_out()  # a line that was read is a fact: it may be relied on at once
            if _made_room(recorded.event):
                _print_event(recorded, self._transcript_of(session_id))

    def _end_lost_text(self, session_id: str) -> None:
        """End the line of an answer that broke off, and say that its text doesn't count."""
        if session_id in self._unrecorded:
            self._unrecorded.remove(session_id)
            with suppress(OSError):  # the next text says so
                print_out("")
                _flush_out()
            print_err(f"[{tr('The answer was interrupted and starts over; ignore the text above')}]")

    def _print_text(self, session_id: str, update: Update) -> None:
        """Print an answer on a terminal as it comes; into a file or pipe once it is recorded."""
        match update:
            case ResponseDelta(text=text, is_reasoning=False) if self._is_streaming:
                self._unrecorded.add(session_id)
                write_text(sys.stdout, text)
                _flush_out()
            case EventRecorded(recorded=recorded):
                if isinstance(recorded.event, AssistantSpoke):
                    self._unrecorded.discard(session_id)
                    if not self._is_streaming:
                        write_text(sys.stdout, recorded.event.text)
                _print_event(recorded, self._transcript_of(session_id))
                if isinstance(recorded.event, AssistantSpoke):
                    _flush_out()  # its reader has it now, or the turn ends before it costs more
            case _:
                pass

    def print_end(self, ended: TurnEnded, stop: StopReason = "end", bound: AnswerBound = "") -> None:
        """Print why a turn did not end well, if it did not; a reason printed last is not repeated.

        `stop` is why its last answer ended, `bound` the bound of ours that ended it.
        """
        if ended.how == "done" and (reason := cut_off_text(stop, bound)):
            print_notice(tr("{what}. {fix}", what=reason, fix=cut_off_fix(stop, bound)))
        if ended.how != "done" and (ended.what, ended.why, ended.fix) != self._last_error:
            _print_problem(ended.details, _end_text(ended), ended.what, ended.why, ended.fix)


def _print_retry(retry: RetryScheduled) -> None:
    seconds = math.ceil(retry.wait_s)
    print_err(
        tr(
            "Retrying in {seconds} s (attempt {attempt}): {reason}",
            seconds=seconds,
            attempt=retry.attempt,
            reason=retry.reason,
        )
        if seconds
        else tr("Retrying now (attempt {attempt}): {reason}", attempt=retry.attempt, reason=retry.reason)
    )


def _print_problem(details: str, *texts: str) -> None:
    """Print texts as whole sentences: what a server says may end without a mark."""
    words = [translate(text) for text in texts if text]
    print_notice(" ".join(text if text.endswith((".", "!", "?", "…", ":")) else f"{text}." for text in words))
    if details:
        print_err(tr("Details: {text}", text=details))


def _end_text(ended: TurnEnded) -> str:
    match ended.how:
        case "stopped":
            return tr("The turn was stopped.")
        case "interrupted":
            return tr("The turn was interrupted.")
    return tr("The turn failed.")


def _full_context_text(subagent_title: str) -> str:
    if subagent_title:
        return tr(
            "The context of the subagent “{title}” is full: waiting until its older messages are compacted. "
            "Ctrl+C stops it.",
            title=subagent_title,
        )
    return tr("The context is full: waiting until older messages are compacted. Ctrl+C stops it.")


def _print_event(recorded: RecordedEvent, transcript: Transcript | None) -> None:
    match event := recorded.event:
        case AssistantSpoke(text=text) if text:
            print_out("")
        case ToolAnswered() as output:
            print_err(f"[{_answer_text(output)}]")
            for line in auto_run_texts(output.auto_run):
                print_err(f"[{line}]")
            if rules := auto_run_rules_text(output.auto_run):
                print_err(f"[{rules}]")
        case (
            SweepMade()
            | FoldMade()
            | ObservationsPlaced()
            | HandoverMade()
            | HandoverFailed()
            | HandoverDiscarded(prepared=HandoverPrepared())
        ) if transcript is not None:
            print_err(f"[{RewriteWords(transcript).line(recorded.seq, event)}]")
        case SubagentStarted(title=title, session=session_id) if title:
            print_err(f"[{tr('subagent {title}: session {session}', title=title, session=session_id)}]")
        case SubagentStarted(session=session_id):
            print_err(f"[{tr('subagent: session {session}', session=session_id)}]")
        case FilesChanged() | ChangesRecorded() as changed:
            print_err(f"[{_changed_text(changed)}]")
        case EffortRefused() as refused:
            print_err(f"[{effort_refused_text(refused)} {refused.reason}]")
        case WindowLearned() as learned:
            print_err(f"[{window_learned_text(learned)} {learned.reason}]")
        case InstructionsAdded() as added:
            print_err(f"[{instructions_text(added)}]")
        case BudgetNeared() as neared:
            print_err(f"[{_budget_text(neared)}]")
        case _:
            pass


def _made_room(event: Event) -> bool:
    """Return True if the model can't see something because the request was too long, or would have been."""
    match event:
        case (
            WindowLearned()
            | SweepMade(reason=SweepReason.OVERFLOW)
            | FoldMade(how="truncate")
            | ObservationsPlaced(reason=PlacementReason.OVERFLOW)
            | HandoverMade(trigger=HandoverTrigger.OVERFLOW)
        ):
            return True
    return False


def _changed_text(event: FilesChanged | ChangesRecorded) -> str:
    if isinstance(event, FilesChanged):
        return files_changed_text(event.files)
    lines = changed_lines_text(event.added_lines, event.removed_lines, event.binary, event.files)
    if lines and not (event.added_lines or event.removed_lines):
        lines = f"({lines})"
    return f"{recorded_changes_text(event)} {lines}".rstrip()


def _answer_text(output: ToolAnswered) -> str:
    name = f"{display_name(output.name)} {output.target}".rstrip()
    size = format_size(output.size)
    call = escape_hidden_name(name)
    if not output.digest:
        return tr("{call}: {outcome}, {size}", call=call, outcome=_outcome_text(output), size=size)
    return tr(
        "{call}: {outcome}, {size}, {digest}",
        call=call,
        outcome=_outcome_text(output),
        size=size,
        digest=output.digest[:12],
    )


def _outcome_text(output: ToolAnswered) -> str:
    if output.ok:
        return tr("ok", "a tool call")
    match output.outcome:
        case "denied":
            return tr("denied", "a tool call")
        case "interrupted":
            return tr("interrupted", "a tool call")
        case "stopped":
            return tr("stopped", "a tool call")
    return tr("failed", "a tool call")


def _budget_text(neared: BudgetNeared) -> str:
    """Return what is spent of a budget: "8,200 of 10,000 tokens · $0.41 of $2.00"."""
    amounts = []
    if neared.most_tokens:
        amounts.append(tr("{spent} of {limit} tokens", spent=neared.tokens, limit=neared.most_tokens))
    if neared.most_cost:
        spent = format_usd(neared.cost)
        limit = format_usd(neared.most_cost)
        amounts.append(tr("{spent} of {limit}", "US dollars", spent=spent, limit=limit))
    return tr("budget used: {amounts}", amounts=" · ".join(amounts))
