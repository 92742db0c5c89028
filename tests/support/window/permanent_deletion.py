"""Deleting outputs and sessions permanently in the dialog of the trash."""

from __future__ import annotations

from functools import partial

from helix_desktop.domain.store import Commit
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.window.session_lists import DELETED_SESSION
from helix_desktop.ui.workspace_dialogs.cleanup import TrashDialog
from tests.support.store.builders import make_content, make_summary, tool_answer_event
from tests.support.window.buttons import press
from tests.support.window.redact_dialog import labels
from tests.support.window.window_rig import WindowRig, until


async def check_permanent_deletion(rig: WindowRig, dialog: TrashDialog) -> None:
    """Of two outputs one is deleted after a question; then a session with its output, and its Undo."""
    for choice, left in (("cancel", 2), ("delete", 1)):
        assert "This deletes 1 cached output, which frees " in await answer_question(dialog, choice)
        await until(partial(_has_items, dialog, left), "the answer")
    store, content = rig.workspace.store, make_content(b"only here")
    await store.commit(
        Commit("gone", [tool_answer_event(1, content.data)], [content], summary=make_summary("gone"))
    )
    await store.retention.trash_session("gone")
    dialog.show_trash(await store.retention.trash())
    undos = DELETED_SESSION, "cleanup"
    for name in undos:
        rig.window.notices.notify(Notice(name, "Moved", workspace_id=rig.workspace.id))
    question = await answer_question(dialog, "delete")
    assert "This deletes 1 session with its messages and 1 cached output, " in question
    await until(lambda: dialog.entry_list.count() == 1, "the session gone")
    assert await store.events("gone") == []
    assert not await store.find(content.digest)
    await until(lambda: not set(undos) & set(rig.window.notices.names()), "the end of what Undo can't do")


def _has_items(dialog: TrashDialog, count: int) -> bool:
    return dialog.entry_list.count() == count


async def answer_question(dialog: TrashDialog, choice: str, button: str = "delete_permanently") -> str:
    press(dialog, button)
    await until(lambda: any(box.isVisible() for box in dialog.findChildren(QuestionDialog)), "the question")
    question = dialog.findChildren(QuestionDialog)[-1]
    words = labels(question)
    press(question, choice)
    return words
