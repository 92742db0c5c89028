"""Conversations in which it is the handover that must make room."""

from __future__ import annotations

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    Script,
    ScriptedModel,
    ScriptedReply,
    text_reply,
    thinking_script,
    tool_call_reply,
)

# Outputs stay in the window, so that it is the handover that must make space.
NO_SWEEP = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=1_000,
    protect_tokens=10**6,
    preview_above=0.8,
    observe_at=0.0,
)
MANUAL_ONLY = msgspec.structs.replace(NO_SWEEP, handover_least_messages=10_000)


def working(steps: int, word_count: int = 400) -> Script:
    """Return a model that makes so many calls of `word_count` words each in a turn, then says `Done.`"""
    call_count = 0

    def reply(request: ModelRequest) -> ScriptedReply:
        nonlocal call_count
        newest = max(n for n, message in enumerate(request.messages) if message.role == "user")
        if newest == len(request.messages) - 1:
            call_count = 0
        if call_count == steps:
            return text_reply("Done.")
        call_count += 1
        return tool_call_reply(
            ("say", {"text": "words", "times": word_count // 2}),
            id_prefix=f"s{len(request.messages)}-{call_count}-",
        )

    return reply


async def ready_conversation(script: Script | None = None, summary: Script | None = None) -> AgentRig:
    """Return a conversation of two turns, the first of which can be handed over manually."""
    rig = AgentRig(ScriptedModel(script or thinking_script(9), summary_script=summary), MANUAL_ONLY)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await conversation.run("And now?")
    return rig
