"""The message composer: text, attachments, earlier messages, model, mode, gauge, and Send and Stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QTextCursor,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.slash_command import parse_slash_input
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.chat.composer.attachment_chips import (
    AttachFiles,
    AttachmentBar,
    AttachText,
    ChipText,
    PickFiles,
)
from helix_desktop.ui.chat.composer.completer import Completer
from helix_desktop.ui.chat.composer.editor import Editor
from helix_desktop.ui.chat.style import BODY, MEDIUM, SMALL, UI, ChatStyle
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.key_names import tip_with_key
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.design.mirror import draw_text
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scale, scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import LIGHT, Theme, Themed, set_style_sheet
from helix_desktop.ui.kit.boxes import Icon, Pen, Row, Text
from helix_desktop.ui.kit.intents import StopAgent, perform
from helix_desktop.words.gauge_source import gauge_source_text
from helix_desktop.words.message_states import explain_hold
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.rewrite_reasons import gauge_compaction_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")
text = TextContext("Composer")

_WARN_SHARE = 0.7  # of the context window: from here on gauges have a color


def share_color(share: float, theme: Theme) -> str:
    """Return the color of a share of the context window: another from 70 % on, and where it is full."""
    if share >= 1.0:
        return theme.error
    return theme.warn if share >= _WARN_SHARE else theme.accent


def paint_usage_bar(painter: QPainter, bar: QRectF, share: float, color: str, theme: Theme) -> None:
    """Paint a bar that is filled to a share; above 1 to scale, with a gap where the window ends."""
    round_px = bar.height() / 2
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.seg_free))
    painter.drawRoundedRect(bar, round_px, round_px)
    if share <= 0:
        return
    painter.setBrush(QColor(color))
    full = max(2 * round_px, bar.width() * min(1.0, share))
    painter.drawRoundedRect(QRectF(bar.x(), bar.y(), full, bar.height()), round_px, round_px)
    if share > 1:
        painter.fillRect(
            QRectF(bar.x() + bar.width() / share - 1, bar.y(), 2, bar.height()), QColor(theme.surface)
        )


_PAD_PX, _GAP_PX, _CHEVRON_PX, _LEAST_PX = 8, 4, 13, 64  # at 100 %
_HEIGHT_PX = 26


class ChoiceButton(EnterActivates, QPushButton):
    """Flat until the pointer or the keyboard is on it; where room is narrow its words are cut."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._style = ChatStyle(LIGHT)
        # Qt's own is that of the style sheet, which has the former text size while that changes.
        self._font = self._style.font(UI, MEDIUM)
        self.setObjectName(name)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def set_style(self, style: ChatStyle) -> None:
        self._style = style
        self._font = style.font(UI, MEDIUM)
        self.setFont(self._font)
        self.setFixedHeight(round(style.px(_HEIGHT_PX)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(self._font).horizontalAdvance(self.text())
        return QSize(round(self._style.px(2 * _PAD_PX + _GAP_PX + _CHEVRON_PX) + width) + 1, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), round(self._style.px(_LEAST_PX))), self.height())

    def colors(self) -> tuple[str, str]:
        """Tokens of words and ground; without a ground, what is behind shows."""
        return ("muted" if self.isEnabled() else "faint"), ""

    def paintEvent(self, event: QPaintEvent) -> None:
        color, ground = self.colors()
        if self.underMouse() and self.isEnabled() and not ground:
            color, ground = "text", "hover"
        pen, bounds = Pen.of_widget(self, self._style.theme), QRectF(self.rect())
        pen.box(bounds.adjusted(1, 1, -1, -1), ground, radius=8)
        if self.hasFocus():
            pen.box(bounds, "", "accent", 8, 2)
        words = Text(self.text(), UI, color, 500, elide=Qt.TextElideMode.ElideMiddle, shrink=True)
        line = Row([words, Icon("chevron-down", color, _CHEVRON_PX)], _GAP_PX - 1)
        pad = self._style.px(_PAD_PX)
        pen.write(line, pad, bounds.adjusted(0, 0, 1 - pad, 0))


