"""A session's own policy over LevelDB and HTTP: it manages that session and its subagents, and no other."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.session import PolicyChosen, SessionStarted
from tests.support.loop_rig import WINDOW, loop_rig
from tests.support.model_servers.chat_server import text_reply

OWN = msgspec.structs.replace(PROFILES["lean"], handover_at=0.7, subagent_profile="same", budget_tokens=9_000)


async def test_a_session_s_policy_is_its_own_until_it_is_the_workspace_s_again(tmp_path: Path) -> None:
    async with loop_rig(tmp_path, lambda _: text_reply("Done."), policy=PROFILES["classic"]) as rig:
        conversation = rig.conversation
        session_id, other = conversation.session.id, await rig.workspace.create_session()
        await conversation.choose_policy(OWN)
        assert conversation.window.policy == OWN.scaled(WINDOW)
        assert conversation.window.policy is conversation.window.policy, "measurements stay valid"
        assert other.window.policy == rig.workspace.policy.scaled(WINDOW)

        child = await conversation.subagents.run("Count the files.")
        started = (await rig.store.events(child.session_id))[0].event
        assert isinstance(started, SessionStarted)
        assert (started.policy["handover_at"], started.policy["profile"]) == (0.7, "lean")
        with pytest.raises(InvalidInput, match="wasn't changed"):
            await (await rig.workspace.open_session(child.session_id)).choose_policy(None)

        await conversation.run("Begin.")
        branch = await rig.workspace.branches.open(session_id)
        await rig.workspace.close_session(session_id)
        (listed,) = (summary for summary in await rig.workspace.sessions() if summary.id == session_id)
        share = rig.workspace.usage.of(listed)
        conversation = await rig.workspace.open_session(session_id)
        assert conversation.window.measure()[1].share == share, "the list counts it by the same policy"
        assert conversation.session.transcript.session_policy == OWN, "it is in the log"
        assert branch.window.policy == conversation.window.policy

        await conversation.choose_policy(None)
        assert conversation.window.policy == rig.workspace.policy.scaled(WINDOW)
        assert branch.session.transcript.session_policy == OWN
        events = [recorded.event for recorded in await rig.store.events(session_id)]
        chosen = [event for event in events if isinstance(event, PolicyChosen)]
        assert [event.policy for event in chosen] == [
            {"profile": "lean", "handover_at": 0.7, "subagent_profile": "same", "budget_tokens": 9_000},
            {},
        ]
