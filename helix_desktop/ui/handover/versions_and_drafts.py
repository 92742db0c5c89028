"""What the handover window can show: versions on record, which of them can be edited, and a draft."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.agent.compaction.handover_writer import CountedPart, HandoverDraft, HandoverScope
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import HandoverPartKind, newest_checkpoint
from helix_desktop.context.summaries.handover_revision import editable_sections, fields_to_markdown, to_fields
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.handover.range_choice import WHOLE_CONVERSATION
from helix_desktop.ui.kit.intents import Intent, Redo
from helix_desktop.words.numbers import (
    format_token_change,
    format_token_count,
    format_tokens,
    format_whole_percent,
)
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.summaries import checkpoint_state, handover_titles
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator, translate

tr = Translator("Handover")

NOTHING, NOW, DRAFT, FORMER_DRAFT = 0, -1, -2, -3
"""Stand for no handover, the one as it would be now, the draft, the one before it, as others for events."""


class ChooseVersion(Intent, frozen=True):
    seq: int


class Version(msgspec.Struct, frozen=True):
    """One that can be read: its name, when it was written or how, what the context has of it."""

    seq: int
    title: str
    note: str = ""
    state: str = ""


class EditRefusal(msgspec.Struct, frozen=True):
    """Why a handover cannot be edited now, and what can be done instead."""

    reason: str
    label: str = ""
    intent: Intent | None = None


def recorded_versions(
    transcript: Transcript, log: Sequence[RecordedEvent], *, is_managed: bool
) -> list[Version]:
    """Return the handovers and checkpoints on record, the newest first."""
    return [
        Version(seq, title, format_moment(log[seq - 1].at), _state(transcript, seq, is_managed=is_managed))
        for seq, title in reversed(handover_titles(transcript).items())
        if seq <= len(log)  # else it is being stored
    ]


def _state(transcript: Transcript, seq: int, *, is_managed: bool) -> str:
    active = transcript.window.handover
    if active is not None and active[0] == seq:
        return translate(STATE_WORDS["in_window"].label)
    if transcript.can_redo(seq):
        return tr("Undone")
    return checkpoint_state(transcript, seq, is_managed=is_managed)


def version_before(transcript: Transcript, seq: int) -> int:
    """Return the handover that was made before one, or NOTHING; before others, the active one."""
    if seq < NOTHING:
        return transcript.window.handover[0] if transcript.window.handover else NOTHING
    return max((other for other in transcript.written_handovers if other < seq), default=NOTHING)


def edit_refusal(transcript: Transcript, seq: int) -> EditRefusal | None:
    """Return why a handover cannot be edited; None if it can: the active one, the newest checkpoint."""
    if seq == NOW:
        return EditRefusal("")  # what is said of it is what it would replace
    titles, newest = handover_titles(transcript), transcript.window.handover
    if seq in transcript.checkpoints:
        newest = newest_checkpoint(transcript) or newest  # the next handover begins with it
        if newest is None:
            return EditRefusal(tr("Its messages were compacted, so it can't be edited."))
        words = tr("“{title}” updates this one, so only that one can be edited.", title=titles[newest[0]])
    elif transcript.rewrites.handovers[seq].origin:
        return EditRefusal(tr("This summary is of another session. Edit it there."))
    elif transcript.can_redo(seq):
        reason = tr("This summary is undone: it isn't in the context. Redo it to edit it.")
        return EditRefusal(reason, tr("Redo"), Redo((seq,)))
    elif newest is None:
        return None
    else:
        words = tr(
            "“{title}” replaces this one in the context, so only that one can be edited.",
            title=titles[newest[0]],
        )
    return EditRefusal(words, tr("Edit that one"), ChooseVersion(newest[0])) if newest[0] != seq else None


def rerun_seq(transcript: Transcript, seq: int) -> int | None:
    """Return which handover writing would replace, 0 for none; None where nothing can be written."""
    active = transcript.window.handover
    if seq == NOW:
        return 0
    return seq if active is not None and active[0] == seq and not active[1].origin else None


_LITTLE_GAIN = 0.10  # of the context that a handover frees: below, the user is warned


class OpenDraft(msgspec.Struct, frozen=True):
    """A draft that the window holds: what it is for, and what the model would get of it as it was written.

    One made without a model has no `parts`.
    """

    draft: HandoverDraft
    scope: HandoverScope
    parts: tuple[CountedPart, ...] = ()

    @property
    def upto(self) -> int:
        return WHOLE_CONVERSATION if self.scope.is_whole else self.draft.range.upto

    @property
    def fields(self) -> dict[str, str]:
        return to_fields(editable_sections(self.draft.event))

    def text(self, fields: dict[str, str]) -> str:
        """Return its sections with the user's changes, if there are any."""
        return self.draft.text if fields == self.fields else fields_to_markdown(fields)