_NAMES = {"ask": text("Ask", "mode"), "plan": text("Plan", "mode"), "auto": text("Auto", "mode")}
_DEMO = text("Demo", "mode")
_EXCEPT_DEMO = text("Ask, except demo calls", "mode")
_TIPS = {
    "ask": text("Ask: the agent asks before edits, and commands that do more than read"),
    "plan": text("Plan: the agent only reads and plans"),
    "auto": text(
        "Auto: the agent edits files and runs sandboxed commands without asking, "
        "unless they destroy what can't be undone"
    ),
}


class ModeButton(ChoiceButton):
    def __init__(self, parent: QWidget) -> None:
        """Start in mode Ask."""
        super().__init__("mode", parent)
        self._mode: PermissionMode = "ask"
        self._demo_runs = False
        self.show_mode("ask")

    def show_mode(self, mode: PermissionMode, *, demo_runs: bool = False, key: str = "") -> None:
        """Show a mode; `demo_runs` says that calls of the demo model run in it without asking.

        `key` switches to the next mode; it stands in the tooltip.
        """
        self._mode, self._demo_runs = mode, demo_runs
        tip = translate(_TIPS[mode])
        if demo_runs and mode != "plan":
            tip += "\n" + tr("Demo calls run without asking. Change it in Settings → Permissions.")
        self.setText(translate(self._word))
        self.setToolTip(tip_with_key(tip, key))
        self.setAccessibleName(tr("Mode: {mode}", mode=_EXCEPT_DEMO if self._asks_less else _NAMES[mode]))
        self.setAccessibleDescription(self.toolTip())
        self.updateGeometry()
        self.update()

    def minimumSizeHint(self) -> QSize:
        """Room for the whole word: it says what runs without a question."""
        return self.sizeHint()

    @property
    def _asks_less(self) -> bool:
        return self._demo_runs and self._mode == "ask"

    @property
    def _word(self) -> TranslatableText:
        """The mode's name, or what is shorter than "Ask, except demo calls" and does not claim to ask."""
        return _DEMO if self._asks_less else _NAMES[self._mode]

    def colors(self) -> tuple[str, str]:
        """Those of the mode: Auto is a warning."""
        if not self.isEnabled() or self._mode == "ask":
            return super().colors()
        return ("accent_text", "accent_soft") if self._mode == "plan" else ("warn", "warn_soft")


_BAR_PX, _GAUGE_GAP_PX, _GAUGE_PAD_PX, _GAUGE_HEIGHT_PX = 46, 8, 6, 26
_MAX_PX = 16_777_215  # Qt's own limit of a width

GaugeForm = Literal["full", "words", "none"]


