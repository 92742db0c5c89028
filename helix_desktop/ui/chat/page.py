"""The chat page: the conversation, the field to find words in it, and the composer with its strips."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from helix_desktop.domain.question import ServerQuestion
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.chat.composer.attachment_chips import AttachEntries, AttachFiles
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.editor import DROPPED_IMAGE, AddedFile, files_from_mime
from helix_desktop.ui.chat.composer.strips import ComposerStrip, NextMessages, TodoPanel
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ChatModel, QuestionRow
from helix_desktop.ui.chat.viewport.view import ChatView, is_typed
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.drops import DragContent, DropHint, answer_drag, read_drag
from helix_desktop.ui.design.layout import PageArea, column
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.design.viewer.content_viewer import FindLine
from helix_desktop.ui.kit.intents import AddProvider, ImportSessions, LookAtStep, perform
from helix_desktop.ui.rows.list_view import SCROLL_BAR_PX
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_LOADING_AFTER_MS = 250  # most sessions are there before one could read it


class MessageDrops(QObject):
    """Takes what can go along with the next message; the sign for it stands over the composer."""

    def __init__(self, place: QWidget, composer: Composer, hint: DropHint, *, takes_folders: bool) -> None:
        """Without `takes_folders`, a folder is left to the window, which opens it."""
        super().__init__(place)
        self._composer = composer
        self._hint = hint
        self._takes_folders = takes_folders
        place.setAcceptDrops(True)
        place.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent):
            dragged = read_drag(event.mimeData())
            takes = dragged.is_for_message and (self._takes_folders or not dragged.folders)
            if not takes or dragged.archive is not None:  # the window imports that
                event.ignore()
                return True
            is_refusal = not self._composer.isEnabled()
            words = tr("No message can be written here now.") if is_refusal else _words(dragged)
            self._hint.show_text(words, is_refusal=is_refusal)
            answer_drag(event, is_accepted=True)
        elif isinstance(event, QDragMoveEvent):
            answer_drag(event, is_accepted=not self._hint.is_refusal)
        elif isinstance(event, QDropEvent):
            self._hint.hide()
            answer_drag(event, is_accepted=self._composer.isEnabled())
            if self._composer.isEnabled():
                self._drop(event, read_drag(event.mimeData()))
        elif event.type() is QEvent.Type.DragLeave:
            self._hint.hide()
        else:
            return False
        return True

    def _drop(self, event: QDropEvent, dragged: DragContent) -> None:
        if dragged.digests:
            perform(self._composer, AttachEntries(tuple(dragged.digests)))
            return
        if dragged.has_text:
            self._composer.editor.insert_dropped(event.mimeData())
            self._composer.editor.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        paths = (*dragged.files, *dragged.folders)
        files = [AddedFile(path.name, path) for path in paths]
        files = files or files_from_mime(event.mimeData(), DROPPED_IMAGE)
        if files:
            perform(self._composer, AttachFiles(tuple(files)))


def _words(dragged: DragContent) -> str:
    if dragged.digests:
        count = len(dragged.digests)
        return tr.plural(
            count, "Drop to recall %n output into the message",
            "Drop to recall %n outputs into the message",
        )  # fmt: skip
    if dragged.has_text:
        return tr("Drop to insert the text into the message")
    files = len(dragged.files)
    folders = len(dragged.folders)
    if dragged.left_out:
        return tr.plural(
            dragged.left_out, "Drop to attach the first {count}. %n more is too many at once.",
            "Drop to attach the first {count}. %n more are too many at once.", count=files + folders,
        )  # fmt: skip
    if files and folders:
        names = tr.plural(folders, "the list of %n folder", "the lists of %n folders")
        return tr.plural(
            files, "Drop to attach %n file and {lists}", "Drop to attach %n files and {lists}", lists=names
        )
    if folders > 1:
        return tr("Drop to attach the lists of files in {count} folders", count=folders)
    if folders:
        folder = escape_hidden_name(dragged.folders[0].name)
        return tr("Drop to attach a list of the files in “{folder}”", folder=folder)
    if files:
        return tr.plural(files, "Drop to attach %n file", "Drop to attach %n files")
    return tr("Drop to attach the image")


class ChatFindBar(FindLine):
    def __init__(self, view: ChatView) -> None:
        super().__init__(tr("Find in this session"))
        self._view = view
        self._only_marks = False
        self.field.textChanged.connect(lambda _: self.step(-1))
        view.finder.finished.connect(lambda _: self._show_result())
        view.finder.counter.changed.connect(self._show_result)
        view.chat_viewport.model.rows_reset.connect(self._find_again)
        self.hide()

    def mark(self, text: str) -> None:
        """Mark a text where it stands in the conversation, without going anywhere; F3 goes on from there."""
        with QSignalBlocker(self.field):
            self.field.setText(text)
        self.show()
        self._only_marks = True
        self._view.mark_text(text)

    def close_bar(self) -> None:
        self._only_marks = False
        self._view.find_text("")
        self.hide()
        self._view.setFocus()

    def step(self, offset: int) -> None:
        self._only_marks = False
        self._view.find_text(self.field.text(), offset)

    def _find_again(self) -> None:
        """Mark the words in the rows of another session; those of one message end with its session."""
        if self._only_marks:
            self._only_marks = False
            self.hide()
        elif not self.isHidden():
            self._view.mark_text(self.field.text())
            self._show_result()

    def _show_result(self) -> None:
        counter = self._view.finder.counter
        if self._only_marks and counter.is_done and not counter.total:
            self.close_bar()  # it stands in the head of a card, which has no marks
            return
        previous = self.count.text
        text = self._result_text()
        self.count.set_text(text)
        if text and text != previous and counter.is_done:
            self._view.announce(text)

    def _result_text(self) -> str:
        finder = self._view.finder
        count = finder.counter
        if not finder.query:
            return ""
        if count.is_done and not count.total:
            return tr("No results")
        place = finder.position
        total = format_integer(count.total)
        total = total if count.is_done else tr("{number}+", "more than a number", number=total)
        return total if place is None else tr("{place} of {total}", place=place, total=total)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() == Qt.Key.Key_Escape:
            event.ignore()  # it counts for the window's Esc Esc, too


class ChatPage(Themed, QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._offers_model = False  # in place of a first message
        self.model = ChatModel(self)
        self.view = ChatView(self.model, current_theme())
        self.composer = Composer()
        self.find_bar = ChatFindBar(self.view)
        self.next_messages = NextMessages()
        self.trust_strip = ComposerStrip("shield-question-mark", "accent_text", tr("Trust folder…"))
        restricted = tr("Restricted mode: nothing runs or is sent. You can view sessions and outputs.")
        self.trust_strip.show_text(tr("This folder isn't trusted"), restricted)
        self.past_strip = ComposerStrip("history", "accent_text", tr("Back to now"))
        self.past_strip.button.clicked.connect(partial(perform, self, LookAtStep(0)))
        self.key_strip = ComposerStrip("shield-alert", "warn", tr("Enter API key…"))
        self.todo_panel = TodoPanel(self.model)
        self.empty_state = EmptyState("message-square", "")
        # Hidden too it would ask for its height, which a low window has to give to the composer.
        self.empty_state.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.loading = EmptyState("message-square", tr("Loading…"))
        self.loading.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self._loading_timer = QTimer(self, singleShot=True, interval=_LOADING_AFTER_MS)
        self.empty_state.button_clicked.connect(self._on_empty_action)
        self.empty_state.link_clicked.connect(lambda: perform(self, ImportSessions()))
        self.composer.editor.scroll_key_pressed.connect(self.view.keyPressEvent)
        self.set_writable(True)
        suggested = self.next_messages.suggestion_accepted
        suggested.connect(lambda _: self.composer.editor.setFocus())  # its button goes away
        for signal in (self.composer.submitted, self.composer.steered, suggested):
            signal.connect(lambda _: self._show_end())
        self.composer.message_changed.connect(self.view.show_message)
        self.drop_hint = DropHint(self.composer.frame)
        MessageDrops(self.composer, self.composer, self.drop_hint, takes_folders=True)
        MessageDrops(self, self.composer, self.drop_hint, takes_folders=False)
        self.view.typed.connect(self._type_in_composer)
        for takes_keys in (self.view, self.composer.editor):
            takes_keys.installEventFilter(self)
        self.composer.text_changed.connect(lambda text: text and self._take_numbers())
        self._pages = PageArea(self)
        for place in (self.view, self.empty_state, self.loading):
            self._pages.addWidget(place)
        self._loading_timer.timeout.connect(lambda: self._pages.setCurrentWidget(self.loading))
        for changed in (self.model.rows_reset, self.model.row_added, self.model.row_removed):
            changed.connect(self._update_page)
        strips = (self.past_strip, self.trust_strip, self.key_strip)
        parts = (self.next_messages, *strips, self.todo_panel, self.composer)
        self._frame_widths = {part.frame: part.frame.maximumWidth() for part in parts}  # at 100 %
        below = column(*parts, margins=(0, 0, SCROLL_BAR_PX, 0), gap=0)
        stack = column(self.find_bar, self._pages, below, gap=0)
        stack.setStretch(1, 1)
        self.setLayout(stack)
        self.apply_theme()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """F3 goes on finding from anywhere on the page, with Shift back; Esc leads to the composer, too."""
        if event.key() == Qt.Key.Key_Escape and self.view.isAncestorOf(QApplication.focusWidget() or self):
            self.composer.editor.setFocus()
        if event.key() != Qt.Key.Key_F3:  # Esc counts for the window's Esc Esc, too
            super().keyPressEvent(event)
        elif self.find_bar.isVisible() and self.find_bar.field.text():
            self.find_bar.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            self.find_bar.open_bar()

    def _type_in_composer(self, text: str) -> None:
        if self.composer.isEnabled():
            self.composer.editor.setFocus(Qt.FocusReason.OtherFocusReason)
            self.composer.editor.type_text(text)

    def set_writable(self, is_writable: bool, *, has_model: bool = True, demo_runs: bool = False) -> None:
        """Let the user write, or only read; an empty conversation invites to write only where they can.

        Where nobody but the demo model would answer in a folder of the user's (`has_model`), it offers to
        connect a model. `demo_runs`: calls of the demo model run without asking.
        """
        self.composer.setEnabled(is_writable)
        self._offers_model = is_writable and not has_model
        # Every session starts in mode ask, and is no longer empty once that was changed.
        words = tr("Start a conversation. The agent asks before edits, and commands that do more than read.")
        action = tr("Write a message")
        if self._offers_model:
            words = tr(
                "Only the demo model is here, which knows its sample alone. Add a model with an API key, or "
                "a server that runs on this computer."
            )
            action = tr("Connect a model")
        elif demo_runs:
            words = tr("Start a conversation. Demo calls run without asking.")
        if is_writable:
            self.empty_state.set_content(words, action, tr("Continue a session of another agent…"))
        else:
            self.empty_state.set_content(tr("No messages yet."))

    def _on_empty_action(self) -> None:
        if self._offers_model:
            perform(self, AddProvider())
        else:
            self.composer.editor.setFocus()

    @property
    def question(self) -> QuestionRow | None:
        """The first question that waits; None if that is a server's: no text answers it."""
        row = next((row for row in self.model.asks() if isinstance(row, QuestionRow)), None)
        return None if row is None or isinstance(row.question, ServerQuestion) else row

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let a question have the keys that no text field takes, and those of an empty composer.

        A number marks an option; then Enter sends what is marked, Backspace and Esc take it back.
        """
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        row = self.question
        key = event.key()
        text = event.text()
        if row is None or not (self.composer.is_empty and self.composer.isEnabled()):
            return False
        items = self.view.chat_viewport.item_cache
        writes = is_typed(event) or text == " "
        numbers = items.typed_numbers.get(row.key, "")
        options = row.question.options if writes else ()
        is_number = text.isdecimal() and text.isascii() and 1 <= int(text) <= len(options)
        if numbers and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.view.answer_with_marked(self.model.index_of(row.key) or 0)
        elif numbers and key in (Qt.Key.Key_Backspace, Qt.Key.Key_Escape):
            self._take_numbers()
        elif is_number and (row.question.multiple or not numbers):
            items.typed_numbers[row.key] = numbers + text
            self._mark(row, int(text))
            option = options[int(text) - 1].label
            words = tr("Marked: {option}. Enter to answer.", option=option)
            is_marked = option in items.chosen(row)
            self.view.announce(words if is_marked else tr("No longer marked: {option}", option=option))
        elif writes and numbers:  # then both are the message's text
            self._type_in_composer(self._take_numbers() + text)
        else:
            return False
        return True

    def _mark(self, row: QuestionRow, number: int) -> None:
        index = self.model.index_of(row.key)
        if index is not None:
            self.view.mark_option(index, number)

    def _take_numbers(self) -> str:
        """Return the numbers that were typed, and undo what they marked: they are a text, or nothing."""
        if (row := self.question) is None:
            return ""
        numbers = self.view.chat_viewport.item_cache.typed_numbers.pop(row.key, "")
        for number in numbers:
            self._mark(row, int(number))
        return numbers

    def _show_end(self) -> None:
        if self.composer.approval_count <= 1:
            self.view.chat_viewport.go_to_end()

    def _update_page(self) -> None:
        asks = self.model.asks()
        questions = (row for row in asks if isinstance(row, QuestionRow) and not row.is_late)
        first = next((row.question for row in questions), None)
        is_answered_here = first is not None and not isinstance(first, ServerQuestion)
        approvals = sum(isinstance(row, ApprovalRow) for row in asks)
        options = len(first.options) if first else 0
        is_first = not (len(self.model) or self.model.is_loading)
        self.composer.show_asks(approvals, is_answered_here, options, is_first=is_first)
        self._loading_timer.stop()
        if self.model.is_loading and not len(self.model):
            self._loading_timer.start()
        has_rows = len(self.model) or self.model.is_loading
        self._pages.setCurrentWidget(self.view if has_rows else self.empty_state)

    def apply_theme(self) -> None:
        for frame, width in self._frame_widths.items():
            frame.setMaximumWidth(scaled(width))
