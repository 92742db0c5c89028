"""The effort of a session over LevelDB and HTTP: which requests have it, and what is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.events.session import EffortChosen, EffortRefused
from tests.support.loop_rig import loop_rig
from tests.support.model_servers.chat_server import Reply, api_error, text_reply


def script(request: dict[str, Any]) -> Reply:
    """Refuse the highest level."""
    if request.get("reasoning_effort") == "max":
        return api_error(400, "Unsupported value: 'reasoning_effort' does not support 'max' with this model.")
    return text_reply("Done.")


async def test_a_sessions_effort_is_sent_recorded_and_shared_with_its_subagents(tmp_path: Path) -> None:
    async with loop_rig(tmp_path, script) as rig:
        session_id = rig.conversation.session.id
        assert await rig.conversation.run("Begin.") == TurnEnded("done")
        await rig.workspace.choose_effort(session_id, "low")
        assert await rig.conversation.run("Go on.") == TurnEnded("done")
        assert (await rig.conversation.subagents.run("Count the files.")).ended == "done"
        assert [body.get("reasoning_effort") for body in rig.server.bodies] == [None, "low", "low"]
        assert [event.effort for event in rig.events(AssistantSpoke)] == ["", "low"]
        assert rig.events(EffortChosen) == [EffortChosen("low")]
        await rig.workspace.close_session(session_id)
        again = await rig.workspace.open_session(session_id)
        assert again.session.effort == "low", "it is in the log"


async def test_a_refused_effort_is_said_once_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with loop_rig(tmp_path, script) as rig:
        session_id = rig.conversation.session.id
        await rig.workspace.choose_effort(session_id, "max")
        for message in ("One.", "Two."):
            assert await rig.conversation.run(message) == TurnEnded("done")
        (refused,) = rig.events(EffortRefused)
        assert (refused.model, refused.effort) == ("local/small", "max")
        assert "does not support 'max'" in refused.reason
        assert len(rig.server.bodies) == 3, "the server is asked for it once"
        await rig.workspace.choose_effort(session_id, "high")
        assert await rig.conversation.run("Three.") == TurnEnded("done")
        assert rig.server.bodies[-1]["reasoning_effort"] == "high", "another level may be fine"