class ContextGauge(EnterActivates, Themed, QAbstractButton):
    """A bar and the share; clicking it asks for the panel. Its actions are its menu."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._usage: UsageGauge | None = None
        self._policy, self._policy_text, self._is_on_hold = ContextPolicy(), "", False
        self._form: GaugeForm = "full"
        self._room = _MAX_PX
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_usage(
        self, usage: UsageGauge, policy: ContextPolicy, policy_text: str = "", is_on_hold: bool = False
    ) -> None:
        """Show how full the window is, and where the policy, named by its text, compacts it."""
        state = usage, policy, policy_text, is_on_hold
        if state == (self._usage, self._policy, self._policy_text, self._is_on_hold):
            return  # every event of a session asks for it
        self._usage, self._policy, self._policy_text, self._is_on_hold = state
        share = format_whole_percent(usage.share, is_estimated=not usage.is_reported)
        used, window = format_tokens(usage.used), format_tokens(usage.window)
        compaction = gauge_compaction_text(usage.trigger, policy.enabled, is_on_hold)
        text = " · ".join((share, tr("{used} / {window}", used=used, window=window), compaction))
        hold = explain_hold() if is_on_hold and policy.enabled else ""
        parts = tuple(
            filter(None, (tr("Context: {usage}", usage=text), hold, gauge_source_text(usage), policy_text))
        )
        self.setAccessibleName(" · ".join(parts))
        self.setToolTip("\n".join((*parts, tr("Click to show or hide the context panel."))))
        self.fit(self._room)
        self.updateGeometry()
        self.update()

    def fit(self, room: int) -> None:
        """Show bar and words, words alone, or nothing, as some pixels have room for."""
        self._room = room
        forms: tuple[GaugeForm, ...] = ("full", "words", "none")
        form = next(form for form in forms if form == "none" or self._width_of(form) <= room)
        is_shown = self._usage is not None and form != "none"
        if form != self._form or is_shown == self.isHidden():
            self._form = form
            self.setVisible(is_shown)
            self.updateGeometry()

    def text(self) -> str:
        share = format_whole_percent(self._share)
        is_paused = self._is_on_hold and self._policy.enabled
        return tr("{share} · paused", share=share) if is_paused else share

    @property
    def _share(self) -> float:
        return self._usage.share if self._usage is not None else 0.0

    def sizeHint(self) -> QSize:
        """Room for what is shown; of a share with three digits, so that nothing moves as it grows."""
        return QSize(self._width_of(self._form), scaled(_GAUGE_HEIGHT_PX))

    def _width_of(self, form: GaugeForm) -> int:
        metrics = QFontMetricsF(self._font())
        words = max(metrics.horizontalAdvance(text) for text in (self.text(), format_whole_percent(1.0)))
        return round(2 * _GAUGE_PAD_PX + (_BAR_PX + _GAUGE_GAP_PX if form == "full" else 0) + words) + 1

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, share = self._theme, self._share
        pen, bounds = Pen.of_widget(self, theme), QRectF(self.rect())
        if self.underMouse():
            pen.box(bounds.adjusted(1, 1, -1, -1), "hover", radius=7)
        if self.hasFocus():
            pen.box(bounds, "", "accent", 7, 2)
        color, left = share_color(share, theme), _GAUGE_PAD_PX
        if self._form == "full":
            bar = QRectF(_GAUGE_PAD_PX, self.height() / 2 - 2, _BAR_PX, 4)
            paint_usage_bar(pen.qt, bar, share, color, theme)
            left += _BAR_PX + _GAUGE_GAP_PX
        pen.qt.setFont(self._font())
        pen.qt.setPen(QColor(theme.muted if color == theme.accent else color))
        draw_text(pen.qt, bounds.adjusted(left, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text())

    def _font(self) -> QFont:
        return fonts.sized(self.font(), 12, QFont.Weight.Medium)


PAUSE_MS = 500
_UNSAVED_MS = 2_000  # the longest that typing without a pause stays unsaved
_MAX_WIDTH = 788  # pixels
_MODEL_PX = 220  # of the model's name, at most
_OUTER_PX, _LEFT_PX, _RIGHT_PX = 14, 14, 10  # margins of the frame, and of what stands in it
_GAP_PX = 8  # between the parts of the line below the text
_BUTTON, _LINE = 32, 26  # heights of the button that sends and of the others

_NOT_BROWSING = -1


class MessageHistory(QObject):
    """Browses what the user sent, newest first.

    Up begins in an empty text, or where the cursor stands before all of it; it goes on from the first line of
    an earlier message that was not changed.
    """

    def __init__(self, composer: Composer) -> None:
        super().__init__(composer)
        self._composer, self._editor = composer, composer.editor
        self._read: Callable[[], Sequence[str]] = tuple
        self._messages: Sequence[str] = ()
        self._at = _NOT_BROWSING
        self._draft = ""
        self._editor.installEventFilter(self)

    def set_source(self, read: Callable[[], Sequence[str]]) -> None:
        """Browse the messages that `read` returns, newest first; it is called when Up begins."""
        self._read = read
        self.end()

    @property
    def draft(self) -> str | None:
        """The draft behind an unchanged earlier message; None if what is typed is the draft."""
        return self._draft if self._is_unchanged() else None

    def end(self) -> str:
        """Browse no more; return the draft that was set aside."""
        draft, self._draft, self._at, self._messages = self._draft, "", _NOT_BROWSING, ()
        return draft

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take Up and Down where they would leave the text."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
        if not plain or self._editor.is_composing:
            return False
        if event.key() == Qt.Key.Key_Up:
            return self._go_up()
        return event.key() == Qt.Key.Key_Down and self._go_down()

    def _go_up(self) -> bool:
        if self._is_unchanged():
            if self._can_move(QTextCursor.MoveOperation.Up):
                return False
        elif self._editor.textCursor().position() or self._editor.textCursor().hasSelection():
            return False
        else:
            self.end()
            self._messages = self._read()
            self._draft = self._editor.toPlainText()
        if self._at + 1 >= len(self._messages):
            return self._at != _NOT_BROWSING
        if self._at == _NOT_BROWSING:
            self._composer.text_paused.emit(self._draft)
        self._show(self._at + 1)
        return True

    def _go_down(self) -> bool:
        emptied = self._at != _NOT_BROWSING and not self._editor.toPlainText()
        if not emptied and (not self._is_unchanged() or self._can_move(QTextCursor.MoveOperation.Down)):
            return False
        self._show(_NOT_BROWSING if emptied else self._at - 1)
        return True

    def _show(self, at: int) -> None:
        self._at = at
        self._composer.put_in(self._messages[at] if at != _NOT_BROWSING else self._draft)
        if at == _NOT_BROWSING:
            self.end()

    def _is_unchanged(self) -> bool:
        return self._at != _NOT_BROWSING and self._editor.toPlainText() == self._messages[self._at]

    def _can_move(self, operation: QTextCursor.MoveOperation) -> bool:
        """Return True if there is a line above, or below, on screen."""
        return QTextCursor(self._editor.textCursor()).movePosition(operation)


class ComposerFrame(QFrame):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.chat_style: ChatStyle | None = None
        self.has_keyboard = False

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.chat_style is None:
            return
        edge = "accent" if self.has_keyboard else "border_strong"
        Pen.of_widget(self, self.chat_style.theme).box(QRectF(self.rect()), "surface", edge, 14)


class Composer(Themed, QWidget):
    """Emits what is to be sent; keeps nothing but the text on screen."""

    submitted = Signal(str)
    steered = Signal(str)
    """To be sent into the turn that runs, after the step under way."""
    text_paused = Signal(str)
    """The text is worth saving: typing paused, or went on for long."""
    text_changed = Signal(str)
    model_clicked = Signal()
    message_changed = Signal(bool, bool)
    """Whether what is typed can be the reason of a denial, and an answer; it may be as before."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._running = self._is_stop_offered = self._has_question = self._is_first = False
        self._option_count = 0  # of the question that waits
        self.approval_count = 0
        self._reasons: tuple[str, ...] = ()
        self._style = ChatStyle(theme)
        self.frame = ComposerFrame(self)
        self.editor = Editor(self.frame)
        mark_pane_stop(self.editor)
        self.editor.setAccessibleName(tr("Message"))
        self.history = MessageHistory(self)
        self.completer = Completer(self.editor, self.frame)
        self._chips = AttachmentBar(self._style, self.frame)
        self._model_name = self._model_tip = ""
        self._attach = QPushButton(self.frame)
        self._attach.setObjectName("attach")
        self._attach.setAccessibleName(tr("Attach files"))
        self._attach.setToolTip(tr("Attach files (or paste or drop them)"))
        self.model_button = ChoiceButton("model", self.frame)
        self.model_button.hide()
        self.mode_button = ModeButton(self.frame)
        self._estimate: tuple[str, ...] = ("",)
        self._status = ElidedLabel()
        self._note = ElidedLabel()
        self._note.setObjectName("composer_note")
        self._note.setContentsMargins(4, 0, 4, 0)  # below the text, which has a margin of its own
        self._note.hide()
        self._is_warning = False
        self._steer = QPushButton(tr("Send now", "button: send into the running turn"), self.frame)
        self._steer.setObjectName("steer")
        self._steer.setToolTip(tr("Send after the current step (Ctrl+Shift+Enter)"))
        self.gauge = ContextGauge(self.frame)
        self._stop = QPushButton(self.frame)
        self._stop.setObjectName("stop")
        self._stop.setAccessibleName(tr("Stop"))
        self._stop.setToolTip(tr("Stop the turn and all that it runs (Esc Esc)"))
        self._stop.hide()
        self._send = QPushButton(self.frame)
        self._send.setObjectName("send")
        self._send.setAccessibleName(tr("Send"))
        self._pause = QTimer(self, singleShot=True)
        self._unsaved = QElapsedTimer()
        self._arrange()
        self._connect()
        self._show_style(ChatStyle(theme, scale(QApplication.font()), self.devicePixelRatioF()))
        self._show_placeholder()

    @property
    def enter_sends(self) -> bool:
        """Return True if Enter sends (else Ctrl+Enter does, and Enter breaks the line)."""
        return self.editor.enter_sends

    @enter_sends.setter
    def enter_sends(self, enabled: bool) -> None:
        self.editor.enter_sends = enabled
        self._refresh()

    @property
    def is_running(self) -> bool:
        """Return True if the agent runs: what is sent waits for the end of the turn."""
        return self._running

    def text(self) -> str:
        return self.editor.toPlainText()

    @property
    def is_empty(self) -> bool:
        """Return True if nothing is typed or being composed, and nothing goes along."""
        return not (self.text() or self.editor.is_composing or self._chips.keys)

    @property
    def has_words(self) -> bool:
        """Return True if what is typed can be an answer: words alone."""
        text = self.text()
        return bool(text.strip()) and parse_slash_input(text) is None and not self._chips.keys

    @property
    def has_reason(self) -> bool:
        """Return True if it can be the reason of a denial: no question waits for it."""
        return self.has_words and not self._has_question

    def take_text(self) -> str:
        """Return what is typed, and empty the field; the draft behind an earlier message comes back."""
        text = self.text()
        self.editor.setPlainText(self.history.end())
        self.set_note("")
        self._pause.stop()
        return text

    def draft(self) -> str:
        """Return what is to be kept: what is typed, or the draft behind an earlier message on screen."""
        draft = self.history.draft
        return self.text() if draft is None else draft

    def set_text(self, text: str) -> None:
        """Put a text in, for example a kept draft; does not count as typing."""
        self.history.end()
        self.put_in(text)

    def put_in(self, text: str) -> None:
        """Show a text, and stay where the user browses earlier messages."""
        self.completer.close()
        self.editor.setPlainText(text)
        self.editor.moveCursor(self.editor.textCursor().MoveOperation.End)
        self._pause.stop()

    def set_running(self, running: bool) -> None:
        self._running = running
        if running:
            self._refresh()
        else:
            self.offer_stop(False)

    def show_question(self, is_waiting: bool, option_count: int = 0) -> None:
        """Say whether a question of the agent waits, with so many options: what is typed is its answer."""
        if (is_waiting, option_count) != (self._has_question, self._option_count):
            self._has_question, self._option_count = is_waiting, option_count
            self._show_placeholder()
            self._refresh()

    def show_approvals(self, count: int) -> None:
        """Say how many calls wait for approval: what is typed is why they are denied."""
        if count != self.approval_count:
            self.approval_count = count
            self._show_placeholder()
            self._refresh()

    def invite(self, is_first: bool) -> None:
        """Say whether this would be the first message: the empty field explains its signs then."""
        if is_first != self._is_first:
            self._is_first = is_first
            self._show_placeholder()

    def set_reasons(self, *texts: str) -> None:
        """Say in the empty field what has to be done first, or who answers: the first that fits."""
        self._reasons = texts
        self._show_placeholder()

    def _show_placeholder(self) -> None:
        texts = self._reasons
        if self._has_question:
            texts = (tr("Type an answer"),)
            if self._option_count > 1:
                numbers = tr("1–{last} and Enter, or type an answer", last=self._option_count)
                texts = (numbers, *texts)
        elif self.approval_count and not self._chips.keys:
            texts = tr("Deny with a reason: write what to do instead"), tr("Deny with a reason")
            if self.approval_count > 1:
                texts = tr("Deny all: write what to do instead"), tr("Deny all with a reason")
        elif not texts:
            texts = (tr("Message"),)
            if self._is_first:
                texts = (tr("Message: @ for files, # for stored outputs, / for commands"), *texts)
        self.editor.set_placeholders(*texts)

    def offer_stop(self, is_offered: bool) -> None:
        """Say that Esc stops the agent if it is pressed again; False: not any more."""
        self._is_stop_offered = is_offered and self._running
        self._tint_small_texts()
        self._refresh()
        if self._is_stop_offered:
            announce(self.editor, tr("Esc again to stop"))

    def set_estimate(self, *texts: str) -> None:
        """Show how many tokens the text will cost, in the first form that fits; empty hides it."""
        self._estimate = texts
        self._refresh()

    def set_model(self, name: str, tip: str = "") -> None:
        """Show the model's name, and in its tooltip for what it was chosen; an empty name hides it."""
        self._model_name, self._model_tip = name, tip
        self._show_model()
        self.model_button.setAccessibleName(tr("Model: {model}", model=name))
        self.model_button.setVisible(bool(name))
        self._fit_line()

    def _show_model(self) -> None:
        room, name = round(self._style.px(_MODEL_PX)), self._model_name
        metrics = QFontMetrics(self._style.font(UI, MEDIUM))
        short_name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
        self.model_button.setText(short_name)
        tip = self._model_tip if short_name == name else f"{name}\n{self._model_tip}".rstrip()
        self.model_button.setToolTip(plain_tooltip(tip))

    def set_note(self, text: str, is_warning: bool = False) -> None:
        """Say something about the text below it, for example what it attaches; empty hides it."""
        self._note.set_full_text(text)
        self._note.setVisible(bool(text))
        self._is_warning = is_warning
        self._tint_small_texts()
        self._refresh()

    def set_attachments(self, chips: Sequence[ChipText]) -> None:
        self._chips.show_chips(chips)
        self._show_placeholder()
        self._refresh()

    def apply_theme(self) -> None:
        current = self._style
        look = (self._theme, scale(QApplication.font()), self.devicePixelRatioF())
        if look == (current.theme, current.zoom, current.ratio):
            return
        self._show_style(ChatStyle(*look))

    def _show_style(self, style: ChatStyle) -> None:
        theme = style.theme
        self._style = self.frame.chat_style = style
        self._chips.set_style(style)
        self.completer.set_style(style)
        self.editor.setFont(style.font(BODY))
        set_style_sheet(self.editor, _editor_style(style))
        palette = self.editor.palette()
        palette.setColor(QPalette.ColorRole.PlaceholderText, style.color(theme.faint))
        self.editor.setPalette(palette)
        self._status.setFont(style.font(SMALL))
        self._tint_small_texts()
        edge, tall = round(style.px(15)), round(style.px(_LINE))
        self._attach.setIcon(icon("paperclip", theme.muted, edge))
        self._attach.setIconSize(QSize(edge, edge))
        for choice in (self.model_button, self.mode_button):
            choice.set_style(style)
        self._show_model()
        self._attach.setFixedSize(tall, tall)
        send_edge = max(_BUTTON, tall)
        for button in (self._send, self._stop):
            button.setFixedSize(send_edge, send_edge)
        set_style_sheet(self._attach, _bare_style(theme))
        self._steer.setFixedHeight(send_edge)
        set_style_sheet(self._steer, _outline_style(style, 9))
        self._refresh()
        self.editor.fit_height()
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.frame.has_keyboard = event.type() == QEvent.Type.FocusIn
            self.frame.update()
        return super().eventFilter(watched, event)

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(_GAP_PX)
        row.addWidget(self._attach)
        row.addWidget(self.model_button)
        row.addWidget(self.mode_button)
        row.addWidget(self._status, 1)
        for button in (self.gauge, self._steer, self._stop, self._send):
            row.addWidget(button)
        inner = QVBoxLayout(self.frame)
        inner.setContentsMargins(_LEFT_PX, 10, _RIGHT_PX, 9)
        inner.setSpacing(5)
        inner.addWidget(self._chips)
        inner.addWidget(self.editor)
        inner.addWidget(self._note)
        inner.addLayout(row)
        self.frame.setMaximumWidth(_MAX_WIDTH)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(_OUTER_PX, 0, _OUTER_PX, _OUTER_PX)
        outer.addStretch(1)
        outer.addWidget(self.frame, 1000)
        outer.addStretch(1)
        for button in (self._send, self._stop, self._steer, self._attach):
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.setAutoDefault(False)
        for button in (self._send, self._stop, self._steer):  # a click leaves the keyboard with the text
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._status.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setFocusProxy(self.editor)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_line()

    def _fit_line(self) -> None:
        """Shorten the gauge where the buttons need its room, before any of them is cut."""
        room = min(self.width() - 2 * _OUTER_PX, self.frame.maximumWidth()) - _LEFT_PX - _RIGHT_PX
        others = (self._attach, self.model_button, self.mode_button, self._steer, self._stop, self._send)
        taken = sum(
            max(part.minimumWidth(), part.minimumSizeHint().width()) + _GAP_PX
            for part in others
            if not part.isHidden()
        )
        self.gauge.fit(room - taken - _GAP_PX)  # one more gap: before the words in the middle

    def _connect(self) -> None:
        self.editor.installEventFilter(self)
        for submit in (self.editor.submitted, self._send.clicked):
            submit.connect(lambda: self._submit(self.submitted))
        self.editor.textChanged.connect(self._on_text_changed)
        self._pause.timeout.connect(lambda: self.text_paused.emit(self.text()))
        self._chips.left.connect(self.editor.setFocus)
        self._steer.clicked.connect(self.steer)
        self.editor.steer_submitted.connect(self.steer)
        self._stop.clicked.connect(lambda: perform(self, StopAgent()))
        self.model_button.clicked.connect(self.model_clicked)
        self._attach.clicked.connect(lambda: perform(self, PickFiles()))
        self.editor.files_added.connect(lambda files: perform(self, AttachFiles(tuple(files))))
        self.editor.long_text_pasted.connect(lambda text: perform(self, AttachText(text)))

    def _tint_small_texts(self) -> None:
        theme = self._style.theme
        self._note.setFont(self._style.font(SMALL))
        for label, color in (
            (self._note, theme.warn if self._is_warning else theme.faint),
            (self._status, theme.text if self._is_stop_offered else theme.faint),
        ):
            set_style_sheet(
                label,
                f"QLabel {{ color: {color}; font-size: {self._style.px(SMALL):.0f}px;"
                " background: transparent; }",
            )

    def _on_text_changed(self) -> None:
        if not self._pause.isActive():
            self._unsaved.start()
        self._pause.start(max(0, min(PAUSE_MS, _UNSAVED_MS - self._unsaved.elapsed())))
        self._refresh()
        self.text_changed.emit(self.text())

    def steer(self) -> None:
        """Send what is typed into the turn that runs; without one it begins a turn."""
        self._submit(self.steered if self._running else self.submitted)

    def _submit(self, signal: SignalInstance) -> None:
        self.editor.commit_composition()
        if self.text().strip() or self._chips.keys:
            signal.emit(self.take_text())

    def _refresh(self) -> None:
        theme = self._style.theme
        ready = bool(self.text().strip() or self._chips.keys)
        answers = self._has_question and not self._chips.keys  # an answer can't have attachments
        denies = bool(self.approval_count) and self.has_reason
        is_queued = self._running and ready and not (answers or denies)
        self._steer.setVisible(is_queued)
        self._stop.setVisible(self._running)
        keys = tr("Enter", "key") if self.editor.enter_sends else tr("Ctrl+Enter", "keys")
        hint = tr("Queue: send after this turn ({keys})", keys=keys)
        if answers:
            hint = tr("Answer the agent's question ({keys})", keys=keys)
        elif self.approval_count > 1 and denies:
            hint = tr("{keys} denies all calls that wait", keys=keys)
        elif denies:
            hint = tr("{keys} denies the call", keys=keys)
        elif not self._running:
            hint = tr("Send ({keys})", keys=keys)
        self._send.setToolTip(hint)
        if self._is_stop_offered:
            hint = tr("Esc again to stop")
        self._status.set_full_text(*((hint,) if self._is_stop_offered or denies else self._estimate))
        self._send.setEnabled(ready)
        color, background = (theme.on_accent, theme.accent) if ready else (theme.faint, theme.hover)
        self._show_button(
            self._send, "clock" if is_queued else "arrow-up", 17, (color, background, background)
        )
        self._show_button(self._stop, "stop", 15, (theme.text, theme.surface, theme.border_strong))
        self._steer.setFont(self._style.font(SMALL, MEDIUM))
        self.editor.setAccessibleDescription(". ".join(filter(None, (hint, self._note.full_text()))))
        self._fit_line()
        self.message_changed.emit(self.has_reason, self.has_words)

    def _show_button(self, button: QPushButton, name: str, px: int, colors: tuple[str, str, str]) -> None:
        color, background, edge = colors
        focus = self._style.theme.text if background == self._style.theme.accent else self._style.theme.accent
        theme, side = self._style.theme, round(self._style.px(px))
        button.setIcon(icon(name, color, side))
        button.setIconSize(QSize(side, side))
        set_style_sheet(
            button,
            f"QPushButton {{ background: {background}; border: 2px solid {edge};"
            " border-radius: 9px; padding: 0; }"
            f"QPushButton:hover:enabled {{ border-color: {theme.accent_text}; }}"
            f"QPushButton:focus {{ border-color: {focus}; }}",
        )


def _editor_style(style: ChatStyle) -> str:
    theme = style.theme
    return (
        f"QPlainTextEdit {{ background: transparent; border: 0; padding: 0; color: {theme.text};"
        f" font-size: {style.px(BODY):.0f}px; selection-background-color: {theme.text_selection};"
        f" selection-color: {theme.text}; }}"
    )


def _bare_style(theme: Theme) -> str:
    return (
        "QPushButton { background: transparent; border: 2px solid transparent; border-radius: 8px;"
        " padding: 0; }"
        f"QPushButton:hover {{ background: {theme.hover}; }}"
        f"QPushButton:focus {{ border-color: {theme.accent}; }}"
    )


def _outline_style(style: ChatStyle, radius: int) -> str:
    theme = style.theme
    return (
        f"QPushButton {{ background: {theme.raised}; color: {theme.muted}; border: 1px solid {theme.border};"
        f" border-radius: {radius}px; padding: 0 10px; font-size: {style.px(SMALL):.0f}px;"
        " font-weight: 500; }"
        f"QPushButton:hover {{ border-color: {theme.border_strong}; color: {theme.text}; }}"
        f"QPushButton:focus {{ border: 2px solid {theme.accent}; padding: 0 9px; }}"
    )
