"""Questions to the user that coroutines await; open() and a future, never a nested event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractScrollArea, QDialog, QFileDialog, QLineEdit, QWidget
from shiboken6 import isValid

from helix_desktop import APP_NAME
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import BY_KEYBOARD
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column, row
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.words.translation import Translator, translate

tr = Translator("Controls")

_WIDTH_PX = 420
_LAST_FOLDER = "last_folder"
"""Property of a window: the folder of the file that was chosen last, as a string."""


class DialogChoice(msgspec.Struct, frozen=True):
    """One answer to a question; `danger` paints it as one that takes something away."""

    id: str
    text: str
    kind: Literal["", "primary", "danger"] = ""


class _Dialog(FittedDialog):
    def __init__(self, parent: QWidget | None, title: str) -> None:
        super().__init__(parent, title, _WIDTH_PX)
        self.answer = ""

    def choose(self, answer: str) -> None:
        self.answer = answer
        self.accept()


class QuestionDialog(_Dialog):
    """A sentence, why it is asked, and its answers; Esc answers nothing.

    The primary answer has the keyboard; where none is, the first.
    """

    icon_style = ("circle-question-mark", "accent_text")
    """The icon before the words, and the token of its color."""

    def __init__(self, parent: QWidget | None, what: str, why: str, choices: Sequence[DialogChoice]) -> None:
        super().__init__(parent, what)
        buttons = []
        for choice in choices:
            button = PushButton(choice.text, choice.kind, name=choice.id or "cancel")
            button.clicked.connect(lambda _=False, choice_id=choice.id: self.choose(choice_id))
            buttons.append(button)
        kinds = [choice.kind for choice in choices]
        self._main = buttons[kinds.index("primary") if "primary" in kinds else 0]
        words = column(label(what, "title", wrap=True), gap=6)
        if why:
            words.addWidget(label(why, "muted", wrap=True))
        icon, color = self.icon_style
        face = IconLabel(icon, px=20, color_token=color)
        head = row(face, words, gap=12, stretch=1, top=[face])
        self.setLayout(column(head, 10, FlowBox(buttons, right_from=0), margins=DIALOG_MARGINS))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._main.setFocus()


class ChoiceDialog(_Dialog):
    """A title, and below it one choice a line, each with what it means; Esc chooses nothing."""

    def __init__(self, parent: QWidget, title: str, choices: Sequence[tuple[str, str, str]]) -> None:
        """`choices` are an id, a name and a sentence each."""
        super().__init__(parent, title)
        body = column(label(title, "title", wrap=True), margins=DIALOG_MARGINS, gap=4)
        for choice_id, name, note in choices:
            button = PushButton(name, name=choice_id)
            button.setAccessibleDescription(note)
            button.clicked.connect(lambda _=False, choice_id=choice_id: self.choose(choice_id))
            body.addSpacing(6)
            body.addWidget(button)
            body.addWidget(label(note, "faint", wrap=True))
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        body.addSpacing(10)
        body.addWidget(FlowBox([cancel], right_from=0))
        self.setLayout(body)


class ErrorDialog(QuestionDialog):
    icon_style = ("circle-alert", "error")

    def __init__(self, parent: QWidget | None, error: HelixError) -> None:
        what = translate(error.what)
        why = translate(error.why)
        fix = translate(error.fix)
        why = "\n\n".join(filter(None, (why, fix)))
        super().__init__(parent, what, why, (DialogChoice("", tr("Close"), "primary"),))
        self.setWindowTitle(APP_NAME)
        self.setAccessibleName(what)
        self.setAccessibleDescription(why)
        self._main.setDefault(True)


class TextInputDialog(_Dialog):
    """A sentence and one line of text to fill in; an empty text cannot be accepted."""

    def __init__(self, parent: QWidget, what: str, text: str, accept_label: str, why: str = "") -> None:
        super().__init__(parent, what)
        self.field = QLineEdit(text)
        self.field.setAccessibleName(what)
        self.field.selectAll()
        self._ok = PushButton(accept_label or tr("OK"), "primary", name="accept", on_click=self.accept)
        self._ok.setDefault(True)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        self.field.textChanged.connect(lambda now: self._ok.setEnabled(bool(now.strip())))
        self._ok.setEnabled(bool(text.strip()))
        words = column(label(what, "title", wrap=True), gap=5)
        if why:
            words.addWidget(label(why, "muted", wrap=True))
        buttons = FlowBox([cancel, self._ok], right_from=0)
        self.setLayout(column(words, self.field, 8, buttons, margins=DIALOG_MARGINS, gap=10))


async def exec_async(dialog: QDialog) -> bool:
    """Open a dialog, in the colors of its window, and wait until it is closed; true when it was accepted.

    A canceled wait closes it.
    """
    done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def settle(result: int) -> None:
        if not done.done():
            done.set_result(result == QDialog.DialogCode.Accepted.value)

    dialog.finished.connect(settle)
    keeper = _KeyboardSign(dialog)
    try:
        dialog.open()
        return await done
    finally:
        _close(dialog)
        keeper.give_back()


class _KeyboardSign(QObject):
    """Keeps what says that a window is used by the keyboard while a dialog is open over it.

    Qt takes it away when the window becomes active again: what has the focus there would have no ring.
    """

    def __init__(self, dialog: QDialog) -> None:
        opener = dialog.parentWidget()
        window = opener.window() if opener is not None else None
        is_by_keyboard = window is not None and window.testAttribute(BY_KEYBOARD)
        self._window = window if is_by_keyboard else None
        super().__init__(self._window)

    def give_back(self) -> None:
        """Let the window show its focus as before: now, and when it becomes active."""
        window = self._window
        if window is None or not isValid(window):
            return
        if window.isActiveWindow():
            self._show()
        else:
            window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self, self._show)
        return False

    def _show(self) -> None:
        assert self._window is not None  # else it waits for none
        self._window.setAttribute(BY_KEYBOARD)
        focused = self._window.focusWidget()
        if focused is not None:
            painted = focused.viewport() if isinstance(focused, QAbstractScrollArea) else focused
            painted.update()
        self.deleteLater()


def _close(dialog: QDialog) -> None:
    """Close a dialog with the boxes that it has opened itself, and let it go when none needs it any more."""
    boxes = [box for box in dialog.findChildren(QDialog) if box.isVisible()]
    if boxes:
        # Qt's file dialog asks in a loop of its own, and its box lives on the stack of a call of the dialog:
        # the dialog may only go after that call has come to its end.
        boxes[0].destroyed.connect(dialog.deleteLater)
    for box in reversed(boxes):
        box.done(QDialog.DialogCode.Rejected.value)
    dialog.close()
    if not boxes:
        dialog.deleteLater()


async def ask(parent: QWidget, what: str, why: str, choices: Sequence[DialogChoice]) -> str:
    """Ask one question; returns the id of the answer, or an empty string when it was left with Esc."""
    dialog = QuestionDialog(parent, what, why, choices)
    await exec_async(dialog)
    return dialog.answer


async def confirm(
    parent: QWidget, what: str, why: str, name: str, words: str, kind: Literal["primary", "danger"] = "danger"
) -> bool:
    """Ask whether to go on; return True if the user pressed the button with these words, not Cancel."""
    return bool(
        await ask(parent, what, why, (DialogChoice("", tr("Cancel")), DialogChoice(name, words, kind)))
    )


async def choose(parent: QWidget, title: str, choices: Sequence[tuple[str, str, str]]) -> str:
    """Let the user choose one; returns its id, or an empty string when it was left with Esc."""
    dialog = ChoiceDialog(parent, title, choices)
    await exec_async(dialog)
    return dialog.answer


async def show_error_dialog(error: HelixError, appearance: Appearance) -> None:
    await exec_async(ErrorDialog(None, error))


async def get_text(
    parent: QWidget, what: str, text: str = "", accept_label: str = "", why: str = ""
) -> str | None:
    """Ask for one line of text, stripped; None when it was left with Esc or Cancel."""
    dialog = TextInputDialog(parent, what, text, accept_label, why)
    return dialog.field.text().strip() if await exec_async(dialog) else None


async def pick_folder(parent: QWidget, title: str, start: Path | None = None) -> Path | None:
    """Let the user choose an existing folder, with the system's own dialog; None when canceled."""
    dialog = QFileDialog(parent, title, str(start) if start else "")
    dialog.setOption(QFileDialog.Option.ShowDirsOnly, True)
    return next(iter(await _pick(dialog, QFileDialog.FileMode.Directory)), None)


