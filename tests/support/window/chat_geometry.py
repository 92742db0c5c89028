"""Positions in the conversation on screen: rows, places to click, words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import structs
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.domain.events.conversation import Attachment, AttachmentKind, ToolAnswered
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ApprovalKind, ApprovalRequest, PermissionRule
from helix_desktop.ui.chat.actions import RowKey, button_name
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AssistantRow,
    AttachmentNote,
    DividerRow,
    NoticeRow,
    Row,
    ToolRow,
    ToolState,
    UserRow,
)
from helix_desktop.ui.chat.viewport.interactions import menu_groups
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.rows.row_widget import RowWidget
from helix_desktop.words.button_labels import ActionName


def row_key(name: str) -> RowKey:
    return RowKey(call_id=name)


def approval_row(
    key: str, tool: str, summary: str, detail: str, kind: ApprovalKind = "other", **facts: Any
) -> ApprovalRow:
    """The card of a call of `row_key`; `facts` are those of its request."""
    rule = PermissionRule(tool, "*")
    request = ApprovalRequest(key, tool, detail, summary, detail, rule, kind, **facts)
    return ApprovalRow(row_key(key), request)


def tool_row(
    name: str,
    tool: str,
    target: str = "",
    state: ToolState = "ok",
    text: str | None = None,
    arguments: Mapping[str, object] | None = None,
    **facts: Any,
) -> ToolRow:
    """A call of `row_key`, whose argument is a path if none are named; with a text its answer.

    `facts` are those of the row and of the answer.
    """
    own = {field: facts.pop(field) for field in ToolRow.__struct_fields__ if field in facts}
    call = ToolCall(name, tool, json.dumps({"path": target} if arguments is None else arguments))
    row = ToolRow(row_key(name), call, state, **own)
    if text is None:
        assert not facts
        return row
    return with_answer(structs.replace(row, answer_seq=own.get("answer_seq", 7)), text=text, **facts)


def with_answer(row: ToolRow, **facts: Any) -> ToolRow:
    """The row of a call with another answer; `tokens` are those in a request."""
    before = row.answer if row.answer.call_id else ToolAnswered(row.call.id, row.call.name, "", "", 0, 0, 0)
    if "tokens" in facts:
        facts["tokens"] -= FRAMING_TOKENS
    return structs.replace(row, answer=structs.replace(before, **facts), auto_run=facts.get("auto_run", ()))


def attachment_note(name: str, tokens: int, kind: AttachmentKind = "cached", **facts: Any) -> AttachmentNote:
    """What went along with a message; `facts` are of the attachment."""
    return AttachmentNote(Attachment("9f" * 32, name, "", tokens, 4 * tokens, kind=kind, **facts))


def numbered_lines(count: int, word: str = "line") -> str:
    return "\n".join(f"{word} {number}" for number in range(1, count + 1))


def questions_and_answers(count: int) -> list[Row]:
    """So many questions `u0`, `u1` and so on, each with its answer `a0`, `a1` and so on."""
    rows: list[Row] = []
    for number in range(count):
        rows.append(UserRow(row_key(f"u{number}"), f"question {number}"))
        rows.append(
            AssistantRow(row_key(f"a{number}"), f"answer {number}\n\n" + "Some words to fill the line. " * 12)
        )
    return rows


def row_widget(view: ChatView, key: str | RowKey) -> RowWidget:
    """The widget that shows a row of `row_key`, or of an event, now."""
    return view.chat_viewport.widget_pool.visible[row_key(key) if isinstance(key, str) else key]


def hit_area_point(view: ChatView, key: str | RowKey, area_name: str) -> QPoint:
    """The middle of a place to click, in the viewport."""
    widget = row_widget(view, key)
    assert widget.item is not None
    place = widget.item.hit_area(area_name)
    assert place is not None
    return widget.pos() + QPoint(6, 0) + place.rect.center().toPoint()


def click_area(view: ChatView, key: RowKey, area_name: str) -> None:
    """Click a place of a row in sight with the mouse."""
    viewport = view.chat_viewport
    index = viewport.model.index_of(key)
    assert index is not None
    area = viewport.item(index).hit_area(area_name)
    placed = viewport.placed_row(index)
    assert area is not None
    assert placed is not None
    top = placed.y + viewport.item_cache.gap(index)
    middle = area.rect.center()
    point = QPoint(round(viewport.left + middle.x()), round(top + middle.y()))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)


def text_point(view: ChatView, key: str, needle: str, after: bool = False) -> QPoint:
    """Return the position of words of a row, in the viewport."""
    widget = row_widget(view, key)
    assert isinstance(widget.item, RowItem)
    for text in widget.item.texts:
        points = text.find_all(needle)
        if points:
            position = points[0][1] if after else points[0][0]
            block = text.document.findBlock(position)
            line = block.layout().lineForTextPosition(position - block.position())
            across = line.cursorToX(position - block.position())
            x = float(across[0] if isinstance(across, tuple) else across)  # type: ignore[arg-type]  # a number
            rect = text.line_rect(position)
            return widget.pos() + QPoint(6, 0) + QPointF(text.rect.x() + x, rect.center().y()).toPoint()
    raise AssertionError(f"{needle!r} is not shown")


def action_names(row: DividerRow | NoticeRow) -> tuple[ActionName, ...]:
    """The names of a row's buttons, in their order."""
    return tuple(map(button_name, row.actions))


def press_action(view: ChatView, row: DividerRow | NoticeRow | ToolRow, name: str) -> None:
    """Do what a button of a row does as it stands now, or an entry of a call's menu."""
    model = view.chat_viewport.model
    index = model.index_of(row.key)
    assert index is not None
    now = model.row(index)
    assert isinstance(now, DividerRow | NoticeRow | ToolRow)
    actions: dict[str, Intent] = (
        {entry.name: entry.action for group in menu_groups(now) for entry in group}
        if isinstance(now, ToolRow)
        else {button_name(action): action for action in now.actions}
    )
    perform(view, actions[name])
