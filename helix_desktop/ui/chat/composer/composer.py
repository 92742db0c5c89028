"""The message composer: text, attachments, earlier messages, model, mode, gauge, and Send and Stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent, QPaintEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QAbstractButton, QFrame, QPushButton, QSizePolicy, QWidget

from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.slash_command import parse_slash_input
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.chat.composer.attachment_chips import (
    AttachFiles,
    AttachmentBar,
    AttachText,
    Chip,
    PickFiles,
    SignButton,
)
from helix_desktop.ui.chat.composer.context_gauge import ContextGauge
from helix_desktop.ui.chat.composer.editor import Completer, Editor
from helix_desktop.ui.chat.style import COMPOSER_LINE_PX, UI
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import EnterActivates, IconButton, PushButton
from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.key_names import tip_with_key
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.design.layout import centered, column, row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed, restyle
from helix_desktop.ui.kit.boxes import Icon, Pen, Row, Text, face
from helix_desktop.ui.kit.intents import Steer, StopAgent, handles, perform
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")
text = TextContext("Composer")

_PAD_PX = 8  # at 100 %
_LEAST_PX = 64  # at 100 %


class ChoiceButton(EnterActivates, Themed, QPushButton):
    """Flat until the pointer or the keyboard is on it; where room is narrow its words are cut."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.apply_theme()

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(COMPOSER_LINE_PX))
        self.updateGeometry()

    def _line(self, color: str = "muted") -> Row:
        words = Text(self.text(), UI, color, 500, elide=Qt.TextElideMode.ElideMiddle, shrink=True)
        return Row([words, Icon("chevron-down", color, 13)], 3)

    def sizeHint(self) -> QSize:
        return QSize(round(self._line().width() + 2 * scaled(_PAD_PX)) + 1, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), scaled(_LEAST_PX)), self.height())

    def colors(self) -> tuple[str, str]:
        """Tokens of words and ground; without a ground, what is behind shows."""
        return ("muted" if self.isEnabled() else "faint"), ""

    def paintEvent(self, event: QPaintEvent) -> None:
        color, ground = self.colors()
        if self.underMouse() and self.isEnabled() and not ground:
            color = "text"
            ground = "hover"
        pen = Pen.of_widget(self, self._theme)
        bounds = QRectF(self.rect())
        pad = scaled(_PAD_PX)
        pen.box(bounds.adjusted(1, 1, -1, -1), ground, radius=8)
        if self.hasFocus():
            pen.box(bounds, "", "accent", 8, 2)
        pen.write(self._line(color), pad, bounds.adjusted(0, 0, 1 - pad, 0))


_NAMES = {"ask": text("Ask first", "mode"), "plan": text("Plan", "mode"), "auto": text("Auto", "mode")}
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
        super().__init__("mode", parent)
        self.show_mode("ask")

    def show_mode(self, mode: PermissionMode, *, demo_runs: bool = False, key: str = "") -> None:
        """Show a mode; `demo_runs` says that calls of the demo model run in it without asking.

        `key` switches to the next mode; it stands in the tooltip. The words are the mode's name, or what is
        shorter than "Ask, except demo calls" and does not claim to ask.
        """
        self._mode = mode
        asks_less = demo_runs and mode == "ask"
        tip = translate(_TIPS[mode])
        if demo_runs and mode != "plan":
            tip += "\n" + tr("Demo calls run without asking. Change it in Settings → Permissions.")
        self.setText(translate(_DEMO if asks_less else _NAMES[mode]))
        self.setToolTip(tip_with_key(tip, key))
        self.setAccessibleName(tr("Mode: {mode}", mode=_EXCEPT_DEMO if asks_less else _NAMES[mode]))
        self.setAccessibleDescription(self.toolTip())

    def minimumSizeHint(self) -> QSize:
        """Room for the whole word: it says what runs without a question."""
        return self.sizeHint()

    def colors(self) -> tuple[str, str]:
        if not self.isEnabled() or self._mode == "ask":
            return super().colors()
        return ("accent_text", "accent_soft") if self._mode == "plan" else ("warn", "warn_soft")


PAUSE_MS = 500
_UNSAVED_MS = 2_000  # the longest that typing without a pause stays unsaved
_MAX_WIDTH = 788  # pixels
_MODEL_PX = 220  # of the model's name, at most
_OUTER_PX = 14  # margin of the frame
_LEFT_PX = 14  # margin of what stands in the frame
_RIGHT_PX = 10  # margin of what stands in the frame
_GAP_PX = 8  # between the parts of the line below the text
_BUTTON_PX = 32  # height of the button that sends

