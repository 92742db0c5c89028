"""Conversations long enough to be observed: turns of about 620 tokens, in a window of 8,000."""

from __future__ import annotations

import msgspec

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import Script, ScriptedModel, ScriptedReply, text_reply, tool_call_reply

# Outputs stay in the window and nothing is folded, so that only observations free space.
OBSERVE_ONLY = msgspec.structs.replace(
    PROFILES["balanced"], protect_steps=1_000, protect_tokens=10**6, preview_above=0.8, fold_after_steps=0
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
