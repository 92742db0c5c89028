"""What the user sends in full again reaches the model, before anything compacts it once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.rewrite import SweepMade
from tests.support.agent_rig import SteppedClock
from tests.support.loop_rig import loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, text_reply

SOON = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=2,
    protect_tokens=200,
    sweep_min=200,
    fold_after_steps=5,
    fold_least=300,
    least_saving=20,
    observe_at=0.0,
)


def play(request: dict[str, Any]) -> Reply:
    """Read the file that a message names, then answer."""
    newest = request["messages"][-1]
    if newest["role"] == "tool":
        return text_reply("Read.")
    name = str(newest["content"]).rpartition(" ")[2]
    path = json.dumps({"path": name})
    return (
        StreamedReply(Call("read_file", path, id=f"call_{name}"))
        if name.endswith(".txt")
        else text_reply("Yes.")
    )


async def test_what_the_user_recalled_stays_in_the_requests(tmp_path: Path) -> None:
    """After a pause the provider caches nothing more and everything old is due, but this."""
    clock = SteppedClock()
    async with loop_rig(tmp_path, play, policy=SOON, window=32_000, clock=clock) as rig:
        for number in range(4):
            lines = (
                f"{line:03} of file {number}: the tide was {line * number % 97} cm" for line in range(120)
            )
            (rig.root / f"{number}.txt").write_text("\n".join(lines))
            await rig.conversation.run(f"Read {number}.txt")
        recalled = rig.events(SweepMade)[-1].masked[0]
        await rig.conversation.window.choose_form(recalled, "full")
        for question in ("What did it say?", "And now?", "And then?"):
            clock.advance_s(7_200)
            await rig.conversation.run(question)
            assert "077 of file 1" in json.dumps(rig.chat_requests[-1].messages)
