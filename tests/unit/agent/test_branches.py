"""Branches of a conversation: to go on from a point, to change a message, to ask again."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import delete_session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import project
from helix_desktop.domain.cost import Budget, Spending
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    MessageQueued,
    ToolAnswered,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.rewrite import FormChosen
from helix_desktop.domain.events.session import EffortChosen, ModelChosen, SessionBranched
from helix_desktop.domain.messages import ModelRequest, TextDelta
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.scripted_model import tool_call_reply

LISTING = tool_call_reply(("say", {"text": "a listing", "times": 400}))


def raw(request: ModelRequest) -> list[bytes]:
    return [msgspec.json.encode(message) for message in request.messages]


async def two_turns() -> AgentRig:
    """Run two turns, the first with a call, and name what the second asked for."""
    rig, _ = await begin_with(LISTING, [TextDelta("One.")], [TextDelta("Two.")])
    await rig.say("First.", "Second.")
    return rig


async def continue_on(rig: AgentRig, conversation: Conversation) -> None:
    rig.switch_to(conversation)
    await rig.wait_until_idle()


async def test_a_branch_has_the_window_of_its_point_and_goes_on_apart() -> None:
    rig = await two_turns()
    parent = rig.conversation.session
    end = len(rig.conversation.session.log)
    branch = await rig.workspace.branches.open(parent.id)
    first = branch.session.log[end].event
    assert first == SessionBranched(parent.id, end, "First. (2)")
    await branch.run("Third.")
    assert raw(rig.model.requests[-1])[: len(raw(rig.model.requests[-2]))] == raw(rig.model.requests[-2])
    assert len(parent.log) == end
    listed = {summary.id: summary for summary in await rig.workspace.sessions()}
    assert (listed[branch.session.id].branch_of, listed[branch.session.id].branch_seq) == (parent.id, end)
    await continue_on(rig, branch)


async def test_a_branch_goes_on_with_the_model_and_the_effort_chosen_since() -> None:
    """The user answers for where requests go: the workspace's model is another server, perhaps."""
    rig = await two_turns()
    session = rig.conversation.session
    first, second = rig.seqs(UserSpoke)
    await session.record(ModelChosen("lab/early"))
    await session.record(EffortChosen("low"))
    await session.record(ModelChosen("lab/late"))
    for branch in (
        await rig.workspace.branches.open_for_edit(session.id, second),
        await rig.workspace.branches.open_for_rewind(session.id, first),
        await rig.workspace.branches.open(session.id),
    ):
        transcript = branch.session.transcript
        assert (transcript.chosen_model, transcript.chosen_effort) == ("lab/late", "low")
        assert branch.session.log == await rig.store.events(branch.session.id)
    assert sum(isinstance(entry.event, ModelChosen) for entry in branch.session.log) == 2


async def test_an_edit_begins_before_the_message_and_its_sibling_too() -> None:
    """The second edit of a message is a branch of the same session as the first."""
    rig = await two_turns()
    parent = rig.conversation.session
    message = rig.seqs(UserSpoke)[1]
    former = "Second."
    for text in ("Second, but better.", "Second, best of all."):
        branch = await rig.workspace.branches.open_for_edit(parent.id, message)
        assert (await rig.store.draft(branch.session.id)).text == former
        await branch.send(text)
        await continue_on(rig, branch)
        *before, changed = raw(rig.model.requests[-1])
        assert before == raw(rig.model.requests[2])[:-1]
        assert text.encode() in changed
        assert branch.session.transcript.branch is not None
        assert branch.session.transcript.branch.how == "edit"
        assert branch.session.transcript.branch.parent == rig.workspace.conversations[0].session.id
        parent = branch.session
        message = rig.seqs(UserSpoke)[1]
        former = text
    assert [entry.event.text for entry in parent.log if isinstance(entry.event, UserSpoke)][1] == text


@pytest.mark.parametrize("of", [UserSpoke, ToolAnswered, AssistantSpoke])
async def test_a_retry_sends_the_parents_request_again(of: type) -> None:
    """Byte for byte, whichever event of the turn was pointed at, and again from the retry itself."""
    rig = await two_turns()
    parent = rig.conversation.session
    seq = rig.seqs(of)[0]
    for _ in range(2):
        branch = await rig.workspace.branches.open_for_retry(rig.conversation.session.id, seq)
        assert branch.session.transcript.unfinished_end_seq
        await branch.retry()
        await continue_on(rig, branch)
        assert raw(rig.model.requests[-1]) == raw(rig.model.requests[0])
        assert len(rig.events(UserSpoke)) == len(rig.events(TurnRetried)) == 1
        await rig.assert_consistent()
        assert branch.session.transcript.branch is not None
        assert branch.session.transcript.branch.parent == parent.id
        seq = rig.seqs(AssistantSpoke)[-1]


async def test_bill_and_queue_of_the_parent_stay_there() -> None:
    rig = await two_turns()
    parent = rig.conversation
    await parent.budget.set_limit(Budget(10**6))
    await parent.session.record(MessageQueued("later"))
    branch = await rig.workspace.branches.open(parent.session.id)
    state = branch.session.transcript
    assert state.spending == Spending()
    assert state.inherited_spending == parent.session.transcript.spending != Spending()
    assert branch.budget.limit == Budget(10**6)
    assert not state.queued_messages
    assert parent.session.transcript.queued_messages


