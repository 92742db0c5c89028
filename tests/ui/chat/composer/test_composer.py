"""Writing, sending, queueing and stopping; how full the context is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QInputMethodEvent, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.ui.chat.composer.attachment_chips import AttachmentChip, OpenAttachment, RemoveAttachment
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.context_gauge import ContextGauge, paint_usage_bar
from helix_desktop.ui.chat.style import SMALL
from helix_desktop.ui.design.style.stylesheet import stylesheet
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.kit.boxes import PaintState, Pen, face
from helix_desktop.words.next_compaction import gauge_compaction_text
from tests.support.intents import performed
from tests.support.window.buttons import find_button, press
from tests.support.window.chips import sample_chip
from tests.support.window.looks import ShowLook


@pytest.fixture
def composer(qtbot: QtBot) -> Iterator[Composer]:
    widget = Composer()
    qtbot.addWidget(widget)
    widget.resize(700, 160)
    widget.show()
    yield widget
    widget.close()


def test_enter_sends_and_shift_enter_breaks_the_line(qtbot: QtBot, composer: Composer) -> None:
    QTest.keyClicks(composer.editor, "one")
    QTest.keyClick(composer.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.editor, "two")
    with qtbot.waitSignal(composer.submitted) as sent:
        QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert sent.args == ["one\ntwo"]
    assert composer.text() == ""
    composer.set_enter_sends(False)
    QTest.keyClicks(composer.editor, "a")
    QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert composer.text() == "a\n"
    with qtbot.waitSignal(composer.submitted):
        QTest.keyClick(composer.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_nothing_is_sent_during_input_method_composition(composer: Composer) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("ni")
    QCoreApplication.sendEvent(composer.editor, QInputMethodEvent("hao", []))
    QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert sent == []
    _commit(composer, "好")
    QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert len(sent) == 1
    assert "好" in sent[0]


def test_up_moves_among_the_input_method_s_words_while_it_composes(composer: Composer) -> None:
    composer.history.set_source(lambda: ("sent earlier",))
    QCoreApplication.sendEvent(composer.editor, QInputMethodEvent("hao", []))
    QTest.keyClick(composer.editor, Qt.Key.Key_Up)
    assert composer.text() == ""
    _commit(composer, "")
    QTest.keyClick(composer.editor, Qt.Key.Key_Up)
    assert composer.text() == "sent earlier"


def test_send_takes_along_what_is_still_being_composed(qtbot: QtBot, composer: Composer) -> None:
    """Some input methods drop a composition that is left, and a click is such a way to leave."""
    composer.set_text("ni ")
    composer.editor.setFocus()
    QCoreApplication.sendEvent(composer.editor, QInputMethodEvent("好", []))
    send = find_button(composer, "send")
    with qtbot.waitSignal(composer.submitted) as sent:
        QTest.mouseClick(send, Qt.MouseButton.LeftButton)
    assert sent.args == ["ni 好"]
    assert composer.text() == ""
    assert composer.editor.hasFocus(), "the next message can be typed"


def test_enter_behind_a_dead_key_drops_the_accent_and_sends_nothing(composer: Composer) -> None:
    """Qt keeps the press of a dead key to itself, and so the press of the key that ends it well."""
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("caf")
    QTest.keyRelease(composer.editor, Qt.Key.Key_Dead_Acute)
    QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert sent == []
    QTest.keyRelease(composer.editor, Qt.Key.Key_Dead_Acute)
    _commit(composer, "é")
    QTest.keyRelease(composer.editor, Qt.Key.Key_E)
    QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert sent == ["café"]


def test_a_dead_key_that_is_released_behind_its_letter_does_not_hold_enter(composer: Composer) -> None:
    """Fast typists press the next key before they release the last one."""
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("caf")
    _commit(composer, "é")
    QTest.keyRelease(composer.editor, Qt.Key.Key_Dead_Acute)
    QTest.keyRelease(composer.editor, Qt.Key.Key_E)
    QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert sent == ["café"]


def _commit(composer: Composer, text: str) -> None:
    committed = QInputMethodEvent()
    committed.setCommitString(text)
    QCoreApplication.sendEvent(composer.editor, committed)


def test_the_placeholder_makes_room_for_a_composition(composer: Composer) -> None:
    composer.set_model("small")
    before = composer.editor.placeholderText()
    QCoreApplication.sendEvent(composer.editor, QInputMethodEvent("hao", []))
    assert composer.editor.placeholderText() == ""
    composer.set_model("large")
    assert composer.editor.placeholderText() == "", "it comes back with the empty field, not before"
    QCoreApplication.sendEvent(composer.editor, QInputMethodEvent())
    assert composer.editor.placeholderText() == before != ""


def test_an_empty_text_is_not_sent_but_an_attachment_is(composer: Composer) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    QTest.keyClicks(composer.editor, "  ")
    QTest.keyClick(composer.editor, Qt.Key.Key_Return)
    assert sent == []
    assert not find_button(composer, "send").isEnabled()
    composer.set_attachments((sample_chip("bash output 9f3a1c", "9 tokens"),))
    press(composer, "send")
    assert len(sent) == 1


def test_keys_that_have_nothing_to_scroll_here_scroll_the_conversation(
    composer: Composer, show_look: ShowLook
) -> None:
    """Page keys while all of the text is in sight; Ctrl+Home and Ctrl+End without one."""
    keys: list[int] = []
    composer.editor.scroll_key_pressed.connect(lambda event: keys.append(event.key()))
    QTest.keyClick(composer.editor, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    composer.set_text("two\nlines")
    show_look(LIGHT, 16)
    QTest.keyClick(composer.editor, Qt.Key.Key_PageUp)
    QTest.keyClick(composer.editor, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    composer.set_text("\n" * 40)
    QTest.keyClick(composer.editor, Qt.Key.Key_PageUp)
    assert keys == [Qt.Key.Key_Home, Qt.Key.Key_PageUp]


def test_grows_to_eight_lines_and_no_further(composer: Composer) -> None:
    height = composer.editor.height()
    composer.set_text("\n".join("abc"))
    three = composer.editor.height()
    composer.set_text("\n".join("abcdefgh"))
    eight = composer.editor.height()
    composer.set_text("\n".join("abcdefghijklmnop"))
    assert height < three < eight == composer.editor.height()


def test_a_text_that_fits_is_in_sight_from_its_first_line(qtbot: QtBot, composer: Composer) -> None:
    """What a completion puts in may break the line at once."""
    composer.editor.insertPlainText("see @tests/test_interest.py and @src")
    cursor = composer.editor.textCursor()
    cursor.movePosition(cursor.MoveOperation.Left, cursor.MoveMode.KeepAnchor, 4)
    cursor.beginEditBlock()
    cursor.removeSelectedText()
    cursor.insertText("@src/" + "folder/" * 12 + "a.py ")
    cursor.endEditBlock()
    composer.editor.setTextCursor(cursor)
    assert composer.editor.document().size().height() > 1
    two_lines = 2 * composer.editor.fontMetrics().lineSpacing()
    qtbot.waitUntil(lambda: composer.editor.height() >= two_lines)
    assert composer.editor.verticalScrollBar().value() == 0


def test_a_click_on_a_chip_leaves_the_keyboard_to_the_text(composer: Composer) -> None:
    composer.set_attachments((sample_chip("one", "1 token"), sample_chip("two", "2 tokens")))
    composer.editor.setFocus()
    first, second = composer._chips._chips
    with performed(composer) as intents:
        QTest.mouseClick(second.buttons[-1], Qt.MouseButton.LeftButton)
        QTest.mouseClick(first, Qt.MouseButton.LeftButton)
    assert composer.editor.hasFocus()
    assert intents == [RemoveAttachment(second.key), OpenAttachment(first.key)]


def test_a_long_name_never_hides_the_cost_on_a_chip(composer: Composer) -> None:
    name = "config/very/deep/folder/with/a/long/name/settings.production.toml, lines 1–80"
    composer.set_attachments([sample_chip(name, "12.4k tokens"), sample_chip("a.txt", "9 tokens")])

    long, short = composer.findChildren(AttachmentChip)
    assert long.visible_label() == "settings.production.toml, lines 1–80 · 12.4k tokens", "not its name"
    assert short.visible_label() == "a.txt · 9 tokens"

    command = sample_chip(
        "python3 -m unittest -v tests/test_report.py && git status", "258 tokens", kind="cached"
    )
    composer.set_attachments([command])
    label = composer.findChildren(AttachmentChip)[-1].visible_label()
    assert label.startswith("python3 -m"), "a command is known by its beginning"

    note = "400 lines · only first and last lines, 547 of 9.3k tokens"
    composer.set_attachments([sample_chip("Pasted: 2026-11-24 ledger.py booked", note, kind="cached")])
    pasted = composer.findChildren(AttachmentChip)[-1]
    label = pasted.visible_label()
    assert label.startswith("Pasted: ")
    assert label.endswith(note)
    buttons_px = sum(button.width() for button in pasted.findChildren(QToolButton))
    assert face(SMALL, 500)[1].horizontalAdvance(label) + buttons_px <= pasted.width()


def test_a_long_name_of_a_model_is_cut_in_its_middle(composer: Composer) -> None:
    """It was cut at both ends, and its icon was gone."""
    name = "an-organization/a-very-long-name-of-a-model-2026-11-24-instruct-q4-k-m"
    composer.set_model(name, "For this session")
    shown = composer.model_button.text()
    assert "…" in shown
    assert (name[:5], name[-5:]) == (shown[:5], shown[-5:])
    assert composer.model_button.toolTip().startswith(name)
    composer.set_model("small", "For this session")
    assert (composer.model_button.text(), composer.model_button.toolTip()) == ("small", "For this session")


class _Paints(QObject):
    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_another_placeholder_is_painted_at_once(qtbot: QtBot, composer: Composer) -> None:
    """Qt paints one when it comes or goes only; “Connect a model” stood there for one that was connected."""
    with qtbot.waitExposed(composer):
        composer.set_reasons("Connect a model")
    composer.editor.clearFocus()  # no cursor that blinks
    QCoreApplication.sendPostedEvents()
    paints = _Paints()
    composer.editor.viewport().installEventFilter(paints)
    composer.set_reasons("The offline demo model answers")
    QCoreApplication.sendPostedEvents()
    assert paints.count == 1


def test_the_empty_field_says_how_to_answer(composer: Composer) -> None:
    composer.set_reasons("The offline demo model answers")
    composer.show_asks(1, True, 3)
    assert composer.editor.placeholderText() == "1–3 and Enter, or type an answer", "it comes first"
    composer.show_asks(1, True)
    assert composer.editor.placeholderText() == "Type an answer"
    composer.show_asks(1)
    assert composer.editor.placeholderText() == "Deny with a reason: write what to do instead"
    composer.show_asks(0)
    assert composer.editor.placeholderText() == "The offline demo model answers"
    composer.set_reasons()
    assert composer.editor.placeholderText() == "Message"
    composer.show_asks(0, is_first=True)
    assert composer.editor.placeholderText().startswith("Message: @ for files")
    composer.resize(320, 160)
    assert composer.editor.placeholderText() == composer.editor.accessibleName() == "Message"


def test_words_while_a_call_waits_for_approval_are_said_to_deny_it(composer: Composer) -> None:
    """They are no message: nothing offers to send them into the turn."""
    composer.set_running(True)
    composer.editor.setPlainText("Look")
    steer = find_button(composer, "steer")
    send = find_button(composer, "send")
    composer.editor.setPlainText("")
    composer.show_asks(1)
    composer.editor.setPlainText("Use make")
    composer.set_estimate("Message: ≈ 3")
    status = composer._status
    for count, hint in ((1, "Enter denies the call"), (2, "Enter denies all calls that wait")):
        composer.show_asks(count)
        assert steer.isHidden()
        assert (send.toolTip(), status.full_text()) == (hint, hint)
    composer.editor.setPlainText("/compact")
    assert status.full_text() == "Message: ≈ 3"
    composer.editor.setPlainText("Use make")
    composer.show_asks(0)
    assert not steer.isHidden()
    assert send.toolTip() == "Queue: send after this turn (Enter)"


def test_a_message_begun_before_a_call_waits_stays_one(composer: Composer) -> None:
    """A card that comes while the user types must not make the next Enter deny its call."""
    composer.set_running(True)
    composer.editor.setPlainText("Then look at")
    composer.show_asks(1)
    composer.editor.setPlainText("Then look at the tests")
    assert find_button(composer, "send").toolTip() == "Queue: send after this turn (Enter)"
    assert not composer.is_begun_as_denial
    composer.editor.setPlainText("")
    composer.editor.setPlainText("Not now")
    assert find_button(composer, "send").toolTip() == "Enter denies the call"
    composer.show_asks(0)
    composer.show_asks(1)
    assert find_button(composer, "send").toolTip() == "Queue: send after this turn (Enter)"


@pytest.mark.parametrize("text_px", [11, 13, 26])
def test_the_line_below_the_text_fits_a_narrow_composer(
    composer: Composer, show_look: ShowLook, text_px: int
) -> None:
    """Names are cut, the buttons are not."""
    show_look(LIGHT, text_px)
    composer.set_model("a-model-with-a-very-long-name-that-no-line-has-room-for")
    composer.mode_button.show_mode("ask", demo_runs=True)
    composer.gauge.show_usage(UsageGauge(900, 1_000, 1_000, 0, 850, is_reported=False), ContextPolicy())
    composer.set_running(True)
    composer.editor.setPlainText("next")
    composer.resize(round(420 * max(1.0, text_px / 13)), 160)
    for name in ("attach", "model", "mode", "steer", "stop", "send"):
        (button,) = composer.frame.findChildren(QAbstractButton, name)
        assert button.isVisible()
        assert composer.frame.rect().contains(button.geometry()), name
    assert composer.minimumSizeHint().width() <= composer.width()
    assert composer.mode_button.width() >= composer.mode_button.sizeHint().width(), (
        "what runs unasked is said"
    )
    composer.resize(1_000, 160)
    assert composer.gauge.isVisible()


def test_up_brings_earlier_messages_and_down_the_draft(composer: Composer) -> None:
    composer.history.set_source(lambda: ("second", "first\nof two lines"))
    editor = composer.editor
    saved = list[str]()
    sent = list[str]()
    composer.text_paused.connect(saved.append)
    composer.submitted.connect(sent.append)

    def press_key(key: Qt.Key) -> str:
        QTest.keyClick(editor, key)
        return composer.text()

    QTest.keyClicks(editor, "draft")
    assert press_key(Qt.Key.Key_Up) == "draft", "the cursor moves to where the text begins, and no further"
    press_key(Qt.Key.Key_Home)
    assert press_key(Qt.Key.Key_Up) == "second"
    assert (composer.draft(), saved) == ("draft", ["draft"])
    assert press_key(Qt.Key.Key_Up) == "first\nof two lines"
    assert press_key(Qt.Key.Key_Up) == "first\nof two lines", "on its second line"
    assert press_key(Qt.Key.Key_Up) == "first\nof two lines", "there is none before"
    press_key(Qt.Key.Key_Down)
    assert press_key(Qt.Key.Key_Down) == "second"
    assert press_key(Qt.Key.Key_Down) == "draft"
    assert press_key(Qt.Key.Key_Down) == "draft"

    press_key(Qt.Key.Key_Home)
    press_key(Qt.Key.Key_Up)
    QTest.keyClicks(editor, " again")
    assert press_key(Qt.Key.Key_Up) == "second again", "what was changed is not replaced"
    assert composer.draft() == "second again"
    press_key(Qt.Key.Key_Return)
    assert (sent, composer.text()) == (["second again"], "draft")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_button_has_the_ring_of_the_others(
    composer: Composer, show_look: ShowLook, theme: Theme
) -> None:
    """Of the clip and the model only the words or a gray line changed."""
    show_look(theme)
    composer.setStyleSheet(stylesheet(theme))
    composer.set_model("model")
    composer.set_running(True)
    QTest.keyClicks(composer.editor, "next")
    composer.set_attachments([sample_chip("a.txt", "9 tokens", kind="cached")])
    names = ("model", "attach", "stop", "steer")
    buttons: list[QWidget] = [find_button(composer, name) for name in names]
    buttons += composer.findChildren(AttachmentChip)[0].findChildren(QToolButton)
    accent = QColor(theme.accent)
    for button in buttons:
        assert button.isVisible(), button.objectName()
        assert accent not in _left_edge(button), button.objectName()
        button.setFocus(Qt.FocusReason.TabFocusReason)
        assert _left_edge(button)[:2] == [accent, accent], button.objectName()


def _left_edge(button: QWidget) -> list[QColor]:
    """Return the colors of the first pixels in the middle of the left edge."""
    image = button.grab().toImage()
    return [image.pixelColor(x, image.height() // 2) for x in range(3)]


@pytest.mark.parametrize(
    ("used", "is_managed", "is_on_hold", "text"),
    [
        (19_900, True, False, "compaction in ≈ 500"),
        (20_400, True, False, "above 85 %"),
        (23_000, True, False, "above 85 %"),
        (23_000, True, True, "paused"),
        (19_900, False, True, "compaction off"),
    ],
)
def test_the_gauge_says_how_far_the_next_compaction_is(
    used: int, is_managed: bool, is_on_hold: bool, text: str
) -> None:
    gauge = UsageGauge(used, 24_000, 24_000, 0, 20_400, is_reported=True, panic_threshold=22_800)
    assert gauge_compaction_text(gauge.trigger, is_managed, is_on_hold) == text


def test_a_bar_above_its_window_is_drawn_to_scale(qapp: QApplication) -> None:
    """Twice the window: full, with a gap where the window ends; a bar that fits has none."""

    def painted(share: float) -> list[str]:
        image = QImage(100, 8, QImage.Format.Format_RGB32)
        painter = QPainter(image)
        pen = Pen(painter, LIGHT, PaintState(QRectF()))
        paint_usage_bar(pen, QRectF(0, 0, 100, 8), share, "error")
        painter.end()
        return [image.pixelColor(x, 4).name() for x in (25, 50, 75)]

    color, free, gap = (QColor(name).name() for name in (LIGHT.error, LIGHT.seg_free, LIGHT.surface))
    assert painted(2.0) == [color, gap, color]
    assert painted(0.4) == [color, free, free]
    assert painted(1.0) == [color, color, color]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_gauge_has_a_color_from_where_the_policy_makes_room(
    qtbot: QtBot, show_look: ShowLook, theme: Theme
) -> None:
    gauge = ContextGauge()
    qtbot.addWidget(gauge)
    assert gauge.isHidden(), "without a window no number is claimed"
    show_look(theme)
    colors = []
    widths = set()
    for used, due_at in ((700, 850), (849, 850), (850, 850), (700, 680), (1_000, 850)):
        gauge.show_usage(UsageGauge(used, 1_000, 1_000, 0, due_at, is_reported=True), ContextPolicy())
        gauge.resize(gauge.sizeHint())
        image = gauge.grab().toImage()
        colors.append(image.pixelColor(20, image.height() // 2).name())
        widths.add(gauge.width())
    tokens = (theme.accent, theme.accent, theme.warn, theme.warn, theme.error)
    assert colors == [QColor(name).name() for name in tokens]
    assert len(widths) == 1, "nothing moves as it fills"
    assert gauge.text() == "100 %"
    assert "Context: 100 % · 1k / 1k" in gauge.accessibleName()
