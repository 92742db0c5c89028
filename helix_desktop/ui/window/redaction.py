"""Redaction from its dialog to the files: preview, then redact, then reload what is open."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec
from PySide6.QtCore import QSize, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QLineEdit, QProgressBar, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.store import Draft
from helix_desktop.domain.text_variants import MIN_BASE64_BYTES
from helix_desktop.ui.chat.composer_controller import ComposerController
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import (
    DIALOG_MARGINS,
    FlowBox,
    ListScrollArea,
    card,
    clear_layout,
    column,
    pane,
    row,
)
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.kit.intents import OpenSession, RefreshLists, RemoveSecret, handles
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.call_targets import call_title
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import summary_lines, workspace_files_note
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Remove a secret")

RedactStep: TypeAlias = Literal["ask", "searching", "found", "removing", "done"]

_WIDTH = 560
_TEXT_LINES = 3
_PAGE_WIDTH = 498  # of what is found, between the margins of dialog and card
_MIN_LINES = 3


def confirmation_word() -> str:
    return tr("remove", "what the user types to confirm")


def _limits(of_output: bool) -> tuple[str, ...]:
    words = tr(
        "Summaries and lists that repeat lines of this output lose them too. What the "
        "agent wrote about it stays, and so do other outputs with the same text: enter the text to remove "
        "it everywhere."
    )
    return (
        *((words,) if of_output else ()),
        tr("Providers that received it still have it. Change the password or revoke the key there."),
        tr(
            "Also finds JSON-escaped and URL-encoded forms, and Base64 of texts with at least {count} "
            "characters. Base64 split over lines isn't found.",
            count=MIN_BASE64_BYTES,
        ),
        tr("Backups and exported files aren't changed."),
    )


class _ResultArea(ListScrollArea):
    """What was found, as high as it is where the screen has room; only where it has none it scrolls."""

    def sizeHint(self) -> QSize:
        margins = self.viewportMargins()
        room = _PAGE_WIDTH - margins.left() - margins.right()
        return QSize(_PAGE_WIDTH, self.page.heightForWidth(room) + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> QSize:
        lines = self.fontMetrics().lineSpacing() * _MIN_LINES
        return QSize(super().minimumSizeHint().width(), min(lines, self.sizeHint().height()))


class RedactDialog(FittedDialog):
    search_requested = Signal(str)
    redact_requested = Signal(str)
    cancel_requested = Signal()  # of the search

    def __init__(self, parent: QWidget, entry_text: str = "") -> None:
        """`entry_text` describes the output to redact, with all that was shown of it."""
        super().__init__(parent, tr("Remove a secret"), _WIDTH)
        self._entry_text = entry_text
        self._has_matches = False
        self.step: RedactStep = "ask"
        placeholder = tr("More text to remove (optional)") if entry_text else tr("Paste the exact text")
        self.text_input = TextArea(words=tr("Text to remove"), placeholder=placeholder)
        self.text_input.setFixedHeight(self.text_input.fontMetrics().lineSpacing() * _TEXT_LINES + 18)
        self.text_input.textChanged.connect(self._on_text_changed)
        self.confirm_input = QLineEdit()
        prompt = tr("Type “{word}” to confirm", word=confirmation_word())
        self.confirm_input.setAccessibleName(prompt)
        self.confirm_input.setPlaceholderText(prompt)
        self.confirm_input.textChanged.connect(lambda _: self._show(self.step))
        self._progress_bar = QProgressBar()
        self._progress_bar.setTextVisible(False)
        self._progress_label = label("", "muted", wrap=True)
        self._progress_area = pane(column(self._progress_label, self._progress_bar, gap=6))
        self._lines = column(gap=6)
        self._result = card(column(_ResultArea(self._lines, tr("Result")), margins=(8, 6, 8, 6)))
        self._problem = label("", "error", wrap=True)
        self.search_button = PushButton(tr("Find occurrences"), "primary", name="search")
        self.search_button.clicked.connect(lambda: self._begin("searching", self.search_requested))
        self.redact_button = PushButton(tr("Remove permanently"), "danger", name="redact")
        self.redact_button.clicked.connect(lambda: self._begin("removing", self.redact_requested))
        self.confirm_input.returnPressed.connect(self.redact_button.click)
        self.cancel_button = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        lead = tr(
            "Removes a password, a key or other text from this workspace's data and from the app's logs. "
            "This can't be undone."
        )
        words = column(label(tr("Remove a secret"), "title"), label(lead, "muted", wrap=True), gap=5)
        what = column(gap=8)
        if entry_text:
            output = tr("{output}, wherever it was shown", output=entry_text)
            what.addWidget(label(output, "strong", wrap=True))
        what.addWidget(self.text_input)
        warning = tr("Running agents in this workspace are stopped. Open sessions are reloaded.")
        sign = IconLabel("triangle-alert", px=15, color_token="warn")
        self._warning = pane(row(sign, label(warning, "note", wrap=True), gap=8, stretch=1))
        buttons = FlowBox([self.cancel_button, self.search_button, self.redact_button], right_from=0)
        body = column(
            words, what, self._progress_area, self._result, self._warning, self.confirm_input, self._problem,
            buttons, margins=DIALOG_MARGINS, gap=12,
        )  # fmt: skip
        self.setLayout(body)
        self._show("ask")

    @property
    def secret(self) -> str:
        """Return the text, without the line's end that pasting often adds."""
        return self.text_input.toPlainText().rstrip("\n")

    def show_progress(self, done: int, total: int) -> None:
        self._progress_bar.setRange(0, total)
        self._progress_bar.setValue(done)
        self._progress_label.setText(
            tr.plural(
                total,
                "Removing, then checking: {done} of %n output",
                "Removing, then checking: {done} of %n outputs",
                done=done,
            )
            if self.step == "removing"
            else tr.plural(
                total, "Searching: {done} of %n output", "Searching: {done} of %n outputs", done=done
            )
        )

    def show_matches(self, lines: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Say where it is; without lines it is nowhere."""
        self._fill(lines or [tr("No occurrences found.")], (*notes, *_limits(bool(self._entry_text))))
        self._has_matches = bool(lines)
        self.confirm_input.clear()
        self._show("found")
        first = self.confirm_input if lines else self.cancel_button
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_done(self, lines: Sequence[str], files: str = "") -> None:
        """Say what was done, and which `files` of the workspace still have it."""
        lines = (*lines, tr("The saved data was rewritten without it."))
        self._fill(lines, (*filter(None, (files,)), *_limits(bool(self._entry_text))))
        self.text_input.clear()
        self._show("done")
        self.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_problem(self, message: str) -> None:
        self._problem.setText(message)
        self._show("ask")

    def reject(self) -> None:
        if self.step == "searching":
            self.cancel_requested.emit()
            self._show("ask")
        elif self.step != "removing":
            super().reject()

    def _fill(self, lines: Sequence[str], notes: Sequence[str]) -> None:
        clear_layout(self._lines)
        for line in lines:
            self._lines.addWidget(label(line, "strong", wrap=True))
        for note in notes:
            self._lines.addWidget(label(note, "note", wrap=True))

    def _on_text_changed(self) -> None:
        if self.step in ("ask", "found"):  # what was found was found of another text
            self._problem.clear()
            self._show("ask")

    def _begin(self, step: RedactStep, requested: SignalInstance) -> None:
        self._problem.clear()
        self._show(step)
        self.show_progress(0, 0)
        requested.emit(self.secret)

    def _show(self, step: RedactStep) -> None:
        self.step = step
        working = step in ("searching", "removing")
        self.text_input.setReadOnly(working)
        self.text_input.setVisible(step != "done")
        self._progress_area.setVisible(working)
        self._result.setVisible(step in ("found", "done"))
        confirming = step == "found" and self._has_matches
        self._warning.setVisible(confirming)
        self.confirm_input.setVisible(confirming)
        self.search_button.setVisible(step in ("ask", "searching"))
        self.search_button.setEnabled(step == "ask" and bool(self.secret or self._entry_text))
        self.redact_button.setVisible(confirming)
        typed = self.confirm_input.text().strip()
        word = confirmation_word()
        self.redact_button.setEnabled(typed.casefold() == word.casefold())
        self._problem.setVisible(bool(self._problem.text()))
        self.cancel_button.setVisible(step != "removing")
        words = {"searching": tr("Stop"), "done": tr("Close")}
        self.cancel_button.setText(words.get(step, tr("Cancel")))
        self.fit()


_MAX_NAMED = 3  # sessions that are named as places of a secret


class RedactionController(WindowPart):
    """One redaction at a time, in one workspace, while its dialog is open."""

    def __init__(self, window: MainWindow, windows: WindowGroup, composer: ComposerController) -> None:
        super().__init__(window, windows)
        self._composer = composer
        session = self._session
        # Errors are shown with what is on screen when they happen: the session was taken off by then.
        self._async_actions = AsyncActions(session.actions.scope, session.actions.show_error)
        self.dialog: RedactDialog | None = None

    @handles(RemoveSecret)
    async def redact(self, digest: str = "") -> None:
        """Let the user redact a text, or an output and a text, of the workspace on screen.

        Raises HelixError.
        """
        self._workspace = self._session.workspace
        self._redaction = self._session.app.redaction(self._workspace.id)
        target = ""
        digests = (digest,) if digest else ()
        if digest:
            entry = await self._workspace.store.entry(digest)
            name = call_title(entry.tool, entry.target) or digest[:12]
            target = f"{name} · {format_size(entry.size)}"
        dialog = self.dialog = RedactDialog(self._window, target)
        start = self._async_actions.start
        searches = list[asyncio.Task[None]]()

        def search(text: str) -> None:
            searches.append(start(self._run_search(RedactionRequest(text, digests)), "look for a secret"))

        def stop() -> None:
            for task in searches:
                task.cancel()

        def redact(text: str) -> None:
            start(self._run_redaction(RedactionRequest(text, digests)), "forget")

        dialog.search_requested.connect(search)
        dialog.cancel_requested.connect(stop)
        dialog.redact_requested.connect(redact)
        try:
            await exec_async(dialog)
        finally:
            self.dialog = None
            stop()

    async def _run_search(self, request: RedactionRequest) -> None:
        try:
            await self._settle()
            matches = await self._redaction.preview(request, self._on_progress)
            matches = _with_unsaved(matches, self._unsaved_with(request))
        except HelixError as error:
            self._show_error(error)
            return
        if self.dialog is not None:
            self.dialog.show_matches(summary_lines(matches), await self._notes(matches))

    async def _notes(self, matches: RedactionMatches) -> list[str]:
        titles = {session.id: session.title for session in await self._workspace.store.sessions()}
        quoted = [tr("“{title}”", title=titles[each]) for each in matches.sessions if each in titles]
        notes = []
        if quoted:
            sessions = tuple(quoted[:_MAX_NAMED])
            if more := len(quoted) - len(sessions):
                sessions += (tr.plural(more, "%n more", "%n more", "sessions in a list"),)
            notes.append(tr("In {sessions}.", sessions=sessions))
        if count := len(matches.unreadable):
            notes.append(
                tr.plural(
                    count, "%n damaged entry can't be searched.", "%n damaged entries can't be searched."
                )
            )
        if files := workspace_files_note(matches):
            notes.append(files)
        return notes

    async def _run_redaction(self, request: RedactionRequest) -> None:
        """Remove the secret while nothing of its workspace is on screen, in any window."""
        async with self._windows.away_from(self._window, self._workspace.id):
            session_id = self._session.id
            await self._session.show(self._workspace, None)
            await self._settle()
            self._composer.attachments.clear(but=self._windows.drafts.unsaved.keys())
            try:
                await self._redact(request)
            except HelixError as error:
                self._show_error(error)
            finally:
                if session_id:
                    await self._session.run(OpenSession(session_id))
                if (outputs := self._window.pages.outputs.find()) is not None:
                    outputs.refresh()
                self._window.sidebar.search.clear()  # it may show a line with the secret
                await self._session.run(RefreshLists())

    async def _redact(self, request: RedactionRequest) -> None:
        unsaved = self._unsaved_with(request)
        matches = _with_unsaved(await self._redaction.redact(request, self._on_progress), unsaved)
        for of_session, draft in unsaved.items():
            waiting = self._windows.drafts.unsaved
            waiting[of_session] = msgspec.structs.replace(waiting[of_session], text=draft.text)
            self._composer.attachments.change(of_session, draft.attachments)
        self._windows.drafts.change_outgoing(self._of(request).redact_draft, self._workspace.id)
        if self.dialog is not None:
            self.dialog.show_done(summary_lines(matches), workspace_files_note(matches))

    def _of(self, request: RedactionRequest) -> Redaction:
        return Redaction(request, self._workspace.clock())

    def _unsaved_with(self, request: RedactionRequest) -> dict[str, Draft]:
        """Return the drafts that could not be saved and have the secret by session, without it."""
        redaction = self._of(request)
        attachments = self._composer.attachments
        drafts = {
            draft.session_id: Draft(draft.text, tuple(attachments.of(draft.session_id)))
            for draft in self._windows.drafts.unsaved.values()
            if draft.workspace.id == self._workspace.id
        }
        clean = {session_id: redaction.redact_draft(draft) for session_id, draft in drafts.items()}
        return {session_id: draft for session_id, draft in clean.items() if draft != drafts[session_id]}

    async def _settle(self) -> None:
        """Wait for what is on its way: what is recorded later would have the secret again."""
        await self._composer.attachments.wait()
        await self._windows.drafts.settle(self._workspace.id)

    def _on_progress(self, done: int, total: int) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(done, total)

    def _show_error(self, error: HelixError) -> None:
        if self.dialog is not None:
            self.dialog.show_problem(error_text(error))
        else:
            self._async_actions.show_error(error)


def _with_unsaved(matches: RedactionMatches, unsaved: Iterable[str]) -> RedactionMatches:
    sessions = dict.fromkeys((*matches.drafts, *unsaved))
    return msgspec.structs.replace(matches, drafts=tuple(sessions))
