"""What was rewritten in a session's context, one line for each event, in the words of the timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeGuard

from msgspec.structs import replace

from helix_desktop.context.log.rewrite_state import RewriteEvent, Undoable
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.observation import pending_observations
from helix_desktop.context.summaries.sections import gist_sections
from helix_desktop.context.window.rewrite_sizes import RewriteSize, RewriteSizes
from helix_desktop.context.window.used_tokens import output_tokens
from helix_desktop.context.window.window import first_handover_tokens
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import SessionRenamed
from helix_desktop.domain.events.summary import (
    FailedPreparation,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
    Section,
    checkpoint_in,
)
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.words.context_changes import (
    chosen_form_text,
    context_change_text,
    count_contents,
    excluded_text,
    pin_text,
    restored_contents_text,
    retaken_text,
    revision_size_text,
    rewrite_reason_text,
    swept_contents_text,
    trigger_text,
    undo_of_one_text,
    undo_text,
)
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.summaries import (
    checkpoint_state,
    handover_titles,
    summary_title,
    unsent_state,
    unsent_title,
    unused_state,
    unused_text,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")

Rewrite: TypeAlias = (
    RewriteEvent | HandoverFailed | HandoverDiscarded | ObservationsMade | ObservationsFailed | SessionRenamed
)


def rewrite_lines(log: Sequence[RecordedEvent], *, is_managed: bool = True) -> Iterator[str]:
    """Yield a line for each rewrite of a session's log, with the event's number before it.

    Below a handover or checkpoint stands, indented, what is open by it: as on its card in the window. Also as
    there, observations are listed where they took the place of messages. `is_managed` is of the workspace.
    """
    words = RewriteWords(Transcript(log), is_managed=is_managed)
    so_far = Transcript()
    sizes = RewriteSizes()
    placed = {recorded.event.made for recorded in log if isinstance(recorded.event, ObservationsPlaced)}
    for recorded in log:
        so_far.apply(recorded)
        size = sizes.apply(recorded, so_far)
        if not _is_rewrite(recorded.event) or recorded.seq in placed:
            continue
        yield f"e{recorded.seq}  {words.line(recorded.seq, recorded.event, size)}"
        for section in gist_sections(_sections(recorded.event)):
            yield f"    {section.title}"
            yield from (f"    - {bullet.text}" for bullet in section.bullets)


def _is_rewrite(event: Event) -> TypeGuard[Rewrite]:
    if isinstance(event, HandoverDiscarded):
        return event.prepared is not None or event.failed is not None
    if isinstance(event, SessionRenamed):
        return event.by == "model" and bool(event.read)
    return isinstance(event, Rewrite)


def _sections(event: Rewrite) -> tuple[Section, ...]:
    """Return the sections of a handover or checkpoint; none of any other."""
    checkpoint = checkpoint_in(event)
    handover = checkpoint.handover if checkpoint is not None else event
    return handover.sections if isinstance(handover, HandoverMade) else ()


def counted_rewrites(log: Sequence[RecordedEvent]) -> Iterator[RecordedEvent]:
    """Yield the rewrites of a session's log, oldest first, each as `_as_counted` returns it."""
    transcript = Transcript(log)
    for recorded in log:
        if _is_rewrite(recorded.event):
            yield replace(recorded, event=_as_counted(recorded.event, transcript))


def _as_counted(event: Rewrite, transcript: Transcript) -> Rewrite:
    """Return an event with the messages of the chat, and with tokens as they stand in the window."""
    match event:
        case HandoverMade(origin=origin) if origin:
            return replace(event, after=first_handover_tokens(event))
        case HandoverMade():
            return replace(event, messages=handover_counts(transcript, event).messages)
        case ObservationsMade():
            return replace(event, messages=transcript.messages.counts(event.after, event.upto).messages)
        case FormChosen():
            return replace(event, tokens=output_tokens(event.tokens))
    return event