_NOT_BROWSING = -1


class MessageHistory(QObject):
    """Browses what the user sent, newest first.

    Up begins in an empty text, or where the cursor stands before all of it; it goes on from the first line of
    an earlier message that was not changed.
    """

    def __init__(self, composer: Composer) -> None:
        super().__init__(composer)
        self._composer = composer
        self._editor = composer.editor
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
        draft = self._draft
        self._draft = ""
        self._at = _NOT_BROWSING
        self._messages = ()
        return draft

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
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
        return QTextCursor(self._editor.textCursor()).movePosition(operation)


class ComposerFrame(Themed, QFrame):
    """Its focus is that of the text in it."""

    def paintEvent(self, event: QPaintEvent) -> None:
        edge = "accent" if self.hasFocus() else "border_strong"
        Pen.of_widget(self, self._theme).box(QRectF(self.rect()), "surface", edge, 14)


class Composer(Themed, QWidget):
    """Emits what is to be sent; keeps nothing but the text on screen."""

    submitted = Signal(str)
    steered = Signal(str)
    """To be sent into the turn that runs, after the step under way."""
    text_paused = Signal(str)
    """The text is worth saving: typing paused, or went on for long."""
    text_changed = Signal(str)
    message_changed = Signal(bool, bool)
    """Whether what is typed can be the reason of a denial, and an answer; it may be as before."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.is_running = False
        """The agent runs: what is sent waits for the end of the turn."""
        self._is_stop_offered = self._has_question = self._is_first = False
        self._option_count = 0  # of the question that waits
        self.approval_count = 0
        self.is_begun_as_denial = False
        """What is typed was begun while calls waited: only that is why they are denied, no message."""
        self._was_empty = True
        self._reasons: tuple[str, ...] = ()
        self._estimate: tuple[str, ...] = ("",)
        self._model_name = self._model_tip = ""
        self.frame = ComposerFrame(self)
        self.editor = Editor(self.frame)
        self.editor.setProperty("kind", "message")
        mark_pane_stop(self.editor)
        self.editor.setAccessibleName(tr("Message"))
        self.history = MessageHistory(self)
        self.completer = Completer(self.editor, self.frame)
        self._chips = AttachmentBar(self.frame)
        tip = tr("Attach files (or paste or drop them)")
        pick = partial(perform, self, PickFiles())
        self._attach = IconButton(
            "paperclip", tip, px=15, edge=COMPOSER_LINE_PX, name="attach", on_click=pick
        )
        self._attach.setAccessibleName(tr("Attach files"))
        self.model_button = ChoiceButton("model", self.frame)
        self.model_button.hide()
        self.mode_button = ModeButton(self.frame)
        self._status = ElidedLabel(role="faint")
        self._note = ElidedLabel(role="faint")
        self._status.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._note.setObjectName("composer_note")
        self._note.setContentsMargins(4, 0, 4, 0)  # below the text, which has a margin of its own
        self._note.hide()
        self._work: tuple[str, ...] = ()  # of a model, by itself
        self._end_work: Callable[[], object] | None = None
        self.stop_work = PushButton(tr("Stop"), "link", name="stop_work")
        self.stop_work.hide()
        self.gauge = ContextGauge(self.frame)
        steer_tip = tr("Ctrl+Shift+Enter. Enter sends it after this turn.")
        self._steer = PushButton(tr("Send after this step"), "filter", name="steer", tip=steer_tip)
        self._steer.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        stop_tip = tr("Stop the turn and all that it runs (Esc Esc)")
        self._stop = SignButton(
            self.frame, Icon("stop", "text", 15), tr("Stop"), stop_tip, "surface", "border_strong"
        )
        self._send = SignButton(self.frame, Icon("arrow-up"), tr("Send"))
        self._stop.setObjectName("stop")
        self._send.setObjectName("send")
        self._pause = QTimer(self, singleShot=True)
        self._unsaved = QElapsedTimer()
        choices = (self._attach, self.model_button, self.mode_button, self._status, self.stop_work)
        self._line: tuple[QWidget, ...] = (*choices, self._steer, self._stop, self.gauge, self._send)
        parts = (self._chips, self.editor, self._note, row(*self._line, gap=_GAP_PX, stretch=3))
        self.frame.setLayout(column(*parts, margins=(_LEFT_PX, 10, _RIGHT_PX, 9), gap=5))
        self.setLayout(centered(self.frame, _MAX_WIDTH, (_OUTER_PX, 0, _OUTER_PX, _OUTER_PX)))
        for button in self._line:
            if isinstance(button, QAbstractButton):
                button.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusProxy(self.editor)
        self.frame.setFocusProxy(self.editor)
        self.editor.installEventFilter(self)
        for submit in (self.editor.submitted, self._send.clicked):
            submit.connect(lambda: self._submit(self.submitted))
        self.editor.textChanged.connect(self._on_text_changed)
        self._pause.timeout.connect(lambda: self.text_paused.emit(self.text()))
        self._chips.left.connect(self.editor.setFocus)
        self._steer.clicked.connect(self.steer)
        self.editor.steer_submitted.connect(self.steer)
        self._stop.clicked.connect(lambda: perform(self, StopAgent()))
        self.stop_work.clicked.connect(lambda: self._end_work() if self._end_work is not None else None)
        self.editor.files_added.connect(lambda files: perform(self, AttachFiles(tuple(files))))
        self.editor.long_text_pasted.connect(lambda text: perform(self, AttachText(text)))
        self.apply_theme()

    def set_enter_sends(self, enabled: bool) -> None:
        """Let Enter send; else Ctrl+Enter does, and Enter breaks the line."""
        self.editor.enter_sends = enabled
        self._refresh()

    def text(self) -> str:
        return self.editor.toPlainText()

    @property
    def is_empty(self) -> bool:
        return not (self.text() or self.editor.is_composing or self._chips.keys)

    @property
    def has_words(self) -> bool:
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
        if running == self.is_running:
            return  # every event of a session says it
        self.is_running = running
        self._is_stop_offered = self._is_stop_offered and running
        self._refresh()

    def show_asks(
        self, approvals: int, has_question: bool = False, options: int = 0, *, is_first: bool = False
    ) -> None:
        """Say what waits: calls for approval, and a question of the agent with so many options.

        What is typed is its answer, or why the calls are denied. The first message is invited: the empty
        field explains its signs then.
        """
        shown = (self.approval_count, self._has_question, self._option_count, self._is_first)
        if shown == (approvals, has_question, options, is_first):
            return
        self.approval_count = approvals
        self._has_question = has_question
        self._option_count = options
        self.is_begun_as_denial = self.is_begun_as_denial and approvals > 0
        self._is_first = is_first
        self._refresh()

    def set_reasons(self, *texts: str) -> None:
        """Say in the empty field what has to be done first, or who answers: the first that fits."""
        if texts != self._reasons:
            self._reasons = texts
            self._refresh()

    def _placeholders(self) -> tuple[str, ...]:
        if self._has_question:
            answer = tr("Type an answer")
            if self._option_count > 1:
                return tr("1–{last} and Enter, or type an answer", last=self._option_count), answer
            return (answer,)
        if self.approval_count > 1 and not self._chips.keys:
            return tr("Deny all: write what to do instead"), tr("Deny all with a reason")
        if self.approval_count and not self._chips.keys:
            return tr("Deny with a reason: write what to do instead"), tr("Deny with a reason")
        if self._reasons:
            return self._reasons
        if self._is_first:
            return tr("Message: @ for files, # for stored outputs, / for commands"), tr("Message")
        return (tr("Message"),)

    def offer_stop(self, is_offered: bool) -> None:
        """Say that Esc stops the agent if it is pressed again; False: not any more."""
        self._is_stop_offered = is_offered and self.is_running
        self._refresh()
        if self._is_stop_offered:
            announce(self.editor, tr("Esc again to stop"))

    def set_estimate(self, *texts: str) -> None:
        """Show how many tokens the text will cost, in the first form that fits; empty hides it."""
        self._estimate = texts
        self._refresh()

    def show_work(self, *texts: str, why: str = "", end: Callable[[], object] | None = None) -> None:
        """Say what a model does by itself, in the first form that fits, and offer to end it."""
        if end is None and self.stop_work.hasFocus():
            self.editor.setFocus(Qt.FocusReason.OtherFocusReason)
        self._work = texts
        self._end_work = end
        self.stop_work.setToolTip(why)
        self.stop_work.setAccessibleName(tr("Stop: {work}", work=self.work_text()))
        self._refresh()

    def work_text(self) -> str:
        return next(iter(self._work), "")

    def set_model(self, name: str, tip: str = "") -> None:
        self._model_name = name
        self._model_tip = tip
        self._show_model()

    def _show_model(self) -> None:
        name = self._model_name
        metrics = face(UI, 500)[1]
        short_name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, scaled(_MODEL_PX))
        tip = self._model_tip if short_name == name else f"{name}\n{self._model_tip}".rstrip()
        self.model_button.setText(short_name)
        self.model_button.setToolTip(plain_tooltip(tip))
        self.model_button.setAccessibleName(tr("Model: {model}", model=name))
        self.model_button.setVisible(bool(name))
        self._fit_line()

    def set_note(self, text: str, is_warning: bool = False) -> None:
        """Say something about the text below it, for example what it attaches; empty hides it."""
        self._note.set_full_text(text)
        self._note.setVisible(bool(text))
        restyle(self._note, "role", "warn" if is_warning else "faint")
        self._refresh()

    def set_attachments(self, chips: Sequence[Chip]) -> None:
        self._chips.show_chips(chips)
        self._refresh()

    def apply_theme(self) -> None:
        super().apply_theme()
        edge = max(_BUTTON_PX, scaled(COMPOSER_LINE_PX))
        self._steer.setFixedHeight(edge)
        for button in (self._stop, self._send):
            button.setFixedSize(edge, edge)
        self._show_model()
        self._refresh()
        QTimer.singleShot(0, self, self._fit_line)  # all buttons have their sizes then

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.frame.update()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_line()

    def _fit_line(self) -> None:
        """Shorten the gauge where the buttons need its room, before any of them is cut."""
        room = min(self.width() - 2 * _OUTER_PX, self.frame.maximumWidth()) - _LEFT_PX - _RIGHT_PX
        taken = sum(
            max(part.minimumWidth(), part.minimumSizeHint().width()) + _GAP_PX
            for part in self._line
            if part not in (self._status, self.gauge) and not part.isHidden()
        )
        self.gauge.fit(room - taken - _GAP_PX)  # one more gap: before the words in the middle

    def _on_text_changed(self) -> None:
        if self._was_empty:
            self.is_begun_as_denial = self.approval_count > 0
        self._was_empty = not self.text()
        if not self._pause.isActive():
            self._unsaved.start()
        self._pause.start(max(0, min(PAUSE_MS, _UNSAVED_MS - self._unsaved.elapsed())))
        self._refresh()
        self.text_changed.emit(self.text())

    @handles(Steer)
    def steer(self) -> None:
        self._submit(self.steered if self.is_running else self.submitted)

    def _submit(self, signal: SignalInstance) -> None:
        self.editor.commit_composition()
        if self.text().strip() or self._chips.keys:
            signal.emit(self.take_text())

    def _refresh(self) -> None:
        ready = bool(self.text().strip() or self._chips.keys)
        answers = self._has_question and not self._chips.keys  # an answer can't have attachments
        denies = self.is_begun_as_denial and self.has_reason
        is_queued = self.is_running and ready and not (answers or denies)
        self.editor.set_placeholders(*self._placeholders())
        self._steer.setVisible(is_queued)
        self._stop.setVisible(self.is_running)
        keys = tr("Enter", "key") if self.editor.enter_sends else tr("Ctrl+Enter", "keys")
        hint = tr("Queue: send after this turn ({keys})", keys=keys)
        if answers:
            hint = tr("Answer the agent's question ({keys})", keys=keys)
        elif self.approval_count > 1 and denies:
            hint = tr("{keys} denies all calls that wait", keys=keys)
        elif denies:
            hint = tr("{keys} denies the call", keys=keys)
        elif not self.is_running:
            hint = tr("Send ({keys})", keys=keys)
        self._send.setToolTip(hint)
        if self._is_stop_offered:
            hint = tr("Esc again to stop")
        restyle(self._status, "role", "small" if self._is_stop_offered else "faint")
        calm = self._estimate if any(self._estimate) else self._work or ("",)
        shown = (hint,) if self._is_stop_offered or denies else calm
        self._status.set_full_text(*shown)
        self.stop_work.setVisible(self._end_work is not None and shown is self._work)
        self._send.setEnabled(ready)
        color, ground = ("on_accent", "accent") if ready else ("faint", "hover")
        self._send.show_look(Icon("clock" if is_queued else "arrow-up", color, 17), ground, ground)
        self.editor.setAccessibleDescription(". ".join(filter(None, (hint, self._note.full_text()))))
        self._fit_line()
        self.message_changed.emit(self.has_reason, self.has_words)
