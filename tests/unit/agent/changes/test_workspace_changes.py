"""The changes of a session: who made them, what became of them, and what taking them back would do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.file_history.changes import RevertSelection, SessionChanges
from tests.support.agent_rig import begin_with
from tests.support.changing_tools import ChangesRig, writes
from tests.support.scripted_model import text_reply

LINES = [f"{number}\n" for number in range(30)]
BEFORE = "".join(LINES)
AFTER = "".join(["first\n", *LINES[1:29], "last\n"])


async def started(*turns: list[tuple[str, dict[str, object]]]) -> ChangesRig:
    rig = ChangesRig(*turns)
    await rig.start()
    for _ in turns:
        await rig.run()
    return rig


def changes_of(rig: ChangesRig) -> WorkspaceChanges:
    return rig.workspace.changes


async def session_changes(rig: ChangesRig) -> SessionChanges:
    return await changes_of(rig).of_session(rig.conversation.session.id)


async def revert(rig: ChangesRig, selection: RevertSelection) -> None:
    session_id = rig.conversation.session.id
    plan = await changes_of(rig).plan(session_id, selection)
    assert await changes_of(rig).revert(session_id, plan, {}) is not None


def statuses(changes: SessionChanges) -> dict[str, str]:
    return {file.path: file.status for file in changes.files}


async def test_a_session_has_its_changes_by_turn_call_and_file() -> None:
    rig = await started([writes(a_txt="1\n"), writes(kind="edit", b_txt="2\n")], [writes(a_txt="3\n")])
    rig.files.write("a.txt", b"mine\n")
    await rig.history.scan(rig.conversation.session.id)
    changes = await session_changes(rig)
    assert [(row.turn, row.turn_title, row.source, row.tool, row.target) for row in changes.captures] == [
        (1, "Go.", "command", "ask", "a.txt"),
        (1, "Go.", "tool", "edit", "b.txt"),
        (2, "Go.", "command", "ask", "a.txt"),
        (2, "Go.", "outside", "", ""),
    ]
    first, second, third, outside = (row.capture_id for row in changes.captures)
    by_path = {file.path: file for file in changes.files}
    assert by_path["a.txt"].capture_ids == (first, third, outside)
    assert by_path["a.txt"].by_user
    assert by_path["b.txt"].capture_ids == (second,)
    assert statuses(changes) == {"a.txt": "open", "b.txt": "open"}
    assert changes.by_agent(turn=1) == (first, second)


async def test_a_reverted_turn_reads_so_until_it_is_redone_and_again_when_that_is_taken_back() -> None:
    rig = await started([writes(a_txt="1\n", b_txt="2\n")], [writes(a_txt="3\n", c_txt="c\n")])
    session_id = rig.conversation.session.id
    first, second = (row.capture_id for row in (await session_changes(rig)).captures)
    await revert(rig, RevertSelection((second,), scope="turn"))
    assert (rig.files.read("a.txt"), rig.files.read("c.txt")) == (b"1\n", None)
    changes = await session_changes(rig)
    assert [row.is_reverted for row in changes.captures] == [False, True, False]
    assert statuses(changes) == {"a.txt": "open", "b.txt": "open", "c.txt": "reverted"}
    revert_id = changes.captures[-1].capture_id

    for again in (revert_id, second):  # by the revert, and by what it took back
        plan = await changes_of(rig).plan_redo(session_id, again)
        assert await changes_of(rig).revert(session_id, plan, {}) is not None
        assert (rig.files.read("a.txt"), rig.files.read("c.txt")) == (b"3\n", b"c\n")
        changes = await session_changes(rig)
        assert not changes.captures[1].is_reverted
        redo = changes.captures[-1].capture_id
        await revert(rig, RevertSelection((redo,), scope="redo"))
        changes = await session_changes(rig)
        assert changes.captures[1].is_reverted
        assert (rig.files.read("a.txt"), rig.files.read("c.txt")) == (b"1\n", None)

    rewind = await changes_of(rig).plan_rewind(session_id, 0)
    assert await changes_of(rig).revert(session_id, rewind, {}) is not None
    assert (rig.files.read("a.txt"), rig.files.read("b.txt")) == (b"one\ntwo\n", b"b\n")
    assert set(statuses(await session_changes(rig)).values()) == {"reverted"}
    assert not (await changes_of(rig).plan_rewind(session_id, 0)).files
    assert [row.is_reverted for row in (await session_changes(rig)).captures[:2]] == [True, True]
    assert first in rewind.capture_ids


async def test_one_file_of_a_turn_is_taken_back_alone() -> None:
    rig = await started([writes(a_txt="1\n", b_txt="2\n")])
    (row,) = (await session_changes(rig)).captures
    await revert(rig, RevertSelection((row.capture_id,), ("b.txt",), scope="file"))
    changes = await session_changes(rig)
    assert (rig.files.read("a.txt"), rig.files.read("b.txt")) == (b"1\n", b"b\n")
    assert (changes.captures[0].reverted, changes.captures[0].is_reverted) == (("b.txt",), False)
    assert statuses(changes) == {"a.txt": "open", "b.txt": "reverted"}


async def test_a_revert_whose_file_was_redone_from_its_step_is_undone_and_can_be_made_again() -> None:
    rig = await started([writes(a_txt="1\n", b_txt="2\n")])
    session_id = rig.conversation.session.id
    (edit,) = (row.capture_id for row in (await session_changes(rig)).captures)

    async def redo(capture_id: str, *paths: str) -> tuple[bool, ...]:
        """Redo, and return of each capture whether all of it is taken back."""
        plan = await changes_of(rig).plan_redo(session_id, capture_id, paths)
        assert await changes_of(rig).revert(session_id, plan, {}) is not None, "there was something to do"
        return tuple(row.is_reverted for row in (await session_changes(rig)).captures)

    for path in ("a.txt", "b.txt"):
        await revert(rig, RevertSelection((edit,), (path,), scope="file"))
    of_a = (await session_changes(rig)).captures[1].capture_id
    assert await redo(edit, "a.txt") == (False, True, False, False), "the revert is undone, too"
    assert (rig.files.read("a.txt"), rig.files.read("b.txt")) == (b"1\n", b"b\n"), "one file alone"
    again = (await changes_of(rig).plan(session_id, RevertSelection((of_a,), scope="redo"))).files
    assert not again, "it offers no redo that has nothing to do"

    assert await redo(of_a) == (True, False, False, True, False), "made again"
    assert rig.files.read("a.txt") == b"one\ntwo\n"
    assert (await redo(of_a))[1], "and undone again"
    assert rig.files.read("a.txt") == b"1\n"

    of_b = (await session_changes(rig)).captures[2].capture_id
    only_hunk = await changes_of(rig).plan(session_id, RevertSelection((of_b,), ("b.txt",), hunks=(0,)))
    assert only_hunk.scope == "redo", "to revert all of a revert is a redo, however it is chosen"
    assert await changes_of(rig).revert(session_id, only_hunk, {}) is not None
    assert rig.files.read("b.txt") == b"2\n"
    assert [row.is_reverted for row in (await session_changes(rig)).captures[:3]] == [False, True, True]


async def test_a_rewind_leaves_what_the_user_changed_and_what_was_before_the_event() -> None:
    rig = await started([writes(a_txt="1\n")], [writes(b_txt="2\n"), writes(c_txt="c\n")])
    rig.files.write("user.txt", b"mine\n")
    changes = await session_changes(rig)
    seq = changes.captures[1].turn_seq
    plan = await changes_of(rig).plan_rewind(rig.conversation.session.id, seq)
    assert [(file.path, file.status) for file in plan.files] == [("b.txt", "ready"), ("c.txt", "ready")]
    assert plan.scope == "rewind"


async def test_a_rewind_brings_what_was_there_before_the_message_though_a_part_was_reverted_by_hand() -> None:
    rig = await started([writes(a_txt="one\n2\n")], [])
    session_id = rig.conversation.session.id
    (edit,) = (await session_changes(rig)).captures
    sent = rig.seqs(UserSpoke)
    await revert(rig, RevertSelection((edit.capture_id,), ("a.txt",), hunks=(0,)))
    assert rig.files.read("a.txt") == b"one\ntwo\n"
    assert not (await changes_of(rig).plan_rewind(session_id, sent[0])).files
    turn = await changes_of(rig).plan(session_id, RevertSelection((edit.capture_id,), scope="turn"))
    assert not turn.files
    after_edit = await changes_of(rig).plan_rewind(session_id, sent[1])
    assert await changes_of(rig).revert(session_id, after_edit, {}) is not None
    assert rig.files.read("a.txt") == b"one\n2\n"
    assert statuses(await session_changes(rig)) == {"a.txt": "open"}


async def test_a_hunk_is_taken_back_alone_and_then_the_rest() -> None:
    rig = await started([writes(a_txt=BEFORE)], [writes(a_txt=AFTER)])
    row = (await session_changes(rig)).captures[1]
    only = RevertSelection((row.capture_id,), ("a.txt",), hunks=(0,))
    await revert(rig, only)
    assert rig.files.read("a.txt") == AFTER.replace("first\n", "0\n").encode()
    changes = await session_changes(rig)
    assert not changes.captures[1].is_reverted
    await revert(rig, RevertSelection((row.capture_id,), scope="step"))
    assert rig.files.read("a.txt") == BEFORE.encode()
    assert (await session_changes(rig)).captures[1].is_reverted
    with pytest.raises(InvalidInput):
        await changes_of(rig).plan(
            rig.conversation.session.id, RevertSelection((row.capture_id,), ("a.txt",), hunks=(7,))
        )


async def test_accepted_files_are_open_again_when_they_change() -> None:
    rig = await started([writes(a_txt="1\n", b_txt="2\n")], [writes(a_txt="3\n")])
    session_id = rig.conversation.session.id
    await changes_of(rig).accept(session_id, ("b.txt",))
    assert statuses(await session_changes(rig)) == {"a.txt": "open", "b.txt": "accepted"}
    await changes_of(rig).accept(session_id)
    assert set(statuses(await session_changes(rig)).values()) == {"accepted"}


async def test_a_conflict_is_merged_by_hand() -> None:
    rig = await started([writes(a_txt="1\n")])
    session_id = rig.conversation.session.id
    rig.files.write("a.txt", b"mine\n")
    (row,) = (await session_changes(rig)).captures
    plan = await changes_of(rig).plan(session_id, RevertSelection((row.capture_id,), scope="step"))
    assert [file.status for file in plan.files] == ["conflict"]
    plan = await changes_of(rig).resolve_by_hand(plan, "a.txt", b"both\n")
    assert await changes_of(rig).revert(session_id, plan, {"a.txt": "merged"}) is not None
    assert rig.files.read("a.txt") == b"both\n"


async def test_a_list_that_was_removed_is_named_and_breaks_nothing() -> None:
    rig = await started([writes(a_txt="1\n")], [writes(b_txt="2\n")])
    rig.history.forget(rig.recorded[0].changes)
    changes = await session_changes(rig)
    assert [row.is_removed for row in changes.captures] == [True, False]
    assert statuses(changes) == {"b.txt": "open"}


async def test_a_branch_has_the_changes_of_its_parent_up_to_its_point() -> None:
    """A later revert in the one is seen in the other: the files are the workspace's."""
    rig = await started([writes(a_txt="1\n")], [writes(b_txt="2\n")])
    first, second = (await session_changes(rig)).captures
    branch = await rig.workspace.branches.open_for_edit(rig.conversation.session.id, second.turn_seq)
    await revert(rig, RevertSelection((first.capture_id,), scope="step"))
    in_branch = await changes_of(rig).of_session(branch.session.id)
    assert [row.source for row in in_branch.captures] == ["command", "revert"]
    assert statuses(in_branch) == {"a.txt": "reverted"}
    rig.clock.advance_s(1)
    await changes_of(rig).revert(
        branch.session.id, await changes_of(rig).plan_redo(branch.session.id, first.capture_id), {}
    )
    for session in (branch.session.id, rig.conversation.session.id):
        assert statuses(await changes_of(rig).of_session(session))["a.txt"] == "open"
    await branch.close()