def sizes_as_sent(parts: Sequence[CountedPart]) -> str:
    """Return the tokens of what the model gets, and of its parts."""
    names: dict[HandoverPartKind, str] = {
        "sections": tr("sections"),
        "ledger": tr("files, commands and errors"),
        "missing": tr("what they leave out"),
        "user": tr("your messages"),
        "agent": tr("the agent's own words"),
        "quotes": tr("messages of the earlier session"),
    }
    tokens = dict.fromkeys(names.values(), 0) | {tr("introduction and index"): 0}
    for part, count in parts:
        tokens[names.get(part.kind, tr("introduction and index"))] += count
    sizes = ", ".join(f"{name} {format_tokens(count)}" for name, count in tokens.items() if count)
    return tr("{tokens}: {parts}", tokens=format_token_count(sum(tokens.values())), parts=sizes)


def sweep_note(tokens: int) -> str:
    """Return how much of what a handover frees is cached along with it; empty for nothing."""
    if not tokens:
        return ""
    return tr(
        "Of what this frees, {tokens} are older outputs, cached along with it.",
        tokens=format_token_count(tokens),
    )


def draft_warnings(opened: OpenDraft) -> list[str]:
    """Return why a draft may not be worth it: it frees little, or nothing, or may say too little."""
    event, warnings = opened.draft.event, list[str]()
    freed = event.before - event.after
    tokens = format_token_count(abs(freed))
    if opened.scope.is_whole or freed >= max(1, event.before * _LITTLE_GAIN):
        pass
    elif freed == 0:
        warnings.append(tr("It frees nothing."))
    elif freed < 0:
        warnings.append(tr("It would make the context {tokens} larger.", tokens=tokens))
    else:
        share = format_whole_percent(freed / event.before)
        words = tr("It frees only {tokens}, {share} of the context.", tokens=tokens, share=share)
        warnings.append(words)
    if opened.draft.doubt:
        use = tr("Edit it, write it again, or use it as it is: everything it covers can be recalled.")
        why = translate(opened.draft.doubt)
        warnings.append(translate(join_sentences(tr("This draft may say too little."), why, use)))
    return warnings


def purpose_text(opened: OpenDraft, former_title: str, messages: str) -> str:
    """Return what becomes of a draft: for a new session, in place of `former_title`, or of `messages`."""
    scope, event = opened.scope, opened.draft.event
    if scope.is_whole:
        return tr("A new session starts with this summary and can recall everything it covers.")
    if scope.rerun_seq:
        return tr(
            "“{title}” is written again from the original messages. The current text stays in the log, "
            "and undo restores it.",
            title=former_title,
        )
    return tr(
        "Replaces {messages}. Context: {tokens}. You can undo this.",
        messages=messages,
        tokens=format_token_change(event.before, event.after),
    )


def use_text(scope: HandoverScope) -> str:
    if scope.is_whole:
        return tr("Start new session")
    return tr("Replace summary") if scope.rerun_seq else tr("Compact")
