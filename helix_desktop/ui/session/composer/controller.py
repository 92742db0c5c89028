"""The message being written: its draft, and sending it."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.intake.mentioned_files import attach_mentioned_files
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.prompt_file import PromptFile
from helix_desktop.domain.slash_command import SLASH, SlashInput, parse_slash_input
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.services.prompt_files import ExpandedPrompt
from helix_desktop.ui.design.shell_data import FAILED_WRITE, Banner
from helix_desktop.ui.session.composer.attachments import DraftAttachments
from helix_desktop.ui.session.composer.estimate import MessageEstimate
from helix_desktop.ui.session.composer.outgoing import OutgoingMessage, OutgoingMessages
from helix_desktop.ui.session.composer.unsaved_drafts import UnsavedDraft, UnsavedDrafts
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.slash_commands import SlashCommands
from helix_desktop.words.efforts import effort_name, with_effort
from helix_desktop.words.models import model_name
from helix_desktop.words.prompt_files import prompt_warnings
from helix_desktop.words.slash_commands import SlashCommand, find_slash_command
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")
_text = TextContext("Session")

SESSION_MODEL = _text("Model for this session")
"""For what a model was chosen that the workspace's default does not answer."""


class ComposerController(QObject):
    """Binds the composer to one conversation at a time. Drafts survive switching, closing and crashes."""

    def __init__(self, context: ControllerContext) -> None:
        self._page = context.views.chat
        widget = self._page.composer
        super().__init__(widget)
        self.widget = widget
        self._async_actions, self._services = context.async_actions, context.services
        start = context.async_actions.start
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        self._without_draft: Conversation | None = None  # the one on screen, until its draft is too
        self._load = object()  # one for each time that a draft is loaded: only the newest one is shown
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By session: its draft is not read while what was typed is put behind it."""
        self._banners = context.window.banners
        self._warned: set[str] = set()  # versions of prompt files, by their SHA-256
        self._refusal = ""  # the banner about the command that was typed last, if it was refused
        self._was_refused = False  # the draft on screen, when it was saved last
        self.attachments = DraftAttachments(context, self._save_changed_draft)
        self.unsaved = UnsavedDrafts(context.window.banners)
        self.outgoing = OutgoingMessages()
        self.estimate = MessageEstimate(context, self.attachments)
        self.slash_commands = SlashCommands(context.window.commands)
        widget.submitted.connect(self.send)
        widget.steered.connect(lambda text: self.send(text, steer=True))
        widget.stop_requested.connect(lambda: start(self._stop(), "stop"))
        widget.text_paused.connect(self._on_text_paused)
        widget.text_changed.connect(lambda _: self.estimate.schedule())
        self.attachments.changed.connect(self.estimate.schedule)
        self.attachments.edited.connect(lambda: self._on_text_paused(widget.draft()))

    async def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Put the draft of a conversation into the composer; the former one's is kept.

        From the first moment on, what is typed belongs to the new one.
        """
        previous, previous_text = (self._workspace, self._conversation), self.widget.draft()
        was_loaded = self._without_draft is None
        load = self._load = object()
        self._workspace, self._conversation, self._without_draft = workspace, conversation, conversation
        self.widget.set_text("")
        self.show_availability()
        self.attachments.show(workspace, conversation)
        self.estimate.show(workspace, conversation)
        await self._leave(*previous, previous_text, was_loaded)
        if workspace is None or conversation is None:
            return
        self.show_availability()
        try:
            await self._show_draft(workspace, conversation, load)
        except StoreError as error:
            self._async_actions.show_error(error)

    async def _show_draft(self, workspace: OpenWorkspace, conversation: Conversation, load: object) -> None:
        """Show the stored draft in front of what was typed meanwhile.

        Raises StoreError if it cannot be read; until it can, nothing is stored over it.
        """
        session_id = conversation.session.id
        async with self._locks[session_id]:
            if load is not self._load or self._without_draft is None:
                return
            error, stored, draft = None, Draft(), Draft()
            try:
                stored = await workspace.store.draft(session_id)
                draft = self.outgoing.without(session_id, stored)
                self.attachments.restore(session_id, draft.attachments)
            except StoreError as failure:
                error = failure
            if load is not self._load:
                return
            unsaved, typed = self.unsaved.take(session_id), self.widget.text()
            before = unsaved.merge(draft.text) if unsaved else draft.text
            if before:
                self.widget.set_text(before + typed)
            self.attachments.refresh()
            self.estimate.schedule()
            if error is None or (unsaved is not None and unsaved.is_whole):
                self._without_draft = None
                if unsaved or typed or draft != stored:
                    self._on_text_paused(self.widget.text())
            if error is not None:
                raise error

    def show_availability(self) -> None:
        """Enable the composer where something can be sent, and say why where it cannot."""
        workspace = self._workspace
        self._page.set_writable(workspace is None or (workspace.is_trusted() and not workspace.is_read_only))
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

    def _on_text_paused(self, text: str) -> None:
        self._async_actions.start(self._save_draft(self._workspace, self._conversation, text), "save draft")

    async def _save_draft(
        self, workspace: OpenWorkspace | None, conversation: Conversation | None, text: str
    ) -> None:
        """Store a draft, but not over one that is not on screen yet: that one comes first, then both are."""
        if workspace is None or conversation is None:
            return
        if conversation is self._without_draft:
            await self._show_draft(workspace, conversation, self._load)
            return
        session_id = conversation.session.id
        try:
            draft = self.outgoing.with_draft(session_id, text, self.attachments.of(session_id))
            await workspace.store.save_draft(session_id, draft.text, draft.attachments)
        except StoreError:
            self._was_refused = True
            raise
        if self._was_refused:
            self._was_refused = False
            self._banners.remove(FAILED_WRITE)

    async def _leave(
        self, workspace: OpenWorkspace | None, conversation: Conversation | None, text: str, was_loaded: bool
    ) -> None:
        """Store the draft of the conversation that was on screen, or keep it where that fails."""
        if workspace is not None and conversation is not None and (text or was_loaded):
            await self._put_away(workspace, conversation, text, was_loaded)

    async def _put_away(
        self, workspace: OpenWorkspace, conversation: Conversation, text: str, is_whole: bool
    ) -> None:
        """Store what was typed in a conversation that is not on screen, or keep it where that fails.

        `is_whole`: it takes the place of the stored draft; else it is put behind that one.
        """
        session_id = conversation.session.id
        async with self._locks[session_id]:
            waiting = None if is_whole else self.unsaved.find(session_id)
            if waiting is not None:
                text, is_whole = waiting.text + text, waiting.is_whole
            draft = await self._store_draft(workspace, conversation, text, is_whole)
            if draft is None:
                self.unsaved.take(session_id)
            elif text or self.attachments.of(session_id):
                self.unsaved.add(draft)
            else:
                self._async_actions.show_error(draft.error)

    async def _store_draft(
        self, workspace: OpenWorkspace, conversation: Conversation, text: str, is_whole: bool
    ) -> UnsavedDraft | None:
        """Store a draft, behind the stored one if that is not part of it; return it if that fails."""
        session_id, attachments = conversation.session.id, self.attachments.of(conversation.session.id)
        try:
            if is_whole:
                draft = self.outgoing.with_draft(session_id, text, attachments)
            else:
                stored = await workspace.store.draft(session_id)
                others = (attachment for attachment in stored.attachments if attachment not in attachments)
                draft = Draft(stored.text + text, (*others, *attachments))
            await workspace.store.save_draft(session_id, draft.text, draft.attachments)
        except StoreError as error:
            return UnsavedDraft(workspace, conversation, text, is_whole, error)
        return None

    async def save_drafts(self) -> list[UnsavedDraft]:
        """Store the draft on screen, and again those that could not be stored; return those that cannot.

        What is on its way is stored with them: it may not get there any more.
        """
        for draft in self.unsaved.all():
            opened = self._services.open_workspaces.get(draft.workspace.id, draft.workspace)
            if await _is_deleted(opened, draft.conversation):
                self.unsaved.take(draft.session_id)
                self.attachments.take(draft.session_id)
            else:
                await self._put_away(opened, draft.conversation, "", is_whole=False)
        drafts = self.unsaved.all()
        for message in self.outgoing.not_on_screen(self._conversation):
            try:
                await self._save_outgoing(message)
            except StoreError as error:
                drafts.append(
                    UnsavedDraft(message.workspace, message.conversation, message.text, False, error)
                )
        on_screen = await self._save_draft_on_screen()
        return [*drafts, *([on_screen] if on_screen is not None else [])]

    async def _save_draft_on_screen(self) -> UnsavedDraft | None:
        """Store the draft on screen; return it if that fails."""
        workspace, conversation = self._workspace, self._conversation
        if workspace is None or conversation is None:
            return None
        try:
            await self._show_draft(workspace, conversation, self._load)  # unless it is on screen already
        except StoreError as error:
            text = self.widget.draft()
            return UnsavedDraft(workspace, conversation, text, False, error) if text else None
        text = self.widget.draft()
        session_id = conversation.session.id
        if not self.outgoing.with_draft(session_id, text, self.attachments.of(session_id)):
            return None
        return await self._store_draft(workspace, conversation, text, is_whole=True)

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
        if self._workspace is None or self._conversation is None:
            return
        message = OutgoingMessage(self._workspace, self._conversation, text, [], steer, typed)
        self.outgoing.add(message)
        if self.attachments.is_attaching:
            message.task = self._async_actions.start(self._send_when_attached(message), "send")
        else:
            self._take_attachments(message)
            message.task = self._async_actions.start(self._send(message), "send")

    async def _send_when_attached(self, message: OutgoingMessage) -> None:
        """Send a message once what was pasted or dropped just before belongs to it."""
        await self.attachments.wait()
        if message.conversation is self._conversation:
            self._take_attachments(message)
            await self._send(message)
        else:
            await self._restore_unsent(message)

    def _take_attachments(self, message: OutgoingMessage) -> None:
        message.attachments = self.attachments.take(message.conversation.session.id)
        self.estimate.clear()

    def send_proposal(self, text: str) -> None:
        """Begin to send a proposed message to the conversation on screen; the draft stays as it is."""
        if self._workspace is not None and self._conversation is not None:
            message = OutgoingMessage(self._workspace, self._conversation, text, [])
            self.outgoing.add(message)
            message.task = self._async_actions.start(self._send(message), "send")

    def prepend(self, text: str) -> None:
        """Put a text that could not be sent in front of what is typed."""
        self.widget.set_text("\n".join(part for part in (text, self.widget.text()) if part))

    async def _send(self, message: OutgoingMessage) -> None:
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
            return
        message.is_settled = True  # only now: before, the draft was the only copy of it
        try:
            if conversation is self._conversation:
                await self._save_draft(message.workspace, conversation, self.widget.text())
            elif message.workspace.id in self._services.open_workspaces:
                await self._save_outgoing(message)
        finally:
            self.outgoing.remove(message)

    async def _save_outgoing(self, message: OutgoingMessage) -> None:
        """Store the draft of a session that is not on screen, with what is still on its way."""
        session_id, store = message.conversation.session.id, message.workspace.store
        async with self._locks[session_id]:
            stored = await store.draft(session_id)
            rest = self.outgoing.without(session_id, stored)
            draft = self.outgoing.with_draft(session_id, rest.text, rest.attachments)
            if draft != stored:
                await store.save_draft(session_id, draft.text, draft.attachments)

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
        try:
            await self._save_draft(workspace, conversation, self.widget.text())  # it may close the window
        except StoreError as error:
            self._async_actions.show_error(error)  # the command may be what makes room
        try:
            await self.slash_commands.run(command, arguments)
        except HelixError as error:
            self._refusal = error.what
            if conversation is self._conversation:
                self.prepend(text)
                self._on_text_paused(self.widget.draft())
            raise

    async def _restore_unsent(self, message: OutgoingMessage) -> None:
        """Put a message that could not be sent back into the composer, or into the draft of its session."""
        session_id = message.conversation.session.id
        self.attachments.put_back(session_id, message.attachments)
        message.is_settled = True
        try:
            if self._conversation is not None and self._conversation.session.id == session_id:
                self.widget.set_text(message.text + self.widget.text())
                self.attachments.refresh()
                await self._save_draft(self._workspace, self._conversation, self.widget.text())
            elif not await self._is_in_draft(message):
                await self._put_away(message.workspace, message.conversation, message.text, is_whole=False)
        finally:
            self.outgoing.remove(message)

    async def _is_in_draft(self, message: OutgoingMessage) -> bool:
        """Return True if the draft of its session begins with a message since that was left."""
        session_id = message.conversation.session.id
        async with self._locks[session_id]:
            try:
                stored = await message.workspace.store.draft(session_id)
            except StoreError:
                return False
        return bool(message.text) and stored.text.startswith(message.text)

    async def _stop(self) -> None:
        if self._conversation is not None:
            await self._conversation.stop()

    async def _save_changed_draft(self, workspace: OpenWorkspace, conversation: Conversation) -> None:
        if conversation is self._conversation:
            await self._save_draft(workspace, conversation, self.widget.draft())
            return
        session_id = conversation.session.id
        async with self._locks[session_id]:
            stored = self.outgoing.without(session_id, await workspace.store.draft(session_id))
            draft = self.outgoing.with_draft(session_id, stored.text, self.attachments.of(session_id))
            await workspace.store.save_draft(session_id, draft.text, draft.attachments)


async def _is_deleted(workspace: OpenWorkspace, conversation: Conversation) -> bool:
    """Return True if a session was deleted permanently: its draft went with it, and is not to come back."""
    if not conversation.session.log:  # it is not stored yet
        return False
    store = workspace.store
    try:
        sessions = (*await store.sessions(), *(await store.retention.trash()).sessions)
    except StoreError:
        return False
    return conversation.session.id not in {session.id for session in sessions}
