"""A session's own effort and policy over LevelDB and HTTP: what they hold for, and what is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.context.policy_numbers import PROFILES, policy_fields
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.events.session import EffortChosen, EffortRefused, PolicyChosen, SessionStarted
from tests.support.loop_rig import WINDOW, loop_rig
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


OWN = msgspec.structs.replace(PROFILES["lean"], handover_at=0.7, subagent_profile="same", budget_tokens=9_000)


async def test_a_session_s_policy_is_its_own_until_it_is_the_workspace_s_again(tmp_path: Path) -> None:
    """It is in logs of a version that could choose one for a session alone."""
    async with loop_rig(tmp_path, lambda _: text_reply("Done."), policy=PROFILES["classic"]) as rig:
        conversation = rig.conversation
        session_id = conversation.session.id
        other = await rig.workspace.create_session()
        await conversation.session.record(PolicyChosen(policy_fields(OWN)))
        assert conversation.window.policy == OWN.scaled(WINDOW)
        assert conversation.window.policy is conversation.window.policy, "measurements stay valid"
        assert other.window.policy == rig.workspace.policy.scaled(WINDOW)

        child = await conversation.subagents.run("Count the files.")
        started = (await rig.store.events(child.session_id))[0].event
        assert isinstance(started, SessionStarted)
        assert (started.policy["handover_at"], started.policy["profile"]) == (0.7, "lean")

        await conversation.run("Begin.")
        branch = await rig.workspace.branches.open(session_id)
        await rig.workspace.close_session(session_id)
        (listed,) = (summary for summary in await rig.workspace.sessions() if summary.id == session_id)
        share = rig.workspace.usage.of(listed)
        conversation = await rig.workspace.open_session(session_id)
        assert conversation.window.measure()[1].share == share, "the list counts it by the same policy"
        assert conversation.session.transcript.session_policy == OWN, "it is in the log"
        assert branch.window.policy == conversation.window.policy

        await conversation.use_workspace_policy()
        assert conversation.window.policy == rig.workspace.policy.scaled(WINDOW)
        assert branch.session.transcript.session_policy == OWN
        events = [recorded.event for recorded in await rig.store.events(session_id)]
        chosen = [event for event in events if isinstance(event, PolicyChosen)]
        assert [event.policy for event in chosen] == [
            {"profile": "lean", "handover_at": 0.7, "subagent_profile": "same", "budget_tokens": 9_000},
            {},
        ]
