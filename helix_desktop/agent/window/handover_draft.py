"""Drafts of handovers, for the user to edit, accept or discard, and the check before one is recorded."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import msgspec

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import (
    HandoverPart,
    agent_texts,
    render_handover,
    section_text,
    user_text_seqs,
    user_texts,
)
from helix_desktop.context.summaries.handover_fallback import without_repeats
from helix_desktop.context.summaries.summary_coverage import (
    CHARS_PER_TOKEN,
    CoveredFacts,
    check_summary_coverage,
)
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade, Section
from helix_desktop.domain.translatable_text import OptionalText, TextContext


class HandoverDraft(msgspec.Struct, frozen=True):
    """A handover up to `cut`, not recorded; `text` is its six sections as Markdown, to be edited.

    `event` is the event it would become. `doubt` says why it may say too little: only the user can accept it.
    `sweep_savings` are the tokens, by our count, that `after` is smaller for what is cached along with it.
    """

    cut: CutPoint
    text: str
    event: HandoverMade
    doubt: OptionalText = ""
    sweep_savings: int = 0

    @property
    def sections(self) -> tuple[Section, ...]:
        """The six sections."""
        return self.event.sections

    @property
    def ledger(self) -> str:
        """The artifact ledger, which is not edited."""
        return self.event.ledger

    @property
    def before(self) -> int:
        """Tokens of the window now."""
        return self.event.before

    @property
    def after(self) -> int:
        """Tokens of the window with this handover."""
        return self.event.after

    @property
    def model(self) -> str:
        """The model that wrote it."""
        return self.event.model

    @property
    def fallback(self) -> str:
        """How and why the summary deviates from one call of the first model; empty if it does not."""
        return self.event.fallback


class RestoredDraft(msgspec.Struct, frozen=True):
    """A saved draft to go on with, with the `text` as the user changed it; its cost is recorded."""

    draft: HandoverDraft
    text: str
    is_whole: bool


class CountedPart(NamedTuple):
    """A part of the message that a handover is sent as, and its tokens by our count."""

    part: HandoverPart
    tokens: int


class RevisionDraft(msgspec.Struct, frozen=True):
    """A recorded handover that the user edits: what it says now and said at first.

    Its sentences may cite `valid_seqs`; `facts` are those of the messages that it covers.
    """

    seq: int
    handover: HandoverMade
    original: HandoverMade
    valid_seqs: frozenset[int]
    facts: CoveredFacts


_text = TextContext("Agent")


async def checked_handover(runtime: SessionRuntime, event: HandoverMade, facts: CoveredFacts) -> HandoverMade:
    """Return the event with what it does not name, and its tokens: of all but the user's own messages."""
    policy, transcript = runtime.policy, runtime.transcript
    text = "\n".join([*(section_text(section, False) for section in event.sections), event.ledger])
    window_size = runtime.frame.info.window
    quoted = user_text_seqs(transcript, event.upto, event.kept, policy.user_text_tokens, window_size)
    max_chars = policy.ledger_tokens * CHARS_PER_TOKEN
    verbatim = quoted.union(event.words)
    todo_list = transcript.todo_list_between(0, event.upto)
    coverage = await asyncio.to_thread(check_summary_coverage, facts, text, max_chars, verbatim, todo_list)
    event = msgspec.structs.replace(event, coverage=coverage)
    words = agent_texts(transcript, event.words)
    own_texts = user_texts(transcript, event, policy.user_text_tokens, window_size)
    as_sent = without_repeats(event, [text for _, text, _ in own_texts])
    tokens = await runtime.count_tokens(render_handover(as_sent, (), words))
    return msgspec.structs.replace(event, tokens=tokens)


def active_handover(transcript: Transcript, seq: int) -> HandoverMade:
    """Return the active handover `seq`. Raises CompactionRefused if another one is active, or none."""
    current = transcript.window.handover
    if current is None or current[0] != seq:
        raise CompactionRefused(
            _text("The handover wasn't changed."),
            _text("Another handover is active now, or none is."),
            _text("Open the timeline and try again."),
        )
    return current[1]


def fork_with(transcript: Transcript, event: HandoverMade) -> Transcript:
    """Return a copy of the transcript in which a handover is recorded."""
    forked = transcript.fork()
    forked.apply(RecordedEvent(forked.last_seq + 1, forked.last_event_at_ms, event))
    return forked
