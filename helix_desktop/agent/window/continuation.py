"""Starts a session with the handover of another one."""

from __future__ import annotations

import asyncio
from collections.abc import Container

import msgspec

from helix_desktop.agent.ports import TokenCounter
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.continued_handover import continued_handover, continued_title
from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.index_entry import HEAD
from helix_desktop.domain.events.session import Event, SessionStarted
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store.entries import Content
from helix_desktop.domain.text_format import first_line


async def continuation(
    transcript: Transcript,
    session: str,
    seq: int,
    policy: ContextPolicy,
    window: int,
    counter: TokenCounter,
    titles: Container[str] = (),
    handover: HandoverMade | None = None,
) -> tuple[tuple[Event, ...], tuple[Content, ...]]:
    """Return the first events of a session that continues `session`, and the content to store with them.

    Its title is none of `titles`; for `seq`, `handover` and errors see `continued_handover`. The transcript
    must not change meanwhile.
    """
    event, index_text = await asyncio.to_thread(
        continued_handover, transcript, session, seq, policy, window, handover
    )
    tokens, index_tokens = await counter.count([render_handover(event, ()), index_text])
    quoted = sum(quote.tokens for quote in event.quotes)
    event = msgspec.structs.replace(event, tokens=tokens, after=tokens + quoted)
    contents: tuple[Content, ...] = ()
    if index_text:
        data = index_text.encode("utf-8", "surrogatepass")
        label = f"e{transcript.last_seq}"
        contents = (Content(event.index, data, "handover", label, first_line(HEAD), index_tokens, "index"),)
    return (SessionStarted(continued_title(transcript.title, titles)), event), contents
