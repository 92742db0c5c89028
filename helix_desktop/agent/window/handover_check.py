"""Check a handover before it is recorded: what it does not name, its tokens, and the window with it."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import (
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
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.translatable_text import TextContext

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
