"""The message being written: the draft, its attachments, and its price in tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.intake.mentioned_files import attach_mentioned_files
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.session import Attachment
from helix_desktop.domain.prompt_file import PromptFile
from helix_desktop.domain.slash_command import SLASH, SlashInput, parse_slash_input
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.domain.user_text import TextContext
from helix_desktop.services.attached_folders import attach_folder
from helix_desktop.services.attached_paths import attach_path
from helix_desktop.services.prompt_files import ExpandedPrompt
from helix_desktop.ui.chat.composer.added_files import AddedFile
from helix_desktop.ui.chat.composer.attachment_texts import attachment_key, chip_text
from helix_desktop.ui.design.dialogs import pick_open_files
from helix_desktop.ui.design.window_state import Banner
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.session.slash_commands import SlashCommands
from helix_desktop.words.efforts import effort_name, with_effort
from helix_desktop.words.models import model_name
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.prompt_files import prompt_warnings
from helix_desktop.words.slash_commands import SlashCommand, find_slash_command
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")
_text = TextContext("Session")

_COUNT_AFTER_MS = 250
SESSION_MODEL = _text("Model for this session")
"""For what a model was chosen that the workspace's default does not answer."""


@dataclass(frozen=True, slots=True)
class _OutgoingMessage:
    """A message on its way, with what goes along; `steer`: into the running turn.

    `typed` is the command of a prompt file that the text is.
    """

    workspace: OpenWorkspace
    conversation: Conversation
    text: str
    attachments: list[Attachment]
    steer: bool = False
    typed: SlashInput | None = None