class RewriteWords:
    """What the timeline says of the rewrites of a session, whose workspace's policy `is_managed`."""

    def __init__(self, transcript: Transcript, *, is_managed: bool = True) -> None:
        policy = transcript.session_policy
        self._transcript = transcript
        self._is_managed = is_managed if policy is None else policy.enabled
        self._titles = handover_titles(transcript)
        written = transcript.written_handovers.items()
        self._updates = {made.revises or made.checkpoint: self._titles[seq] for seq, made in written}

    def line(self, seq: int, event: Rewrite, size: RewriteSize | None = None) -> str:
        """Return the words about a rewrite: where its `size` is not known, with the tokens that it saved."""
        transcript = self._transcript
        rewrites = self._transcript.rewrites
        match event:
            case Undone(target=target) | Redone(target=target):
                is_undo = isinstance(event, Undone)
                changed = rewrites.by_seq.get(target)
                title = f"e{target}" if changed is None else self._title(target, changed)
                of_one = undo_of_one_text(target, transcript, is_undo=is_undo)
                return of_one or undo_text(title, is_undo=is_undo)
            case HandoverFailed(what=what, why=why) | ObservationsFailed(what=what, why=why):
                return translate(join_sentences(what, why))
            case SessionRenamed(title=title):
                return tr("Title written: “{title}”", title=title)
            case HandoverDiscarded(failed=FailedPreparation(work=work, why=why)):
                lines = {
                    "title": tr("No title was written."),
                    "checkpoint": tr("No handover summary was prepared."),
                    "handover": tr("What was compacted without a model was not written again."),
                }
                return translate(join_sentences(lines[work], why))
            case HandoverDiscarded():
                state = checkpoint_state(transcript, seq, is_managed=self._is_managed)
                return dotted((self._titles.get(seq, ""), state or unused_state(self._updates.get(seq, ""))))
            case ObservationsMade(after=after, upto=upto):
                is_pending = seq == pending_observations(transcript)
                state = unsent_state(transcript, seq, is_managed=self._is_managed) if is_pending else ""
                return dotted((unsent_title(transcript, after, upto), state or unused_state()))
            case Pinned() | Unpinned():
                return pin_text(event, transcript)
        is_undone = not (rewrites.is_active(seq) or rewrites.replaced_by(seq))
        parts = [
            self._title(seq, event),
            *self._facts(event, size),
            retaken_text(transcript.retaken.get(seq, 0)),
        ]
        if isinstance(event, SweepMade) and not is_undone:
            restored = (target for target in event.swept if target not in rewrites.swept)
            parts.append(restored_contents_text(self._contents(restored)))
        return dotted((*parts, tr("Undone") if is_undone else ""))

    def _title(self, seq: int, event: Undoable) -> str:
        match event:
            case HandoverMade():
                return self._titles[seq]
            case SweepMade(swept=swept):
                return swept_contents_text(*self._contents(swept))
            case FormChosen():
                return chosen_form_text(event, seq, self._transcript)
            case Excluded():
                return excluded_text(event, self._transcript)
        return summary_title(event, self._transcript)

    def _contents(self, seqs: Iterable[int]) -> tuple[int, int, int]:
        items = map(self._transcript.messages.item, seqs)
        return count_contents(item.event for item in items if item is not None)

    def _facts(self, event: Undoable, size: RewriteSize | None) -> tuple[str, ...]:
        """Return what a rewrite made of the context, and why."""
        match event:
            case HandoverMade(origin=origin) if origin:
                return (format_token_count(first_handover_tokens(event)),)
            case HandoverMade(before=before, after=after):
                size_text = revision_size_text if event.revises else context_change_text
                why = trigger_text(event.trigger, event.threshold)
                return size_text(before, after), why, unused_text(event)
            case SweepMade(reason=SweepReason.HANDOVER) | FormChosen():
                return ()
        saved = tr.plural(event.saved, "%n token saved", "%n tokens saved")
        is_said = isinstance(event, Excluded) or (
            isinstance(event, SweepMade) and event.reason in ATTACHED_SWEEP_REASONS
        )
        return context_change_text(*size) if size else saved, "" if is_said else rewrite_reason_text(event)
