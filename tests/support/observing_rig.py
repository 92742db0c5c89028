"""Conversations long enough to be observed: turns of about 620 tokens, in a window of 8,000."""

from __future__ import annotations

import msgspec

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import Rig
from tests.support.scripted_model import Play, Script, ScriptedModel, called, said

# Outputs stay in the window and nothing is folded, so that it is observations that make room.
PLAIN = msgspec.structs.replace(
    PROFILES["balanced"], protect_steps=1_000, protect_tokens=10**6, preview_above=0.8, fold_after_steps=0
)
AT_ONCE = msgspec.structs.replace(PLAIN, observe_place_at=PLAIN.observe_at)
LATE = msgspec.structs.replace(PLAIN, observe_place_at=0.8)


def working(words: int = 600) -> Script:
    """A model that thinks aloud, looks once, and says `Done.`: four messages a turn."""

    def play(request: ModelRequest) -> Play:
        if request.messages[-1].role == "user":
            say = ("say", {"times": 40})
            return called(say, text="word " * (words - 80), key=f"w{len(request.messages)}-")
        return said("Done.")

    return play


def shown(rig: Rig) -> str:
    """All that the next request says."""
    return "\n".join(message.text for message in rig.talk.measure()[0].request.messages)


async def talked(turns: int, policy: ContextPolicy = PLAIN, observing: Script | None = None) -> Rig:
    """A conversation of so many turns of about 620 tokens, each with what came after it."""
    rig = Rig(ScriptedModel(working(), observing=observing), policy)
    await rig.begin()
    await go_on(rig, turns)
    return rig


async def go_on(rig: Rig, turns: int, words: int = 600) -> None:
    """So many turns more, each settled, a while apart."""
    rig.model.script = working(words)
    for _ in range(turns):
        assert (await rig.talk.run("Think. Never touch main.")).how == "done"
        await rig.idle()
        rig.clock.pass_s(1)
