"""The conversation under mouse and keyboard."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.ui.chat.actions import ControlTurn, Decide, OpenLink
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    DividerRow,
    NoticeRow,
    UserRow,
)
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import DARK, LIGHT
from helix_desktop.ui.kit.intents import Intent, OpenCacheEntry, ShowInTimeline, Undo
from helix_desktop.ui.rows.row_widget import RowWidget
from tests.support.file_changes.cases import numbered_lines
from tests.support.intents import performed, take_intents
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


def _click(qtbot: QtBot, view: ChatView, key: str, area: str) -> None:
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=_hot_point(view, key, area))


def test_opens_at_the_end_and_keeps_few_widgets_alive(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(2_000))
    assert view.chat_viewport.is_following
    assert _widget(view, "a1999").isVisible()
    for _ in range(300):
        view.chat_viewport.scroll_by(-500)
    assert len(view.findChildren(RowWidget)) < 40
    assert len(view.chat_viewport.item_cache) <= 96


def test_scrolling_up_stops_following_and_the_pill_counts_new_rows(qtbot: QtBot, view: ChatView) -> None:
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


def test_scroll_bar_up_stops_following_and_its_end_starts_it(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(40))
    bar = view.verticalScrollBar()
    bar.setValue(bar.value() - 100)
    assert not view.chat_viewport.is_following
    bar.setValue(bar.maximum())
    assert view.chat_viewport.is_following


def test_a_streaming_answer_does_not_move_the_visible_text(qtbot: QtBot, view: ChatView) -> None:
    model = view.chat_viewport.model
    model.reset([*questions_and_answers(20), AssistantRow(row_key("s"), "", streaming=True)])
    view.chat_viewport.show_row(4)
    before = view.chat_viewport.scroll_layout.placed[0]
    for _ in range(50):
        model.stream(row_key("s"), "more words\n\n")
    view.chat_viewport.flush()
    assert view.chat_viewport.scroll_layout.placed[0] == before


def test_keys_scroll(qtbot: QtBot, view: ChatView) -> None:
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


def test_jump_brings_a_row_to_the_top(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(500))
    assert view.jump_to(row_key("u250"))
    assert view.chat_viewport.scroll_layout.placed[0].row_index in (499, 500)
    assert not view.jump_to(row_key("nowhere"))


def test_resizing_keeps_the_first_row(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(100))
    view.jump_to(row_key("a50"))
    row = view.chat_viewport.scroll_layout.placed[0].row_index
    view.resize(420, 500)
    assert view.chat_viewport.scroll_layout.placed[0].row_index == row


def test_dragging_selects_across_messages_and_copies(qtbot: QtBot, view: ChatView) -> None:
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
    port, start = view.viewport(), _text_point(view, "u30", "q")
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=start)
    for edge, is_reached in (
        (port.height() - 1, lambda: view.chat_viewport.scroll_layout.placed[0].row_index > 64),
        (0, lambda: view.chat_viewport.scroll_layout.placed[0].row_index < 56),
    ):
        QTest.mouseMove(port, QPoint(start.x(), edge))
        qtbot.waitUntil(is_reached)
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=QPoint(start.x(), 0))
    assert view.selected_text().count("\n\n") > 3


def test_a_double_click_selects_a_word(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), "one handover two")])
    point = _text_point(view, "a", "over")
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert view.selected_text() == "handover"


def test_a_click_elsewhere_right_after_another_is_a_first_one(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset(
        [
            AssistantRow(row_key(key), words)
            for key, words in (("a", "one handover two"), ("b", "the next answer"))
        ]
    )
    port, left = view.viewport(), Qt.MouseButton.LeftButton
    end = _text_point(view, "b", "answer", after=True)
    QTest.mouseClick(port, left, pos=_text_point(view, "a", "over"))
    QTest.mouseClick(port, left, Qt.KeyboardModifier.ShiftModifier, end)
    assert view.selected_text() == "over two\n\nthe next answer"
    QTest.mouseClick(port, left, pos=_text_point(view, "a", "one"))
    QTest.mousePress(port, left, pos=_text_point(view, "b", "next"))
    QTest.mouseMove(port, end)
    QTest.mouseRelease(port, left, pos=end)
    assert view.selected_text() == "next answer"


def test_select_all_selects_the_message_first_then_everything(qtbot: QtBot, view: ChatView) -> None:
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


def test_copying_a_thousand_messages_copies_their_source(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(500))
    view.select_all()
    text = view.selected_text()
    assert text.startswith("question 0\n\nanswer 0")
    assert "answer 250" in text


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


def test_tool_card_opens_with_a_click_and_with_keys(qtbot: QtBot, view: ChatView) -> None:
    row = tool_row("t", "bash", "ls", "ok", numbered_lines(900), digest=DIGEST, badge="cached")
    view.chat_viewport.model.reset([row])
    _click(qtbot, view, "t", "open:card")
    words = [text.text() for text in _widget(view, "t").item.texts]  # type: ignore[union-attr]  # it is shown
    assert [part.split("\n")[-1] for part in words[-2:]] == ["line 14", "line 900"]
    with performed(view) as blocker:
        _click(qtbot, view, "t", "cache:open")
    assert blocker == [OpenCacheEntry(DIGEST)]
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


def test_enter_answers_with_the_button_that_has_the_keyboard(qtbot: QtBot, view: ChatView) -> None:
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


def _rule_menu(qtbot: QtBot, view: ChatView) -> QMenu:
    _click(qtbot, view, "p", "menu:rules")
    return view.viewport().findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]


def test_a_rule_is_saved_from_a_menu_that_moves_no_button(qtbot: QtBot, view: ChatView) -> None:
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
    _click(qtbot, view, "p", "open:more")
    item = view.chat_viewport.item(0)
    assert [area.rect for area in item.hit_areas if area.name in names] == places
    height = item.height
    menu = _rule_menu(qtbot, view)
    assert view.chat_viewport.item(0).height == height
    rule, *answers = menu.actions()
    assert rule.text() == "Run: git log -3 &&&& echo \\u202e", "what is hidden is seen"
    assert not rule.isEnabled()
    for answer in answers:
        answer.trigger()
    assert decided == [Decide("p", "session"), Decide("p", "always"), Decide("p", "never")]
    decided.clear()
    view.chat_viewport.model.reset([replace(row, request=replace(row.request, suggested_rules=rules))])
    _click(qtbot, view, "p", "open:more")
    menu = _rule_menu(qtbot, view)
    assert menu.actions()[0].text() == "“Allow” holds in the sandbox only, “Never allow” everywhere"
    (second,) = (
        other for other in menu.findChildren(QMenu) if other.title() == "Run commands like: git log *"
    )
    second.actions()[1].trigger()
    assert decided == [Decide("p", "always", 1)]


def test_what_cannot_be_undone_is_one_line_and_a_click_names_each_place(qtbot: QtBot, view: ChatView) -> None:
    places = (UncoveredPlace("dist", "ignored"), UncoveredPlace(".env\u202e", "secret"))
    coverage = FileCoverage(places=places, uncovered=2, is_complete=True)
    row = approval_row("p", "run_command", "Run it", "make", "command", coverage=coverage)
    view.chat_viewport.model.reset([row])

    def words() -> str:
        item = _widget(view, "p").item
        assert item is not None
        return "\n".join(text.text() for text in item.texts)

    item = _widget(view, "p").item
    assert item is not None
    assert "Can't be undone in dist, .env\\u202e." in words()
    assert "Ignored" not in words()
    _click(qtbot, view, "p", "open:more")
    first, second = words().splitlines()[-2:]
    assert first.startswith("dist · Ignored")
    assert second.startswith(".env\\u202e · May contain a secret")


def test_actions_say_what_they_are_about(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset(
        [
            DividerRow(
                row_key("d"), "context", "Context: 104k → 31k", actions=(ShowInTimeline(1), Undo((1,)))
            ),
            NoticeRow(row_key("n"), "error", "It broke.", "Why", "Do this", (ControlTurn("retry"),)),
        ]
    )
    done: list[Intent] = []
    take_intents(view, done.append)
    _click(qtbot, view, "d", "action:undo")
    _click(qtbot, view, "n", "action:retry")
    assert done == [Undo((1,)), ControlTurn("retry")]


def test_copy_button_copies_the_code_verbatim(qtbot: QtBot, view: ChatView) -> None:
    line = "x" * 5_000
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), f"```\n{line}\n\tend\n```")])
    view.chat_viewport.show_row(0)
    _click(qtbot, view, "a", "0:copy")
    assert QGuiApplication.clipboard().text() == f"{line}\n\tend"


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
    return [_plain(text.document) + text.text() for text in view.chat_viewport.item(index).texts]


def _plain(document: QTextDocument) -> str:
    return document.toHtml()


def test_a_finished_stream_renders_like_a_complete_answer(view: ChatView) -> None:
    text = MARKDOWN + "\n\n```bash\nls -l\n" + "echo 1\n" * 40 + "```\n1. last\n   ```py\n   x\n   ```\n"
    model = view.chat_viewport.model
    model.reset([AssistantRow(row_key("s"), "", streaming=True)])
    for at in range(0, len(text), 7):
        model.stream(row_key("s"), text[at : at + 7])
        if at % 3 == 0:
            view.chat_viewport.flush()
    model.replace(row_key("s"), AssistantRow(row_key("s"), text))
    streamed, height = _rendered(view, 0), view.chat_viewport.item(0).height
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


def test_code_is_colored_after_it_appears(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), "```python\ndef f():\n    return 1\n```")])
    block = view.chat_viewport.item(0).texts[0].document.begin()
    assert block.layout().formats() == []
    qtbot.waitUntil(lambda: len(block.layout().formats()) >= 2)
    assert block.layout().formats()[0].format.foreground().color().name() == LIGHT.code.keyword


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


def test_tab_leaves_the_conversation_after_its_last_button(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([tool_row("t", "bash", "ls", "ok", "x")])
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert _widget(view, "t").has_keyboard()
    QTest.keyClick(_widget(view, "t"), Qt.Key.Key_Tab)
    assert not _widget(view, "t").has_keyboard()


def test_a_row_removed_above_does_not_move_the_visible_text(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(40))
    view.chat_viewport.show_row(40, 30.0)
    key, top = view.chat_viewport.model.raw_row(40).key, view.chat_viewport.scroll_layout.placed[-1].y
    view.chat_viewport.model.remove(row_key("u3"))
    assert view.chat_viewport.model.index_of(key) == 39
    assert view.chat_viewport.scroll_layout.placed[-1].y == top


def test_rows_are_added_changed_and_removed(view: ChatView) -> None:
    model = view.chat_viewport.model
    model.reset([])
    model.append(UserRow(row_key("u"), "hi"))
    model.append(tool_row("t", "bash", "ls", "running"))
    model.replace(row_key("t"), tool_row("t", "bash", "ls", "ok", "out"))
    assert _widget(view, "t").accessibleName().endswith("done")
    model.remove(row_key("t"))
    assert set(view.chat_viewport.widget_pool.visible) == {row_key("u")}
    QGuiApplication.sendEvent(view.viewport(), QEvent(QEvent.Type.Leave))
    with pytest.raises(ValueError, match="taken"):
        model.append(UserRow(row_key("u"), "again"))
    with pytest.raises(TypeError):
        model.stream(row_key("u"), "x")