class ComposerController(QObject):
    """Binds the composer to one conversation at a time. Drafts survive switching, closing and crashes."""

    content_stored = Signal()
    """A content of a draft is in the cache now."""
    content_requested = Signal(str)
    """The user wants to see a content, by its digest."""

    def __init__(self, context: ControllerContext) -> None:
        widget = context.views.chat.composer
        super().__init__(widget)
        self.widget = widget
        self._async_actions, self._services = context.async_actions, context.services
        start = context.async_actions.start
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        self._banners = context.window.banners
        self._warned: set[str] = set()  # versions of prompt files, by their SHA-256
        self._refusal = ""  # the banner about the command that was typed last, if it was refused
        self._attachments: dict[str, list[Attachment]] = {}
        self._attaching, self._attach_lock = 0, asyncio.Lock()  # one at a time, so that chips are in order
        self._attach_folders: dict[str, Path] = {}  # where files were attached from last, by workspace
        self._count_timer = QTimer(self, singleShot=True, interval=_COUNT_AFTER_MS)
        self._count_timer.timeout.connect(lambda: start(self._show_estimate(), "count draft"))
        self.slash_commands = SlashCommands(context.window.commands)
        widget.submitted.connect(self.send)
        widget.steered.connect(lambda text: self.send(text, steer=True))
        widget.stop_requested.connect(lambda: start(self._stop(), "stop"))
        widget.text_paused.connect(self._on_text_paused)
        widget.text_changed.connect(lambda _: self._count_timer.start())
        widget.attachment_removed.connect(self._detach)
        widget.attachment_opened.connect(self._open)
        widget.attachment_unpacked.connect(self._unpack)
        widget.full_attachment_requested.connect(self._send_in_full)
        widget.files_added.connect(self._add_files)
        widget.long_text_pasted.connect(self._paste)
        widget.file_picker_requested.connect(lambda: start(self._choose_files(), "choose files"))

    async def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Put the draft of a conversation into the composer; the former one's is kept.

        From the first moment on, what is typed belongs to the new one.
        """
        previous, previous_text = (self._workspace, self._conversation), self.widget.draft()
        self._workspace, self._conversation = workspace, conversation
        self.widget.set_text("")
        self.show_availability()
        self._show_attachments()
        try:
            await self._save_draft(*previous, previous_text)
            if workspace is None or conversation is None:
                return
            self.show_availability()
            draft = await workspace.store.draft(conversation.session.id)
        except StoreError as error:
            self._async_actions.show_error(error)  # a draft that cannot be saved must not hold up the user
            return
        self._attachments.setdefault(conversation.session.id, list(draft.attachments))
        if conversation is self._conversation:
            self.widget.set_text(draft.text + self.widget.text())
            self._show_attachments()
            self._count_timer.start()

    def show_availability(self) -> None:
        """Enable the composer where something can be sent, and say why where it cannot."""
        workspace = self._workspace
        self.widget.setEnabled(workspace is None or (workspace.is_trusted() and not workspace.is_read_only))
        if workspace is None or self._conversation is None:
            return
        model, change = self._conversation.model, self._conversation.model_choice.pending
        own, effort = self._conversation.session.transcript.chosen_model, self._conversation.effort
        if change:
            name, effort = model_name(change.label, demo=False), ""
        else:
            name = model_name(model.label, model.demo)
        tip = (
            translate(SESSION_MODEL)
            if own
            else tr("Default model for this workspace. Click to choose one for this session.")
        )
        if effort:
            tip += "\n" + tr("Reasoning effort: {effort}", effort=effort_name(effort))
        self.widget.set_model(with_effort(name, effort), tip)
        if change:
            self.widget.editor.setPlaceholderText(tr("Choose a model to continue"))
        if workspace.is_read_only:
            self.widget.editor.setPlaceholderText(tr("Read-only: folder not found"))
        elif not workspace.is_trusted():
            self.widget.editor.setPlaceholderText(tr("Trust this folder to send messages"))

    def clear_attachments(self) -> None:
        """Drop what goes along with the next messages, in every session."""
        self._attachments.clear()
        self._show_attachments()

    def _on_text_paused(self, text: str) -> None:
        self._async_actions.start(self._save_draft(self._workspace, self._conversation, text), "save draft")

    async def _save_draft(
        self, workspace: OpenWorkspace | None, conversation: Conversation | None, text: str
    ) -> None:
        if workspace is not None and conversation is not None:
            session = conversation.session.id
            await workspace.store.save_draft(session, text, self._attachments.get(session, ()))

    def send(self, text: str, steer: bool = False) -> None:
        """Begin to send what is written, with its attachments, to the conversation on screen.

        A built-in command is run instead, that of a prompt file becomes its message.
        """
        self._banners.remove(self._refusal)
        typed = parse_slash_input(text)
        command = find_slash_command(typed.name) if typed else None
        if typed and command:
            self._async_actions.start(self._run_command(command, typed.arguments, text), "command")
        else:
            self._begin_to_send(text, steer, typed)

    def send_as_message(self) -> None:
        """Begin to send what is written as it is, though it begins like a command."""
        self._banners.remove(self._refusal)
        text = self.widget.text()
        if text.strip():
            self.widget.set_text("")
            self._begin_to_send(text)

    def _begin_to_send(self, text: str, steer: bool = False, typed: SlashInput | None = None) -> None:
        if self._attaching:
            self._async_actions.start(self._send_when_attached(text, steer, typed), "send")
        elif self._workspace is not None and self._conversation is not None:
            attachments = self._attachments.pop(self._conversation.session.id, [])
            self._show_attachments()
            self.widget.set_estimate("")
            message = _OutgoingMessage(self._workspace, self._conversation, text, attachments, steer, typed)
            self._async_actions.start(self._send(message), "send")

    async def _send_when_attached(self, text: str, steer: bool, typed: SlashInput | None) -> None:
        """Send a message once what was pasted or dropped just before belongs to it."""
        workspace, conversation = self._workspace, self._conversation
        async with self._attach_lock:
            pass
        if conversation is self._conversation:
            self._begin_to_send(text, steer, typed)
        elif workspace is not None and conversation is not None:
            await self._restore_unsent(_OutgoingMessage(workspace, conversation, text, []))

    def send_proposal(self, text: str) -> None:
        """Begin to send a proposed message to the conversation on screen; the draft stays as it is."""
        if self._workspace is not None and self._conversation is not None:
            message = _OutgoingMessage(self._workspace, self._conversation, text, [])
            self._async_actions.start(self._send(message), "send")

    def prepend(self, text: str) -> None:
        """Put a text that could not be sent in front of what is typed."""
        self.widget.set_text("\n".join(part for part in (text, self.widget.text()) if part))

    async def _send(self, message: _OutgoingMessage) -> None:
        conversation = message.conversation
        expanded: ExpandedPrompt | None = None
        try:
            if message.typed is not None:
                expanded = await self._services.prompt_files.expand(message.workspace.id, message.typed)
            text, prompt = (expanded.text, expanded.source) if expanded else (message.text, None)
            attachments = await attach_mentioned_files(
                message.workspace.contents.attach_file, conversation.session.id, text, message.attachments
            )
            seq = await conversation.send(text, attachments, message.steer, prompt)
        except HelixError as error:
            self._refusal = error.what if message.typed else ""
            await self._restore_unsent(message)
            raise
        if seq and expanded is not None:
            self._show_warnings(expanded.file)
        if not seq:
            await self._restore_unsent(message)
        elif conversation is self._conversation:  # only now: before, the draft was the only copy of it
            await self._save_draft(message.workspace, conversation, self.widget.text())

    def _show_warnings(self, file: PromptFile) -> None:
        """Say once for each version of a prompt file what in it the user may not expect."""
        warnings = " ".join(map(escape_hidden, prompt_warnings(file)))
        if warnings and file.sha256 not in self._warned:
            self._warned.add(file.sha256)
            self._banners.show_banner(
                Banner(
                    file.sha256,
                    "info",
                    tr("{command} was sent.", command=SLASH + file.name),
                    warnings,
                )
            )

    async def _run_command(self, command: SlashCommand, arguments: str, text: str) -> None:
        """Run a built-in command; what goes along with the next message stays."""
        workspace, conversation = self._workspace, self._conversation
        await self._save_draft(workspace, conversation, self.widget.text())  # first: it may close the window
        try:
            await self.slash_commands.run(command, arguments)
        except HelixError as error:
            self._refusal = error.what
            if conversation is self._conversation:
                self.prepend(text)
                self._on_text_paused(self.widget.draft())
            raise

    async def _restore_unsent(self, message: _OutgoingMessage) -> None:
        """Put a message that could not be sent back into the composer, or into the draft of its session."""
        session_id = message.conversation.session.id
        self._attachments[session_id] = message.attachments + self._attachments.get(session_id, [])
        if message.conversation is self._conversation:
            self.widget.set_text(message.text + self.widget.text())
            self._show_attachments()
            text = self.widget.text()
        else:
            text = message.text + (await message.workspace.store.draft(session_id)).text
        await self._save_draft(message.workspace, message.conversation, text)

    async def _stop(self) -> None:
        if self._conversation is not None:
            await self._conversation.stop()

    def attach(self, *attachments: Attachment) -> None:
        """Let recalled contents go along with the next message."""
        if self._conversation is not None:
            for attachment in attachments:
                self._add_attachment(self._conversation, attachment)
            self._on_text_paused(self.widget.draft())

    def _add_attachment(self, conversation: Conversation, attachment: Attachment) -> None:
        attachments = self._attachments.setdefault(conversation.session.id, [])
        if all(attachment_key(existing) != attachment_key(attachment) for existing in attachments):
            attachments.append(attachment)
        if conversation is not self._conversation:
            return
        self._show_attachments()
        self._count_timer.start()
        self.widget.editor.setFocus()

    def _add_files(self, files: list[AddedFile]) -> None:
        """Let files go along with the next message of the conversation on screen."""
        workspace, conversation = self._workspace, self._conversation
        if workspace is not None and conversation is not None and not workspace.is_read_only:
            self._start_attaching(self._attach_files(workspace, conversation, files))

    async def _choose_files(self) -> None:
        workspace = self._workspace
        if workspace is None:
            return
        start = self._attach_folders.get(workspace.id) or self._root(workspace)
        paths = await pick_open_files(self.widget, tr("Attach files"), tr("All files (*)"), start)
        if paths:
            self._attach_folders[workspace.id] = paths[0].parent
        self._add_files([AddedFile(path.name, path) for path in paths])

    def _root(self, workspace: OpenWorkspace) -> Path:
        return Path(self._services.registry.get(workspace.id).path)

    def _start_attaching(self, attach: Coroutine[Any, Any, None]) -> None:
        """Begin to attach something; a message that is sent meanwhile waits for it."""

        async def attach_in_turn() -> None:
            try:
                async with self._attach_lock:
                    await attach
            finally:
                self._attaching -= 1

        self._attaching += 1
        self._async_actions.start(attach_in_turn(), "attach")

    async def _attach_files(
        self, workspace: OpenWorkspace, conversation: Conversation, files: list[AddedFile]
    ) -> None:
        """Attach what can be attached, and say of each other file why it cannot."""
        for file in files:
            try:
                attachment = await self._attach_file(workspace, conversation.session.id, file)
            except HelixError as error:
                self._async_actions.show_error(error)
            else:
                self._add_attachment(conversation, attachment)
                self.content_stored.emit()
        await self._save_changed_draft(workspace, conversation)

    async def _attach_file(self, workspace: OpenWorkspace, session: str, file: AddedFile) -> Attachment:
        """Return a file as an attachment. Raises HelixError."""
        if file.path is not None and await asyncio.to_thread(file.path.is_dir):
            return await attach_folder(workspace.contents, session, self._root(workspace), file.path)
        if file.path is not None:
            return await attach_path(workspace.contents, session, self._root(workspace), file.path)
        data = await asyncio.to_thread(file.png)
        return await workspace.contents.attach_data(session, data, file.name)

    def _paste(self, text: str) -> None:
        """Let a long text that was pasted go along as a chip; it is stored before anything else happens."""
        workspace, conversation = self._workspace, self._conversation
        if workspace is not None and conversation is not None and not workspace.is_read_only:
            self._start_attaching(self._attach_paste(workspace, conversation, text))

    async def _attach_paste(self, workspace: OpenWorkspace, conversation: Conversation, text: str) -> None:
        attachment = await workspace.contents.attach_paste(conversation.session.id, text)
        self._add_attachment(conversation, attachment)
        self.content_stored.emit()
        await self._save_changed_draft(workspace, conversation)

    async def _save_changed_draft(self, workspace: OpenWorkspace, conversation: Conversation) -> None:
        here = conversation is self._conversation
        text = self.widget.draft() if here else (await workspace.store.draft(conversation.session.id)).text
        await self._save_draft(workspace, conversation, text)

    def _open(self, key: str) -> None:
        if (attachment := self._find_attachment(key)) is not None:
            self.content_requested.emit(attachment.digest)

    def _unpack(self, key: str) -> None:
        """Put an attached text into the message, where the cursor is, instead of along with it."""
        attachment, workspace = self._find_attachment(key), self._workspace
        if attachment is not None and workspace is not None:
            self._async_actions.start(self._insert_text(workspace, attachment, key), "insert as text")

    async def _insert_text(self, workspace: OpenWorkspace, attachment: Attachment, key: str) -> None:
        conversation = self._conversation
        text = attachment.text  # of a recalled content this may be a part
        if attachment.kind == "paste":
            text = (await workspace.store.get(attachment.digest)).decode("utf-8", "replace")
        if conversation is self._conversation and self._find_attachment(key) is not None:
            self.widget.editor.insertPlainText(text)
            self.widget.editor.setFocus()
            self._detach(key)

    def _send_in_full(self, key: str) -> None:
        """Let an attachment that is a preview go along in full."""
        attachment, workspace, conversation = self._find_attachment(key), self._workspace, self._conversation
        if attachment is not None and workspace is not None and conversation is not None:
            self._start_attaching(self._replace_by_full(workspace, conversation, attachment))

    async def _replace_by_full(
        self, workspace: OpenWorkspace, conversation: Conversation, attachment: Attachment
    ) -> None:
        full = await workspace.contents.attach_in_full(attachment)
        attachments = self._attachments.get(conversation.session.id, [])
        if attachment in attachments:
            attachments[attachments.index(attachment)] = full
        self._show_attachments()
        self._count_timer.start()
        await self._save_changed_draft(workspace, conversation)

    def _find_attachment(self, key: str) -> Attachment | None:
        return next((found for found in self.current_attachments() if attachment_key(found) == key), None)

    def _detach(self, key: str) -> None:
        if self._conversation is not None:
            identity = self._conversation.session.id
            attachments = self._attachments.get(identity, [])
            self._attachments[identity] = [
                attachment for attachment in attachments if attachment_key(attachment) != key
            ]
            self._on_text_paused(self.widget.draft())
        self._show_attachments()
        self._count_timer.start()

    def current_attachments(self) -> list[Attachment]:
        """Return what goes along with the next message of the session on screen."""
        return self._attachments.get(self._conversation.session.id, []) if self._conversation else []

    def _show_attachments(self) -> None:
        sees = self._conversation is not None and self._conversation.model.images
        self.widget.set_attachments(
            [chip_text(attachment, sees) for attachment in self.current_attachments()]
        )

    async def _show_estimate(self) -> None:
        text, workspace, conversation = self.widget.text(), self._workspace, self._conversation
        if workspace is None or conversation is None:
            return
        message = await self._services.prompt_files.preview(workspace.id, text)
        tokens = await workspace.contents.count_tokens(message) if message.strip() else 0
        total = tokens + sum(attachment.tokens for attachment in self.current_attachments())
        if text == self.widget.text() and conversation is self._conversation:
            now = conversation.window.measure()[1]
            self.widget.set_estimate(_estimate_text(total, max(0, now.window - now.used - now.reserve)))


def _estimate_text(tokens: int, free: int) -> str:
    if not tokens:
        return ""
    count = format_tokens(tokens)
    if tokens > free:
        return tr("Message: ≈ {tokens} tokens, room for {free}", tokens=count, free=format_tokens(free))
    return tr("Message: ≈ 1 token") if tokens == 1 else tr("Message: ≈ {tokens} tokens", tokens=count)
