"""The conversation under mouse and keyboard: scrolling, selecting, what buttons do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.domain.tools import PermissionRule
from helix_desktop.ui.chat.actions import ControlTurn, Decide, OpenLink, RowKey
from helix_desktop.ui.chat.items.assistant_message import HEADER_HEIGHT
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.rows.row_texts import bar_texts
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, Row, UserRow
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import DARK
from helix_desktop.ui.kit.intents import Intent, OpenOutput
from helix_desktop.ui.rows.row_widget import RowWidget
from tests.support.file_changes.cases import numbered_lines
from tests.support.intents import intents_of, performed, take_intents
from tests.support.window.chat_geometry import approval_row, questions_and_answers, row_key, tool_row
from tests.support.window.chat_geometry import hit_area_point as _hot_point
from tests.support.window.chat_geometry import row_widget as _widget
from tests.support.window.chat_geometry import text_point as _text_point
from tests.support.window.looks import ShowLook

DIGEST = "9f3a1c" + "0" * 58
MARKDOWN = """Words **bold** and `code` at [site](https://example.org/x).

- one
- two

```python
def f():
    return 1
```

| a | b |
|--|--|
| 1 | 2 |

The end."""


@pytest.fixture
def clock() -> Callable[[], float]:
    """Each look is a minute later."""
    return partial(next, count(0.0, 60.0))


def test_opens_at_the_end_and_keeps_few_widgets_alive(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(500))
    assert view.chat_viewport.is_following
    assert _widget(view, "a499").isVisible()
    for _ in range(100):
        view.chat_viewport.scroll_by(-500)
    assert len(view.findChildren(RowWidget)) < 40
    assert len(view.chat_viewport.item_cache) <= 96


def test_scrolling_up_stops_following_and_the_pill_counts_new_rows(view: ChatView) -> None:
    model = view.chat_viewport.model
    model.reset(questions_and_answers(30))
    QTest.keyClick(view, Qt.Key.Key_PageUp)
    assert not view.chat_viewport.is_following
    first = view.chat_viewport.scroll_layout.placed[0]
    model.append(UserRow(row_key("new1"), "hello"))
    model.append(AssistantRow(row_key("new2"), "long answer " * 200))
    assert view.chat_viewport.scroll_layout.placed[0] == first
    assert view._new_rows_button.isVisible()
    assert view._new_rows_button.text() == "2 new"
    QTest.mouseClick(view._new_rows_button, Qt.MouseButton.LeftButton)
    assert view.chat_viewport.is_following
    assert not view._new_rows_button.isVisible()
    assert row_key("new2") in (view.chat_viewport.widget_pool.visible)


def test_a_streaming_answer_does_not_move_the_visible_text(view: ChatView) -> None:
    model = view.chat_viewport.model
    model.reset([*questions_and_answers(20), AssistantRow(row_key("s"), "", streaming=True)])
    view.chat_viewport.show_row(4)
    before = view.chat_viewport.scroll_layout.placed[0]
    for _ in range(50):
        model.stream(row_key("s"), "more words\n\n")
    view.chat_viewport.flush()
    assert view.chat_viewport.scroll_layout.placed[0] == before


def test_keys_and_the_bar_scroll(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(60))
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert view.verticalScrollBar().value() == 0
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.verticalScrollBar().value() == 44
    QTest.keyClick(view, Qt.Key.Key_PageDown)
    assert view.verticalScrollBar().value() > 400
    QTest.keyClick(view, Qt.Key.Key_Up)
    assert not view.chat_viewport.is_following
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.chat_viewport.is_following
    bar = view.verticalScrollBar()
    bar.setValue(bar.value() - 100)
    assert not view.chat_viewport.is_following
    bar.setValue(bar.maximum())
    assert view.chat_viewport.is_following


def test_resizing_keeps_the_first_row(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(100))
    assert view.jump_to(row_key("a50"))
    assert not view.jump_to(row_key("nowhere"))
    row = view.chat_viewport.scroll_layout.placed[0].row_index
    view.resize(420, 500)
    assert view.chat_viewport.scroll_layout.placed[0].row_index == row


def test_dragging_selects_across_messages_and_copies(view: ChatView) -> None:
    view.chat_viewport.model.reset([UserRow(row_key("u"), "ask this"), AssistantRow(row_key("a"), MARKDOWN)])
    port = view.viewport()
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=_text_point(view, "u", "this"))
    QTest.mouseMove(port, _text_point(view, "a", "return 1", after=True))
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=_text_point(view, "a", "return 1", after=True))
    expected = "this\n\nWords bold and code at site.\n\n- one\n- two\n\ndef f():\n    return 1"
    assert view.selected_text() == expected
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == expected
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert view.selected_text() == ""


def test_dragging_scrolls_on_at_the_last_pixel_of_a_screen(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(60))
    view.jump_to(row_key("u30"))
    port = view.viewport()
    start = _text_point(view, "u30", "q")
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=start)
    for edge, is_reached in (
        (port.height() - 1, lambda: view.chat_viewport.scroll_layout.placed[0].row_index > 61),
        (0, lambda: view.chat_viewport.scroll_layout.placed[0].row_index < 59),
    ):
        QTest.mouseMove(port, QPoint(start.x(), edge))
        qtbot.waitUntil(is_reached)
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=QPoint(start.x(), 0))
    assert "\n\n" in view.selected_text()


def test_a_double_click_selects_a_word_and_a_click_elsewhere_is_a_first_one(view: ChatView) -> None:
    view.chat_viewport.model.reset(
        [
            AssistantRow(row_key(key), words)
            for key, words in (("a", "one handover two"), ("b", "the next answer"))
        ]
    )
    port = view.viewport()
    left = Qt.MouseButton.LeftButton
    end = _text_point(view, "b", "answer", after=True)
    QTest.mouseClick(port, left, pos=_text_point(view, "a", "over"))
    QTest.mouseClick(port, left, Qt.KeyboardModifier.ShiftModifier, end)
    assert view.selected_text() == "over two\n\nthe next answer"
    QTest.mouseClick(port, left, pos=_text_point(view, "a", "one"))
    QTest.mousePress(port, left, pos=_text_point(view, "b", "next"))
    QTest.mouseMove(port, end)
    QTest.mouseRelease(port, left, pos=end)
    assert view.selected_text() == "next answer"
    QTest.mouseClick(port, left, pos=_text_point(view, "a", "over"))
    QTest.mouseDClick(port, left, pos=_text_point(view, "a", "over"))
    assert view.selected_text() == "handover"


def test_select_all_selects_the_message_first_then_everything(view: ChatView) -> None:
    view.chat_viewport.model.reset(
        [
            UserRow(row_key("u"), "ask"),
            AssistantRow(row_key("a"), "reply | x |\n\n| a | b |\n|--|--|\n| 1 | 2 |"),
        ]
    )
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=_text_point(view, "a", "reply"))
    QTest.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert view.selected_text().strip() == "reply | x |\n\na\tb\n1\t2"
    QTest.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert view.selected_text().startswith("ask\n\nreply")


def test_links_open_only_on_a_click_and_show_their_target(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), MARKDOWN)])
    point = _text_point(view, "a", "site") + QPoint(5, 0)
    QTest.mouseMove(view.viewport(), point)
    qtbot.waitUntil(lambda: view.viewport().toolTip() != "")
    assert view.viewport().toolTip() == "https://example.org/x"
    with performed(view) as opened:
        QTest.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
        assert opened == []
        QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert opened == [OpenLink("https://example.org/x")]


def test_documents_contain_no_image_and_no_foreign_link(view: ChatView) -> None:
    hostile = (
        "<img src='file:///etc/passwd'>\n\n![x](file:///etc/passwd) [y](javascript:alert(1))\n\n"
        "![z](https://evil.example/leak.png)\n\n<script>steal()</script>\n\nafter"
    )
    view.chat_viewport.model.reset([UserRow(row_key("u"), hostile), AssistantRow(row_key("a"), hostile)])
    for key in ("u", "a"):
        sheet = _widget(view, key).item
        assert isinstance(sheet, RowItem)
        for text in sheet.texts:
            html = text.document.toHtml()
            assert "<img" not in html
            assert 'href="javascript' not in html
            assert 'href="file' not in html
        assert "after" in "".join(text.text() for text in sheet.texts)


def test_tool_card_opens_with_a_click_and_with_keys(view: ChatView) -> None:
    row = tool_row("t", "bash", "ls", "ok", numbered_lines(900), digest=DIGEST, badge="cached")
    view.chat_viewport.model.reset([row])
    _click(view, "t", "open:card")
    words = [text.text() for text in _widget(view, "t").item.texts]  # type: ignore[union-attr]  # it is shown
    assert [part.split("\n")[-1] for part in words[-2:]] == ["line 14", "line 900"]
    assert intents_of(view, lambda: _click(view, "t", "cache:open")) == [OpenOutput(DIGEST)]
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Tab)
    widget = _widget(view, "t")
    assert widget.focused_area == "open:card"
    QTest.keyClick(widget, Qt.Key.Key_Return)
    assert _widget(view, "t").item.texts == []  # type: ignore[union-attr]  # it is shown
    QTest.keyClick(widget, Qt.Key.Key_Space)
    assert len(_widget(view, "t").item.texts) == 3  # type: ignore[union-attr]  # it is shown
    QTest.keyClick(widget, Qt.Key.Key_Tab)
    assert widget.focused_area == "cache"
    view.chat_viewport.model.reset([])
    assert view.hasFocus()


def test_enter_answers_with_the_button_that_has_the_keyboard(view: ChatView) -> None:
    view.chat_viewport.model.reset([approval_row("p", "bash", "Run it", "rm -rf \u202ex")])
    decided: list[Intent] = []
    take_intents(view, decided.append)
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Tab)
    widget = _widget(view, "p")
    QTest.keyClick(widget, Qt.Key.Key_Return)
    QTest.keyClick(widget, Qt.Key.Key_Tab)
    QTest.keyClick(widget, Qt.Key.Key_Return)
    assert decided == [Decide("p", "once"), Decide("p", "deny")]
    view.clearFocus()
    view.setFocus(Qt.FocusReason.BacktabFocusReason)
    assert widget.focused_area == "decide:once", "what saves a rule is not the first from below"
    words = "\n".join(text.text() for text in widget.item.texts)  # type: ignore[union-attr]  # it is shown
    assert "\\u202e" in words


def _click(view: ChatView, key: str, area: str) -> None:
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=_hot_point(view, key, area))


def _rule_menu(view: ChatView) -> QMenu:
    _click(view, "p", "menu:rules")
    return view.viewport().findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]


def test_a_rule_is_saved_from_a_menu_that_moves_no_button(view: ChatView) -> None:
    rules = (
        PermissionRule("run_command", "git log -3 && echo \u202e", confined=True),
        PermissionRule("run_command", "git log *", kind="pattern"),
    )
    first = replace(rules[0], confined=False)
    row = approval_row("p", "run_command", "Run it", "git log -3", "command", suggested_rules=(first,))
    view.chat_viewport.model.reset([row])
    decided: list[Intent] = []
    take_intents(view, decided.append)
    item = view.chat_viewport.item(0)
    names = ("decide:once", "decide:deny", "open:more")
    places = [area.rect for area in item.hit_areas if area.name in names]
    _click(view, "p", "open:more")
    item = view.chat_viewport.item(0)
    assert [area.rect for area in item.hit_areas if area.name in names] == places
    height = item.height
    menu = _rule_menu(view)
    assert view.chat_viewport.item(0).height == height
    rule, *answers = menu.actions()
    assert rule.text() == "Run: git log -3 &&&& echo \\u202e", "what is hidden is seen"
    assert not rule.isEnabled()
    for answer in answers:
        answer.trigger()
    first = row.request.offered_rules[0]
    assert decided == [Decide("p", answer, first) for answer in ("session", "always", "never")]
    decided.clear()
    view.chat_viewport.model.reset([replace(row, request=replace(row.request, suggested_rules=rules))])
    _click(view, "p", "open:more")
    menu = _rule_menu(view)
    assert menu.actions()[0].text() == "“Allow” holds in the sandbox only, “Never allow” everywhere"
    (second,) = (
        other for other in menu.findChildren(QMenu) if other.title() == "Run commands like: git log *"
    )
    second.actions()[1].trigger()
    shown = replace(row.request, suggested_rules=rules).offered_rules[1]
    assert decided == [Decide("p", "always", shown)], "the rule that was seen, whatever is offered by now"


def test_copy_button_copies_the_code_verbatim(view: ChatView) -> None:
    """Also of a block that is cut, which has one button."""
    for code in ("x" * 5_000 + "\n\tend", "\n".join(f"line {n}" for n in range(500))):
        view.chat_viewport.model.reset([AssistantRow(row_key("a"), f"```\n{code}\n```")])
        view.chat_viewport.show_row(0)
        assert sum(area.name.endswith("copy") for area in view.chat_viewport.item(0).hit_areas) == 1
        _click(view, "a", "0:copy")
        assert QGuiApplication.clipboard().text() == code


def test_long_lines_are_folded_for_display_only(view: ChatView) -> None:
    word = "y" * 7_000
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), f"{word} z\n\n```\n{word}\n```")])
    sheet = view.chat_viewport.item(0)
    for text in sheet.texts:
        block = text.document.begin()
        while block.isValid():
            assert block.length() <= 2_001
            block = block.next()
    assert [text.text() for text in sheet.texts] == [f"{word} z", word[:4_000], word[4_000:]]
    view.select_all()
    assert view.selected_text() == f"{word} z\n\n{word}"


def _rendered(view: ChatView, index: int) -> list[str]:
    return [text.document.toHtml() + text.text() for text in view.chat_viewport.item(index).texts]


def test_a_finished_stream_renders_like_a_complete_answer(view: ChatView) -> None:
    text = MARKDOWN + "\n\n```bash\nls -l\n" + "echo 1\n" * 40 + "```\n1. last\n   ```py\n   x\n   ```\n"
    model = view.chat_viewport.model
    model.reset([AssistantRow(row_key("s"), "", streaming=True)])
    for at in range(0, len(text), 7):
        model.stream(row_key("s"), text[at : at + 7])
        if at % 3 == 0:
            view.chat_viewport.flush()
    model.replace(row_key("s"), AssistantRow(row_key("s"), text))
    streamed = _rendered(view, 0)
    height = view.chat_viewport.item(0).height
    model.reset([AssistantRow(row_key("s"), text)])
    assert _rendered(view, 0) == streamed
    assert view.chat_viewport.item(0).height == height


def test_streamed_text_arrives_by_itself_at_the_flush(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("s"), "Hel", streaming=True)])
    view.chat_viewport.model.stream(row_key("s"), "lo **you**")
    qtbot.waitUntil(lambda: [text.text() for text in view.chat_viewport.item(0).texts] == ["Hello you"])


def test_an_evicted_stream_loses_and_repeats_nothing(view: ChatView) -> None:
    model = view.chat_viewport.model
    model.reset([AssistantRow(row_key("s"), "a", streaming=True)])
    model.stream(row_key("s"), "b")
    view.chat_viewport.item_cache.drop(row_key("s"))
    model.stream(row_key("s"), "c")
    view.chat_viewport.item(0)
    view.chat_viewport.flush()
    assert [text.text() for text in view.chat_viewport.item(0).texts] == ["abc"]


def test_theme_switch_keeps_the_position_and_recolors(view: ChatView, show_look: ShowLook) -> None:
    view.chat_viewport.model.reset(questions_and_answers(100))
    view.jump_to(row_key("a40"))
    before = view.chat_viewport.scroll_layout.placed[0]
    show_look(DARK)
    assert view.chat_viewport.scroll_layout.placed[0] == before
    picture = view.viewport().grab().toImage()
    assert picture.pixelColor(2, 300).lightness() < 60


def test_a_theme_switch_while_code_waits_for_its_colors(
    qtbot: QtBot, view: ChatView, show_look: ShowLook
) -> None:
    text = "```python\n" + "def f():\n    return 1\n" * 300 + "```"
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), text)])
    view.chat_viewport.item(0)
    show_look(DARK)
    block = view.chat_viewport.item(0).texts[0].document.lastBlock()
    qtbot.waitUntil(lambda: len(block.layout().formats()) >= 1)
    assert block.layout().formats()[0].format.foreground().color().name() == DARK.code.keyword


def test_a_row_removed_above_does_not_move_the_visible_text(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(40))
    view.chat_viewport.show_row(40, 30.0)
    key = view.chat_viewport.model.raw_row(40).key
    top = view.chat_viewport.scroll_layout.placed[-1].y
    view.chat_viewport.model.remove(row_key("u3"))
    assert view.chat_viewport.model.index_of(key) == 39
    assert view.chat_viewport.scroll_layout.placed[-1].y == top


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


def test_rows_that_change_together_are_laid_out_once_and_stay_in_place(view: ChatView) -> None:
    """Undoing a handover changes thousands, of which few are in sight."""
    model = view.chat_viewport.model
    model.reset(tool_row(f"t{number}", "bash", "ls", "running") for number in range(400))
    view.jump_to(row_key("t200"))
    place = view.chat_viewport.placed_row(200)
    layouts: list[None] = []
    view.chat_viewport.layout_changed.connect(lambda: layouts.append(None))
    model.put_all(tool_row(f"t{number}", "bash", "ls", "ok") for number in range(400))
    assert len(layouts) == 1
    assert view.chat_viewport.placed_row(200) == place
    assert _widget(view, "t200").accessibleName().endswith("done")


NOTICE = NoticeRow(
    row_key("n"),
    "error",
    "The provider refused.",
    "The key has expired.",
    "Set another key.",
    (ControlTurn("retry"),),
)


def drag(view: ChatView, start: str, end: str) -> None:
    """Select from the start of some words to the end of others."""
    area = view.viewport()
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(area, left, pos=_text_point(view, "n", start))
    QTest.mouseMove(area, _text_point(view, "n", end, after=True))
    QTest.mouseRelease(area, left, pos=_text_point(view, "n", end, after=True))


def numbers(view: ChatView) -> list[int]:
    """The numbers by which marks find the texts of the card."""
    sheet = _widget(view, "n").item
    assert sheet is not None
    return [text.number for text in sheet.texts]


@pytest.mark.parametrize(
    ("start", "end", "selected"),
    [
        ("key has", "expired", "key has expired"),
        ("refused", "Set another", "refused.\n\nThe key has expired.\n\nSet another"),
    ],
)
def test_the_selection_stays_in_its_original_text(
    view: ChatView, start: str, end: str, selected: str
) -> None:
    view.chat_viewport.model.reset([NOTICE])
    drag(view, start, end)
    assert view.selected_text() == selected
    assert numbers(view) == [0, 1, 2]


@pytest.mark.parametrize(
    "row",
    [
        replace(NOTICE, details="expired_key: see the console"),
        DividerRow(NOTICE.key, "note", "1 file changed since it was read", details=("a: expired_key",)),
    ],
)
def test_find_opens_the_details_that_hold_the_words(view: ChatView, row: Row) -> None:
    view.chat_viewport.model.reset([row])
    before = numbers(view)
    view.find_text("expired_key")
    assert view.finder.current is not None
    assert len(numbers(view)) == len(before) + 1


def test_a_selection_names_the_messages_that_it_touches(view: ChatView) -> None:
    rows: list[Row] = [
        UserRow(RowKey(seq=3), "Say it"),
        AssistantRow(RowKey(seq=5), "Here."),
        UserRow(RowKey(seq=9), "And?"),
    ]
    view.chat_viewport.model.reset(rows)
    assert view.selected_seqs() is None
    view._selection.select_row(1)
    assert view.selected_seqs() == (5, 5)
    view.select_all()
    assert view.selected_seqs() == (3, 9)


def press_keys(view: ChatView, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(view, key, Qt.KeyboardModifier.ShiftModifier)


def test_shift_moves_the_end_of_the_selection_by_lines(view: ChatView) -> None:
    """From the click on; a closed call is a line of its own, and copied with what it did."""
    calls = [tool_row(name, "read_file", f"{name}.py", text="x") for name in ("t1", "t2")]
    answers = [AssistantRow(row_key(key), f"first {key}\n\nsecond {key}") for key in ("a", "b")]
    view.chat_viewport.model.reset([answers[0], *calls, answers[1]])
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=_text_point(view, "a", "first a"))
    lines = [" ".join(bar_texts(call)) for call in calls]
    steps = [
        "first a",
        f"first a\n\nsecond a\n\n{lines[0]}",
        f"first a\n\nsecond a\n\n{lines[0]}\n{lines[1]}",
        f"first a\n\nsecond a\n\n{lines[0]}\n{lines[1]}",  # before the first word of the next answer
        f"first a\n\nsecond a\n\n{lines[0]}\n{lines[1]}\n\nfirst b",
    ]
    for expected in steps:
        press_keys(view, Qt.Key.Key_Down)
        assert view.selected_text() == expected
    for expected in (*reversed(steps[:-1]), ""):
        press_keys(view, Qt.Key.Key_Up)
        assert view.selected_text() == expected


def test_shift_moves_the_end_of_the_selection_by_pages_and_to_both_ends(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(40))
    view.jump_to(row_key("u20"))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=_text_point(view, "u20", "question"))
    press_keys(view, Qt.Key.Key_PageDown)
    assert view.selected_text().startswith("question 20\n\nanswer 20")
    assert "question 21" in view.selected_text()
    assert "question 30" not in view.selected_text()
    press_keys(view, Qt.Key.Key_PageUp, Qt.Key.Key_PageUp)
    assert view.selected_text().endswith("line.")
    assert "answer 19" in view.selected_text()
    press_keys(view, Qt.Key.Key_End)
    assert view.selected_text().startswith("question 20\n\nanswer 20")
    assert "answer 39" in view.selected_text()
    assert view.chat_viewport.is_following
    press_keys(view, Qt.Key.Key_Home)
    assert view.selected_text().startswith("question 0\n\nanswer 0")
    assert "question 20" not in view.selected_text()
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == view.selected_text()