async def pick_file(parent: QWidget, title: str, name_filter: str) -> Path | None:
    """Let the user choose an existing file of some kinds, as Qt writes them; None when canceled.

    It starts in the folder that was chosen last in this window, else at home.
    """
    window = parent.window()
    dialog = QFileDialog(parent, title, str(window.property(_LAST_FOLDER) or Path.home()), name_filter)
    return next(iter(await _pick(dialog, QFileDialog.FileMode.ExistingFile, window)), None)


async def pick_open_files(parent: QWidget, title: str, name_filter: str, start: Path) -> list[Path]:
    """Ask for existing files, in `start` at first, `name_filter` as Qt filters them; none when canceled."""
    return await _pick(
        QFileDialog(parent, title, str(start), name_filter), QFileDialog.FileMode.ExistingFiles
    )


async def pick_save_file(parent: QWidget, title: str, name: str, suffix: str = "") -> Path | None:
    """Let the user choose where to save a file, with a name to start from; None when canceled.

    It starts in the folder that was chosen last in this window, else at home. A name that does not end in
    `suffix` gets it; where there is such a file, the dialog comes back, and asks whether to replace it.
    """
    window = parent.window()
    dialog = QFileDialog(parent, title, str(window.property(_LAST_FOLDER) or Path.home()))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(suffix.removeprefix("."))
    dialog.selectFile(name)
    path = next(iter(await _pick(dialog, QFileDialog.FileMode.AnyFile, window)), None)
    if path is None or path.name.endswith(suffix):
        return path
    place = path.with_name(path.name + suffix)
    return await pick_save_file(parent, title, place.name, suffix) if place.exists() else place


async def _pick(dialog: QFileDialog, mode: QFileDialog.FileMode, window: QWidget | None = None) -> list[Path]:
    """Return what was chosen; its folder is kept in a window, if there is one, for the next time."""
    dialog.setFileMode(mode)
    paths = [Path(name) for name in dialog.selectedFiles()] if await exec_async(dialog) else []
    if paths and window is not None:
        window.setProperty(_LAST_FOLDER, str(paths[0].parent))
    return paths
