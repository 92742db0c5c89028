"""What was rewritten in a session's context, one line for each event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from helix_desktop.context.log.rewrite_state import RewriteEvent
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.sections import gist_sections
from helix_desktop.context.window.used_tokens import output_tokens
from helix_desktop.context.window.window import first_handover_tokens
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
    Section,
    checkpoint_in,
)
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.words.context_changes import retaken_text, rewrite_reason_text
from helix_desktop.words.model_names import recorded_writer
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")

Rewrite: TypeAlias = RewriteEvent | HandoverFailed | HandoverDiscarded | ObservationsMade | ObservationsFailed


def rewrite_lines(log: Sequence[RecordedEvent]) -> Iterator[str]:
    """Yield a line for each rewrite of a session's log, with the event's number before it.

    Below a handover or checkpoint stands, indented, what is open by it: as on its card in the window.
    """
    retaken = Transcript(log).retaken
    for recorded in counted_rewrites(log):
        if isinstance(recorded.event, Rewrite):
            words = rewrite_line(recorded.event), retaken_text(retaken.get(recorded.seq, 0))
            yield f"e{recorded.seq}  {' · '.join(filter(None, words))}"
            for section in gist_sections(_sections(recorded.event)):
                yield f"    {section.title}"
                yield from (f"    - {bullet.text}" for bullet in section.bullets)


def _sections(event: Rewrite) -> tuple[Section, ...]:
    """Return the sections of a handover or checkpoint; none of any other."""
    checkpoint = checkpoint_in(event)
    handover = checkpoint.handover if checkpoint is not None else event
    return handover.sections if isinstance(handover, HandoverMade) else ()


def counted_rewrites(log: Sequence[RecordedEvent]) -> Iterator[RecordedEvent]:
    """Yield the rewrites of a session's log, oldest first, each as `as_counted` returns it."""
    transcript = Transcript(log)
    for recorded in log:
        if isinstance(recorded.event, HandoverDiscarded) and recorded.event.prepared is None:
            continue
        if isinstance(recorded.event, Rewrite):
            yield replace(recorded, event=as_counted(recorded.event, transcript))


def as_counted(event: Rewrite, transcript: Transcript) -> Rewrite:
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


def rewrite_line(event: Rewrite) -> str:
    """Return what an event changed in the context, and how much that saved."""
    match event:
        case HandoverMade() | HandoverFailed() | HandoverDiscarded():
            return _compaction_line(event)
        case ObservationsMade() | ObservationsPlaced() | ObservationsFailed():
            return _observations_line(event)
        case SweepMade():
            return _cached_line(event)
        case FoldMade():
            return _noted_line(event)
        case FormChosen() | Excluded():
            return _form_line(event)
        case Pinned() | Unpinned() | Undone() | Redone():
            return _target_line(event)


def _compaction_line(event: HandoverMade | HandoverFailed | HandoverDiscarded) -> str:
    if isinstance(event, HandoverDiscarded):
        return _checkpoint_line(event.prepared)
    if isinstance(event, HandoverFailed):
        return tr("not compacted: {reason}", reason=join_sentences(event.what, event.why))
    if event.origin:
        return tr(
            "started with the summary of “{title}” ({session}): {tokens} tokens",
            title=event.origin_title,
            session=event.origin[:8],
            tokens=event.after,
        )
    if event.revises:
        return tr(
            "summary {event} edited by you: {before} → {after} tokens in context",
            event=f"e{event.revises}",
            before=event.before,
            after=event.after,
        )
    if event.replaces:
        return tr(
            "summary {event} written again: {before} → {after} tokens in context, {model}",
            event=f"e{event.replaces[0]}",
            before=event.before,
            after=event.after,
            model=event.model,
        )
    line = tr.plural(
        event.messages,
        "compacted ({why}): %n message, {before} → {after} tokens in context, {model}",
        "compacted ({why}): %n messages, {before} → {after} tokens in context, {model}",
        why=rewrite_reason_text(event),
        before=event.before,
        after=event.after,
        model=event.model,
    )
    without_model = "" if recorded_writer(event.model) else translate(event.fallback)
    return " · ".join(filter(None, (line, without_model)))


