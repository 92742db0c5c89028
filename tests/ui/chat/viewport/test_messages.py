"""From message to message of the user, and where the name of who answers stands."""

from __future__ import annotations

from helix_desktop.ui.chat.items.assistant_message import HEADER_HEIGHT
from helix_desktop.ui.chat.rows.row_types import AssistantRow, Row, UserRow
from helix_desktop.ui.chat.viewport.view import ChatView
from tests.support.window.chat_geometry import row_key, tool_row


def test_jumps_go_from_message_to_message_of_the_user_and_to_the_end(view: ChatView) -> None:
    viewport = view.chat_viewport
    rows: list[Row] = []
    for number in range(500):
        rows.append(UserRow(row_key(f"u{number}"), f"question {number}"))
        rows.append(AssistantRow(row_key(f"a{number}"), "Some words to fill the line. " * 12))
    viewport.model.reset(rows)

    def top_message() -> str:
        top = next(row for row in viewport.scroll_layout.placed if row.y > 0)
        assert top.y == viewport.style.px(8)
        row = viewport.model.row(top.row_index)
        assert isinstance(row, UserRow)
        return row.text

    view.jump_to(row_key("a250"))
    viewport.show_own_message(-1)
    assert top_message() == "question 250", "above the answer at the top"
    viewport.show_own_message(-1)
    assert top_message() == "question 249"
    viewport.show_own_message(1)
    viewport.show_own_message(1)
    assert top_message() == "question 251"
    view.jump_to(row_key("u0"))
    viewport.show_own_message(-1)
    assert viewport.scroll_layout.position < viewport.style.px(8), "nothing is above the first"
    view.jump_to(row_key("u499"))
    viewport.show_own_message(1)
    assert view.chat_viewport.is_following


def test_an_answer_names_its_model_where_that_changed(view: ChatView) -> None:
    models = ("A", "A", "B", "A")
    rows = [AssistantRow(row_key(f"a{at}"), "Words.", model=model) for at, model in enumerate(models)]
    questions = [UserRow(row_key(f"u{at}"), "Do it.") for at in range(4)]
    view.chat_viewport.model.reset([row for pair in zip(questions, rows, strict=True) for row in pair])
    contexts = [view.chat_viewport.item(index).context for index in (1, 3, 5, 7)]
    assert [context.names_model for context in contexts] == [True, False, True, True]
    assert all(context.shows_header for context in contexts)


def test_an_answer_that_begins_with_a_call_has_its_name_above_it(view: ChatView) -> None:
    name = AssistantRow(row_key("a"), "", model="Model")
    call = tool_row("t", "read_file", "a.py", "ok")
    words = AssistantRow(row_key("b"), "Words.", model="Model")
    view.chat_viewport.model.reset([UserRow(row_key("u"), "Do it."), name, call, words])
    headers = [view.chat_viewport.item(index).context.shows_header for index in (1, 3)]
    assert headers == [True, False]
    assert view.chat_viewport.item(1).height == view.chat_viewport.style.px(HEADER_HEIGHT)
    view.select_all()
    assert view.selected_text() == "Do it.\n\nRead a.py\n\nWords."
