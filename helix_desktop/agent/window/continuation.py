"""Starts a session with the handover of another one."""

from __future__ import annotations

import asyncio
from collections.abc import Container

import msgspec

from helix_desktop.agent.ports.model import TokenCounter
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.continued_handover import continued_handover, continued_title
from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.handover_fallback import without_repeats
from helix_desktop.context.summaries.index_entry import index_content
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store.entries import Content


async def continuation(
    transcript: Transcript,
    session_id: str,
    seq: int,
    policy: ContextPolicy,
    window_size: int,
    counter: TokenCounter,
    titles: Container[str] = (),
    handover: HandoverMade | None = None,
) -> tuple[tuple[Event, ...], tuple[Content, ...]]:
    """Return the first events of a session that continues `session_id`, and the content to store with them.

    Its title is none of `titles`; for `seq`, `handover` and errors see `continued_handover`. The transcript
    must not change meanwhile.
    """
    event, index_text = await asyncio.to_thread(
        continued_handover, transcript, session_id, seq, policy, window_size, handover
    )
    as_sent = without_repeats(event, [quote.text for quote in event.quotes])
    (tokens,) = await counter.count([render_handover(as_sent, ())])
    quoted = sum(quote.tokens for quote in event.quotes)
    event = msgspec.structs.replace(event, tokens=tokens, after=tokens + quoted)
    contents = (index_content(index_text, "handover", f"e{transcript.last_seq}"),) if index_text else ()
    return (SessionStarted(continued_title(transcript.title, titles)), event), contents
