"""The index entry of a fold, as it is stored."""

from __future__ import annotations

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.domain.events.rewrite import FoldMade
from tests.support.agent_rig import AgentRig
from tests.support.peer_rig import token_counter
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

FOLDING = msgspec.structs.replace(
    PROFILES["classic"], protect_steps=2, protect_tokens=0, fold_after_steps=2, fold_least=0, sweep_min=0
)


async def test_the_index_of_a_fold_is_stored_with_its_tokens() -> None:
    """Recalling it has a price, and the cache names it: an estimate, and marked as one."""
    tool_calls = [
        tool_call_reply(("say", {"text": f"word{n}", "times": 200}), id_prefix=f"s{n}") for n in range(8)
    ]
    rig = AgentRig(ScriptedModel(replies_in_order(*tool_calls, text_reply("Done."))), FOLDING)
    await rig.begin()
    await rig.conversation.run("Look.")
    rig.clock.advance_s(10_000)
    await rig.conversation.run("Look again.")
    folds = rig.events(FoldMade)
    assert folds
    for fold in folds:
        text = (await rig.store.get(fold.index)).decode()
        entry = await rig.store.entry(fold.index)
        (counted,) = await token_counter().count([text])
        assert 0.6 * counted < entry.tokens < 1.6 * counted
        assert entry.is_estimated
    await rig.workspace.close()


async def test_the_index_of_a_fold_is_the_same_before_and_after_a_restart() -> None:
    """Its lines are made when the messages come; in a session that was opened again there are none yet."""
    first, second = ({"text": f"word{n}", "times": 200} for n in range(2))
    tool_calls = [tool_call_reply(("say", first), ("say", second), id_prefix=f"s{n}") for n in range(8)]
    rig = AgentRig(ScriptedModel(replies_in_order(*tool_calls, text_reply("Done."))), FOLDING)
    await rig.begin()
    await rig.conversation.run("Look.")
    rig.clock.advance_s(10_000)
    await rig.conversation.run("Look again.")
    log = rig.conversation.session.log
    (fold, *_) = ((record.seq, record.event) for record in log if isinstance(record.event, FoldMade))
    before = Transcript(log[: fold[0] - 1])
    text, entries = build_index_entry(before, fold[1].after, fold[1].upto)
    assert text.count("word0") > 1
    assert (text.encode(), entries) == (await rig.store.get(fold[1].index), fold[1].index_entries)
    await rig.workspace.close()