async def test_versions_share_one_budget_whichever_of_them_spends_it() -> None:
    rig = await two_turns()
    first = rig.conversation
    spent = first.budget.spent.tokens
    edited = await rig.workspace.branches.open_for_edit(first.session.id, rig.seqs(UserSpoke)[1])
    assert edited.session.transcript.title == first.session.transcript.title
    assert edited.budget.spent.tokens == spent, "what the other version spent counts"
    assert edited.session.transcript.inherited_spending == Spending()
    await rig.workspace.set_budget(edited.session.id, Budget(10**6))
    await edited.run("Second, but better.")
    assert first.budget.spent.tokens == edited.budget.spent.tokens > spent
    assert first.budget.limit == edited.budget.limit == Budget(10**6)
    retried = await rig.workspace.branches.open_for_retry(first.session.id, rig.seqs(UserSpoke)[0])
    assert retried.budget.limit == Budget(10**6), "set behind its point"
    assert len(retried.budget.other_versions()) == 2
    assert retried.budget.spent.tokens == edited.budget.spent.tokens
    await rig.workspace.set_budget(first.session.id, Budget(spent))
    assert retried.budget.is_exhausted
    branch = await rig.workspace.branches.open(edited.session.id)
    assert branch.budget.spent == Spending()
    assert branch.session.transcript.inherited_spending.tokens > 0, (
        "a branch has its own, and says what it was"
    )
    reopened = rig.create_workspace(rig.store, PROFILES["balanced"])
    again = await reopened.open_session(retried.session.id)
    assert again.budget.spent.tokens == edited.budget.spent.tokens, "also of versions that are not open"


async def test_a_session_is_pinned_archived_and_deleted_with_its_versions() -> None:
    rig = await two_turns()
    first = rig.conversation.session.id
    second = (await rig.workspace.branches.open_for_retry(first, rig.seqs(UserSpoke)[1])).session.id
    await rig.workspace.move_in_list(second, pinned=True)
    assert [summary.pinned for summary in await rig.workspace.sessions()] == [True, True]
    await rig.workspace.move_in_list(first, archived=True)
    assert [summary.archived for summary in await rig.workspace.sessions()] == [True, True]
    assert set(await delete_session(rig.workspace, first)) == {first, second}
    assert await rig.workspace.sessions() == []
    await rig.store.retention.restore_session(first)
    await delete_session(rig.workspace, first, with_versions=False)
    assert {session.id for session in (await rig.store.retention.trash()).sessions} == {first, second}


async def test_a_step_that_runs_cannot_be_branched_and_earlier_ones_can() -> None:
    rig, _ = await begin_with([TextDelta("One.")], tool_call_reply(("wait", {})))
    await rig.conversation.run("First.")
    await rig.conversation.send("Second.")
    await rig.tools.started.wait()
    parent = rig.conversation.session
    with pytest.raises(InvalidInput, match="still running"):
        await rig.workspace.branches.open(parent.id)
    branch = await rig.workspace.branches.open(parent.id, rig.seqs(AssistantSpoke)[0])
    assert not branch.session.transcript.open_calls
    assert not branch.is_running
    edited = await rig.workspace.branches.open_for_edit(parent.id, rig.seqs(UserSpoke)[1])
    assert (await rig.store.draft(edited.session.id)).text == "Second."
    rig.tools.gate.set()
    await rig.wait_until_idle()


async def test_a_rewind_to_the_first_message_has_the_title_of_the_session() -> None:
    rig = await two_turns()
    parent = rig.conversation.session
    branch = await rig.workspace.branches.open_for_rewind(parent.id, rig.seqs(UserSpoke)[0])
    assert branch.session.transcript.title == f"{parent.transcript.title} (2)"
    assert (await rig.store.draft(branch.session.id)).text == "First."
    summary = next(row for row in await rig.store.sessions() if row.id == branch.session.id)
    assert summary.branch_how == "rewind"


@pytest.mark.parametrize("seq", [-1, 10**6])
async def test_what_is_no_point_is_refused(seq: int) -> None:
    rig = await two_turns()
    session = rig.conversation.session
    before = await rig.store.sessions()
    for attempt in (
        rig.workspace.branches.open,
        rig.workspace.branches.open_for_retry,
        rig.workspace.branches.open_for_edit,
        rig.workspace.branches.open_for_rewind,
    ):
        with pytest.raises(InvalidInput):
            await attempt(session.id, seq)
    with pytest.raises(InvalidInput, match="isn't a message"):
        await rig.workspace.branches.open_for_edit(session.id, 1)
    with pytest.raises(InvalidInput, match="before the first message"):
        await rig.workspace.branches.open_for_retry(session.id, 1)
    with pytest.raises(InvalidInput, match="empty"):
        await rig.workspace.branches.open("nothing")
    assert await rig.store.sessions() == before


async def test_a_rewrite_of_the_parent_is_undone_in_the_branch_alone() -> None:
    rig = await two_turns()
    parent = rig.conversation
    await parent.session.record(FormChosen(rig.seqs(ToolAnswered)[0], "preview", "word", 1))
    swept = parent.session.transcript.window.last_rewrite_seq
    assert swept
    branch = await rig.workspace.branches.open(parent.session.id)
    assert branch.session.transcript.can_undo(swept)
    await branch.window.undo(swept)
    policy, frame, _ = rig.workspace.models.shared()
    whole = Transcript(parent.session.log[: swept - 1])
    assert raw(project(branch.session.transcript, policy, frame).request) == raw(
        project(whole, policy, frame).request
    )
    assert parent.session.transcript.can_undo(swept)
    reopened = rig.create_workspace(rig.store, PROFILES["balanced"])
    again = await reopened.open_session(branch.session.id)
    assert again.session.log == branch.session.log
    assert not again.session.transcript.can_undo(swept)
