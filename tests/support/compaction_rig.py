"""Conversations in which it is a handover, or observations, that must make room."""

from __future__ import annotations

import msgspec

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
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
    checkpoint_tokens=0,
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


# Outputs stay in the window and nothing is folded, so that only observations free space.
OBSERVE_ONLY = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=1_000,
    protect_tokens=10**6,
    preview_above=0.8,
    fold_after_steps=0,
    checkpoint_tokens=0,
)
PLACE_AT_ONCE = msgspec.structs.replace(OBSERVE_ONLY, observe_place_at=OBSERVE_ONLY.observe_at)
PLACE_LATE = msgspec.structs.replace(OBSERVE_ONLY, observe_place_at=0.8)


def thinking_turn_script(word_count: int = 600) -> Script:
    """Return a model that thinks aloud, makes one call, and says `Done.`: four messages a turn."""

    def play(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "user":
            say = ("say", {"times": 40})
            return tool_call_reply(
                say, text="word " * (word_count - 80), id_prefix=f"w{len(request.messages)}-"
            )
        return text_reply("Done.")

    return play


def next_request_text(rig: AgentRig) -> str:
    return "\n".join(message.text for message in rig.conversation.window.measure()[0].request.messages)


async def rig_after_turns(
    turns: int, policy: ContextPolicy = OBSERVE_ONLY, observation_script: Script | None = None
) -> AgentRig:
    """Return a conversation of `turns` turns of about 620 tokens, each with the updates after it."""
    rig = AgentRig(ScriptedModel(thinking_turn_script(), observation_script=observation_script), policy)
    await rig.begin()
    await run_turns(rig, turns)
    return rig


async def run_turns(rig: AgentRig, turns: int, word_count: int = 600) -> None:
    """So many turns more, each settled, a while apart."""
    rig.model.script = thinking_turn_script(word_count)
    for _ in range(turns):
        assert (await rig.conversation.run("Think. Never touch main.")).how == "done"
        await rig.wait_until_idle()
        rig.clock.advance_s(1)
