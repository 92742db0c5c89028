"""What stands above the message field: strips with a button, next messages, and the to-do list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from helix_desktop.domain.choices import SamplePlace
from helix_desktop.domain.messages import QueuedMessage
from helix_desktop.domain.todo import TODO, TodoItem, TodoStatus, parse_items
from helix_desktop.ui.chat.composer.editor import Editor
from helix_desktop.ui.chat.rows.row_types import ChatModel, ToolRow, UserRow
from helix_desktop.ui.chat.style import MAX_COLUMN_WIDTH
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel, TextLine, label, show_text
from helix_desktop.ui.design.layout import (
    ResponsiveRow,
    VerticalScrollArea,
    card,
    centered,
    clear_layout,
    column,
    pane,
    row,
)
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.theme import TextRole
from helix_desktop.ui.kit.intents import Intent, StopAndSend, perform
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_MAX_HEIGHT = 168  # pixels; more than four lines are scrolled
_BUTTON_SIZE = 26  # pixels


# What the messages that wait want, each by its event.
# fmt: off

class EditQueued(Intent, frozen=True):
    seq: int
    text: str
class MoveQueued(Intent, frozen=True):  # up (-1) or down (1)
    seq: int
    by: int
class RemoveQueued(Intent, frozen=True):
    seq: int
class SteerQueued(Intent, frozen=True):  # send it after this step, or (False) after this turn
    seq: int
    is_on: bool
class SendQueued(Intent, frozen=True): ...  # the first one, in a queue that is paused
# an edit that was under way when its message was sent
class PutIntoMessage(Intent, frozen=True):
    text: str

# fmt: on


class QueueLine(QWidget):
    """A message on one line; a double click on its words changes it. Enter keeps a change, Esc does not."""

    def __init__(self, message: QueuedMessage, on_resized: Callable[[], object]) -> None:
        super().__init__()
        self.message = message
        self._is_call_running = False
        self._on_resized = on_resized
        self._sign = IconLabel("clock", px=14)
        self._text_label = ElidedLabel(role="muted")
        self._badge = label(tr("After this step"), "faint")
        self.field = Editor()
        self.field.setProperty("kind", "queued")
        self.field.setAccessibleName(tr("Queued message"))
        self.field.hide()
        self.field.submitted.connect(self._save_edit)
        self.field.textChanged.connect(on_resized)
        seq = message.seq
        small = partial(IconButton, px=14, edge=_BUTTON_SIZE)

        def want(intent: Intent) -> Callable[[], None]:
            return partial(perform, self, intent)

        tip = tr("Stop the running command and send this message now")
        self._send_now = PushButton(
            tr("Stop and send now"), "link", "circle-stop", px=13, name="stop_and_send", tip=tip,
            on_click=want(StopAndSend(seq)),
        )  # fmt: skip
        self._steer = PushButton(
            tr("Send after this step"), "link", "zap", px=13, name="steer", on_click=self._turn_steer
        )
        self._unsteer = small("clock", tr("Send after this turn"), name="unsteer", on_click=self._turn_steer)
        self._edit = small("pencil", tr("Edit"), name="edit", on_click=self.begin_edit)
        self._up = small("chevron-up", tr("Move up"), name="earlier", on_click=want(MoveQueued(seq, -1)))
        self._down = small("chevron-down", tr("Move down"), name="later", on_click=want(MoveQueued(seq, 1)))
        last = small("x", tr("Remove from queue"), name="remove", on_click=want(RemoveQueued(seq)))
        self._buttons = (self._send_now, self._steer, self._unsteer, self._edit, self._up, self._down, last)
        words = (self._sign, 6, self._text_label, self.field, self._badge, 6)
        line = row(*words, *self._buttons, gap=2, stretch=2)
        line.setStretch(3, 1)
        self.setLayout(line)

    def _turn_steer(self) -> None:
        perform(self, SteerQueued(self.message.seq, not self.message.steer))

    def show_message(
        self, message: QueuedMessage, attached: Sequence[str], first: bool, last: bool, is_call_running: bool
    ) -> None:
        """Show it as it is now, with the names of its attachments; words that are being changed stay."""
        self.message = message
        self._is_call_running = is_call_running
        self._send_now.setVisible(is_call_running and self.field.isHidden())
        text = dotted((*attached, " ".join(message.text.split())))
        self._text_label.set_full_text(text)
        self._sign.show_icon(*(("zap", "accent_text") if message.steer else ("clock", "faint")))
        self._show_steer(self.field.isHidden())
        self._up.setEnabled(not first)
        self._down.setEnabled(not last)
        for button in self._buttons:
            button.setAccessibleDescription(text)

    @property
    def unsaved_edit(self) -> str:
        text = self.field.toPlainText()
        return text if not self.field.isHidden() and text != self.message.text else ""

    def begin_edit(self) -> None:
        self.field.setPlainText(self.message.text)
        self._show_field(True)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)

    def _end_edit(self) -> None:
        self._show_field(False)
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)
        self._on_resized()

    def _save_edit(self) -> None:
        text = self.field.toPlainText()
        if text.strip():
            perform(self, EditQueued(self.message.seq, text))
            self.message = QueuedMessage(self.message.seq, text, self.message.steer)
        self._end_edit()

    def _show_field(self, visible: bool) -> None:
        self.field.setVisible(visible)
        for part in (self._text_label, *self._buttons):
            part.setVisible(not visible)
        self._send_now.setVisible(not visible and self._is_call_running)
        self._show_steer(not visible)

    def _show_steer(self, is_shown: bool) -> None:
        offered, other = (self._steer, self._unsteer)[:: -1 if self.message.steer else 1]
        is_focused = other.hasFocus()
        self._badge.setVisible(self.message.steer)
        offered.setVisible(is_shown)
        if is_focused:
            offered.setFocus(Qt.FocusReason.OtherFocusReason)
        other.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not self.field.isHidden():
            self._end_edit()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.childAt(event.position().toPoint()) is self._text_label:
            self.begin_edit()


_PLACE_PX = 22  # from the icon of a suggestion to its words


class NextMessages(QWidget):
    """Messages that wait for their turn, else one that the user may send."""

    suggestion_accepted = Signal(str)
    """The user wants to send the message that is proposed."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[int, QueueLine] = {}
        self._suggestion = ""
        self._is_past = False
        send = partial(PushButton, icon_name="corner-down-left", px=13)
        self._title = ElidedLabel(role="faint")
        self._send_queued = send(
            tr("Send now"), name="send_now", on_click=partial(perform, self, SendQueued())
        )
        self._column = column(gap=1)
        self._scroll = VerticalScrollArea(pane(self._column, "page"))
        self._queue = pane(column(row(self._title, self._send_queued, stretch=0), self._scroll, gap=2))
        self._queue.hide()
        # A field grows as it is typed into; how tall it is stands only after this turn of the loop.
        self._fit_timer = QTimer(self, singleShot=True, interval=0)
        self._fit_timer.timeout.connect(self._fit_height)
        self._caption = ElidedLabel(role="muted")
        self._place_label = label("", "faint", wrap=True)
        self._send = send(f" {tr('Send')}", name="send_suggestion")
        self._send.clicked.connect(lambda: self.suggestion_accepted.emit(self._suggestion))
        parts = row(IconLabel("sparkles", px=14), self._caption, self._send, stretch=1)
        self._line = pane(column(parts, row(self._place_label, margins=(_PLACE_PX, 0, 0, 0)), gap=2))
        self.frame = pane(column(self._queue, self._line, margins=(2, 2, 2, 8), gap=4))
        self.setLayout(centered(self.frame, MAX_COLUMN_WIDTH, (14, 0, 14, 0)))
        self.hide()

    @property
    def waiting(self) -> tuple[QueuedMessage, ...]:
        return tuple(line.message for line in self._lines.values())

    def line(self, seq: int) -> QueueLine:
        return self._lines[seq]

    @property
    def lines(self) -> tuple[str, ...]:
        waiting = (" ".join(message.text.split()) for message in self.waiting)
        return (*waiting, *(() if self._line.isHidden() else (self._suggestion,)))

    def show_queued(
        self,
        waiting: Sequence[QueuedMessage],
        is_paused: bool = False,
        is_call_running: bool = False,
        suggestion: str = "",
        attached: Mapping[int, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Show the messages to send when the agent is ready or, if `is_paused`, when the user says so.

        While a call runs, each can be sent at once. `attached` has the names of what goes along with them.
        """
        for gone in self._lines.keys() - {message.seq for message in waiting}:
            line = self._lines.pop(gone)
            if line.unsaved_edit:
                perform(self, PutIntoMessage(line.unsaved_edit))
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        former = self._lines
        self._lines = {}
        for place, message in enumerate(waiting):
            line = former.get(message.seq) or QueueLine(message, self._fit_timer.start)
            names = attached.get(message.seq, ())
            is_last = place == len(waiting) - 1
            line.show_message(message, names, place == 0, is_last, is_call_running)
            if self._column.indexOf(line) != place:
                self._column.insertWidget(place, line)
            self._lines[message.seq] = line
        title = tr("Queued: sent after this turn")
        if is_paused:
            title = tr("Queue paused")
        elif any(message.steer for message in waiting):  # those say so in their line
            title = tr("Queued")
        self._title.set_full_text(title)
        self._send_queued.setVisible(is_paused)
        self._queue.setVisible(bool(waiting))
        self._fit_timer.start()
        self._suggestion = suggestion
        self._update_line()

    def _fit_height(self) -> None:
        self._scroll.setFixedHeight(min(_MAX_HEIGHT, self._column.sizeHint().height()))

    def show_suggestion(self, text: str, place: SamplePlace = "") -> None:
        self._caption.set_full_text(tr("Suggested next: {message}", message=text))
        self._send.setAccessibleDescription(text)
        places = {
            "timeline": tr("Then open Timeline: it shows what left the context, with Undo."),
            "cache": tr("Then open Outputs: it has every output, byte for byte, with Recall."),
        }
        show_text(self._place_label, places.get(place, ""))
        self.show_queued((), suggestion=text)

    def show_past(self, is_past: bool) -> None:
        """Offer nothing while an earlier step is on screen: the message would follow another answer."""
        self._is_past = is_past
        self._update_line()

    def _update_line(self) -> None:
        self._line.setVisible(bool(self._suggestion) and not self._is_past)
        self.setVisible(bool(self._lines) or not self._line.isHidden())


_STRIP_WIDTH = 788  # pixels
_TEXT_PX = 260  # that a longer text keeps beside the button; else it stands below


class ComposerStrip(QWidget):
    def __init__(self, icon_name: str, color_token: str, button: str) -> None:
        super().__init__()
        self.button = PushButton(button, "primary", name="strip_action")
        self._title = label("", "strong", wrap=True)
        self._text = label("", "muted", wrap=True)
        text = pane(column(self._title, self._text, gap=2))
        message = ResponsiveRow(text, [self.button], _TEXT_PX)
        picture = IconLabel(icon_name, px=19, color_token=color_token)
        self.frame: QFrame = card(row(picture, message, margins=(16, 11, 12, 11), gap=12, stretch=1))
        self.setLayout(centered(self.frame, _STRIP_WIDTH, (14, 4, 14, 4)))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_text(self, title: str, text: str) -> None:
        self._title.setText(title)
        self._text.setText(text)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)


_MAX_WIDTH = MAX_COLUMN_WIDTH - 32  # pixels; between the round corners of the message field
_MAX_LIST_PX = 136  # pixels
_MAX_LOOKBACK_ROWS = 400  # rows; an older list says nothing of the work under way
_ICONS: dict[TodoStatus, tuple[str, str]] = {  # with the tokens of their colors
    "done": ("check", "ok"),
    "in_progress": ("circle-dot", "accent"),
    "pending": ("circle", "faint"),
}


class _ItemList(QScrollArea):
    """The list; it takes the keyboard when there is something to scroll."""

    accessible_role = QAccessible.Role.Grouping


class TodoPanel(QWidget):
    """The newest list of the turn that runs; hidden when that ends."""

    def __init__(self, model: ChatModel) -> None:
        super().__init__()
        self._model = model
        self._running = False
        self.items: tuple[TodoItem, ...] = ()
        self._list = column(margins=(16, 10, 14, 8), gap=4)
        inside = pane(self._list, "page")
        self.frame = _ItemList()
        self.frame.setObjectName("todo")
        self.frame.setAccessibleName(tr("To-do list"))
        self.frame.setWidgetResizable(True)
        self.frame.setWidget(inside)
        self.setLayout(centered(self.frame, _MAX_WIDTH, (26, 5, 26, 0)))
        for changed in (model.rows_reset, model.row_added, model.rows_changed):
            changed.connect(self._update_list)
        self.hide()

    def set_running(self, running: bool) -> None:
        self._running = running
        self._update_list()

    def _update_list(self) -> None:
        items = self._newest_items() if self._running else ()
        if items != self.items:
            self.items = items
            self._show_items()
        self.setVisible(bool(items))

    def _newest_items(self) -> tuple[TodoItem, ...]:
        rows = self._model.raw_rows()
        for at in range(len(rows) - 1, max(-1, len(rows) - _MAX_LOOKBACK_ROWS), -1):
            newest = rows[at]
            if isinstance(newest, ToolRow) and newest.state not in ("failed", "denied"):
                items = parse_items(newest.call.arguments) if newest.call.name == TODO else ()
                if items:
                    return items
            if isinstance(newest, UserRow) and not newest.steered and not newest.is_side:
                return ()
        return ()

    def _show_items(self) -> None:
        clear_layout(self._list)
        for item in self.items:
            content = escape_invisible(item.content)
            is_current = item.status == "in_progress"
            role: TextRole = "muted" if item.status == "done" else "text"
            words = TextLine(content, 13, 500 if is_current else 400, role=role)
            spoken = {
                "done": tr("Done: {item}", item=content),
                "in_progress": tr("In progress: {item}", item=content),
                "pending": tr("To do: {item}", item=content),
            }
            words.setAccessibleName(spoken[item.status])
            icon_name, color = _ICONS[item.status]
            icon = IconLabel(icon_name, color_token=color)
            line = pane(row(icon, words, gap=10, stretch=1))
            self._list.addWidget(line)
            line.show()  # in a list that is in sight, Qt counts it into the height only then
        height = self._list.sizeHint().height()
        overflows = height > _MAX_LIST_PX
        self.frame.setFocusPolicy(Qt.FocusPolicy.StrongFocus if overflows else Qt.FocusPolicy.NoFocus)
        self.frame.setFixedHeight(min(height, _MAX_LIST_PX) + 2)
        statuses = [item.status for item in self.items]
        # One above the item in progress is left in sight.
        above = max(0, statuses.index("in_progress") - 1) if "in_progress" in statuses else 0
        self.frame.verticalScrollBar().setValue(above * height // max(1, len(self.items)))