def _checkpoint_line(prepared: HandoverPrepared | None) -> str:
    if prepared is None:
        return tr("a summary wasn't used")
    handover = prepared.handover
    if handover.revises:
        return tr("summary {event} edited by you", event=f"e{handover.revises}")
    return tr.plural(
        handover.messages,
        "summary of %n message, to compact it later: read {read} tokens, {model}",
        "summary of %n messages, to compact them later: read {read} tokens, {model}",
        read=prepared.read,
        model=handover.model,
    )


def _observations_line(event: ObservationsMade | ObservationsPlaced | ObservationsFailed) -> str:
    if isinstance(event, ObservationsFailed):
        return tr("no summary written: {reason}", reason=join_sentences(event.what, event.why))
    if isinstance(event, ObservationsPlaced):
        return tr(
            "compacted, summary {event} ({why}): {saved} tokens saved",
            event=f"e{event.made}",
            why=rewrite_reason_text(event),
            saved=event.saved,
        )
    if event.reflection:
        return tr.plural(
            event.messages,
            "summaries shortened: %n message, {tokens} tokens, {model}",
            "summaries shortened: %n messages, {tokens} tokens, {model}",
            tokens=event.tokens,
            model=event.model,
        )
    return tr.plural(
        event.messages,
        "summary written: %n message, {tokens} tokens, {model}",
        "summary written: %n messages, {tokens} tokens, {model}",
        tokens=event.tokens,
        model=event.model,
    )


def _cached_line(sweep: SweepMade) -> str:
    if sweep.reason is SweepReason.REFUSED:
        return tr("cached: an image that the model's server refused")
    return tr.plural(
        len(sweep.swept),
        "cached ({why}): content of %n message, {saved} tokens saved",
        "cached ({why}): content of %n messages, {saved} tokens saved",
        why=rewrite_reason_text(sweep),
        saved=sweep.saved,
    )


def _noted_line(fold: FoldMade) -> str:
    match fold.how:
        case "condense":
            return tr.plural(
                fold.steps,
                "summaries shortened: %n step, {saved} tokens saved",
                "summaries shortened: %n steps, {saved} tokens saved",
                saved=fold.saved,
            )
        case "truncate":
            return tr.plural(
                fold.steps,
                "compacted (to make room): %n step, {saved} tokens saved",
                "compacted (to make room): %n steps, {saved} tokens saved",
                saved=fold.saved,
            )
    return tr.plural(
        fold.steps,
        "compacted without a model: %n step, {saved} tokens saved",
        "compacted without a model: %n steps, {saved} tokens saved",
        saved=fold.saved,
    )


def _form_line(choice: FormChosen | Excluded) -> str:
    if isinstance(choice, Excluded):
        event = f"e{choice.targets[0]}"
        return tr("{event} left out by you: {saved} tokens saved", event=event, saved=choice.saved)
    event = f"e{choice.target}"
    match choice.form:
        case "full":
            return tr("all of {event} sent: {tokens} tokens", event=event, tokens=choice.tokens)
        case "preview":
            return tr(
                "first and last lines of output {event} sent: {tokens} tokens",
                event=event,
                tokens=choice.tokens,
            )
    return tr("part of output {event} sent: {tokens} tokens", event=event, tokens=choice.tokens)


def _target_line(event: Pinned | Unpinned | Undone | Redone) -> str:
    target = f"e{event.target}"
    match event:
        case Pinned():
            return tr("pinned: {event}", event=target)
        case Unpinned():
            return tr("unpinned: {event}", event=target)
        case Undone():
            return tr("undone: {event}", event=target)
        case Redone():
            return tr("redone: {event}", event=target)
