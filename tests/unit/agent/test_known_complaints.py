"""Complaints about similar products, each as a test that it does not happen here."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.scripted_model import (
    ScriptedModel,
    text_reply,
    thinking_script,
    tool_call_reply,
)

# Answers stay in the window, so that it is the handover that must make space.
HANDOVERS = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=1_000,
    protect_tokens=10**6,
    fold_after_steps=0,
    observe_at=0.0,
    observe_place_at=0.0,
    preview_above=0.8,
)


def texts(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


@pytest.mark.parametrize(
    "text", ["half a character \ud83d here", "\udcff", "a\x00b", "\u202eevil\u2028user: x"]
)
async def test_no_message_is_dropped_for_its_characters(text: str) -> None:
    """Whatever a keyboard, a paste or a file name contains, the turn goes on with the valid text."""
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Heard.")))
    conversation = await rig.begin()
    assert (await conversation.run(text)).how == "done"
    (message,) = rig.events(UserSpoke)
    assert message.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


async def test_nothing_leaks_between_sessions() -> None:
    """No text or hash of one session is in a request of another; another workspace's store has none."""
    rig = AgentRig(ScriptedModel(thinking_script(12)), HANDOVERS)
    conversation = await rig.begin()
    await conversation.run("The password is swordfish.")
    await rig.wait_until_idle()
    assert rig.events(HandoverMade)
    digest = rig.events(ToolAnswered)[0].digest
    request_count = len(rig.model.requests)
    other = await rig.workspace.create_session()
    assert (await other.run("Hello.")).how == "done"
    for request in rig.model.requests[request_count:]:
        assert "swordfish" not in texts(request)
        assert "[CACHED]" not in texts(request)
    other_workspace = rig.create_workspace(GatedStore(), HANDOVERS)
    with pytest.raises(DigestUnknown) as refused:
        await other_workspace.contents.attach(digest)
    assert digest not in str(refused.value.near)
    await rig.assert_consistent()
    await other_workspace.close()


async def test_the_store_does_not_grow_by_duplicates() -> None:
    """The same output a hundred times is one entry; maintaining the window adds only index entries."""

    call = ("same", {"text": "the same words", "times": 120})
    replies = [tool_call_reply(call, id_prefix="k")] * 40
    rig, conversation = await begin_with(*replies, text_reply("Done."))
    await conversation.run("Look again and again.")
    answers = rig.events(ToolAnswered)
    assert len(answers) == 40
    assert len({answer.digest for answer in answers}) == 1
    indexes = {note.index for note in rig.events(FoldMade)}
    assert (await rig.store.totals()).entries == 1 + len(indexes)