async def test_a_branch_at_the_answer_of_a_call_has_what_that_call_changed() -> None:
    rig = await started([writes(a_txt="1\n"), writes(b_txt="2\n")])
    session = rig.conversation.session
    answered = next(entry.seq for entry in session.log if isinstance(entry.event, ToolAnswered))
    branch = await rig.workspace.branches.open(session.id, answered)
    rows = (await changes_of(rig).of_session(branch.session.id)).captures
    assert [change.path for row in rows for change in row.changes] == ["a.txt"]


async def test_what_another_process_reverted_is_listed_before_the_log_has_it() -> None:
    rig = await started([writes(a_txt="1\n")])
    session_id = rig.conversation.session.id
    (row,) = (await session_changes(rig)).captures
    await rig.conversation.close()
    await rig.history.revert(
        session_id, await changes_of(rig).plan(session_id, RevertSelection((row.capture_id,))), {}
    )
    elsewhere = rig.create_workspace(rig.store, PROFILES["balanced"]).changes
    assert [row.is_reverted for row in (await elsewhere.of_session(session_id)).captures] == [True, False]


async def test_the_patch_of_a_session_is_what_git_applies(tmp_path: Path) -> None:
    rig = await started([writes(a_txt=BEFORE, b_txt=None)], [writes(a_txt=AFTER, new_txt="n")])
    session_id = rig.conversation.session.id
    patch = await changes_of(rig).patch(session_id, RevertSelection((await session_changes(rig)).by_agent()))
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "b.txt").write_bytes(b"b\n")
    git = await asyncio.create_subprocess_exec("git", "apply", cwd=tmp_path, stdin=asyncio.subprocess.PIPE)
    await git.communicate(patch.encode())
    assert (tmp_path / "a.txt").read_bytes() == AFTER.encode()
    assert (tmp_path / "new.txt").read_bytes() == b"n"
    assert not (tmp_path / "b.txt").exists()


async def test_without_a_history_there_is_nothing_and_a_word_why() -> None:
    rig, _ = await begin_with(text_reply("done"))
    changes = rig.workspace.changes
    assert not changes.is_available
    assert not (await changes.of_session(rig.conversation.session.id)).captures
    with pytest.raises(InvalidInput, match="no file history"):
        await changes.plan(rig.conversation.session.id, RevertSelection(()))
