"""The composer of the conversation on screen: whether it can send, sending, and built-in commands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.agent.attachments import attach_mentioned_files, with_mentioned
from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.message_queue import MessageTooLarge
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.conversation import Attachment, UserSpoke
from helix_desktop.domain.events.session import EffortChosen, EffortRefused
from helix_desktop.domain.mcp_server import ServerPrompt
from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.slash_command import SLASH, SlashInput, parse_slash_input
from helix_desktop.domain.tools import ApprovalReply, ApprovalRequest
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.services.prompt_files import ExpandedPrompt
from helix_desktop.ui.chat.composer.strips import PutIntoMessage
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.session_drafts import OutgoingMessage, SessionDrafts, SharedDrafts
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.kit.commands import WAITING_APPROVAL
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.model_names import effort_name, model_name, with_effort
from helix_desktop.words.numbers import format_token_count, format_tokens
from helix_desktop.words.prompt_files import prompt_warnings
from helix_desktop.words.slash_commands import SlashCommand, find_slash_command
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.saved_rules import demo_calls_run

tr = Translator("Session")
_text = TextContext("Session")

SESSION_MODEL = _text("Model for this session")
"""For what a model was chosen that the workspace's default does not answer."""

_COUNT_AFTER_MS = 250


def runs_demo_calls(session: Session) -> bool:
    """Return True if the demo model answers in the session on screen, and its calls run without asking."""
    return session.has_conversation and demo_calls_run(
        session.app.registry.get(session.workspace.id), session.conversation.model.demo
    )


_SERVERS_TEXT = "server-text"
"""The name of the notice that a server wrote what is in the composer; it ends with that text."""


class ComposerController(QObject):
    switched = Signal()
    """What is typed from now on belongs to another conversation, or to none."""

    def __init__(self, page: ChatPage, session: Session, shared: SharedDrafts) -> None:
        self._page = page
        widget = page.composer
        super().__init__(widget)
        self.widget = widget
        self._session = session
        self._warned: set[str] = set()  # versions of prompt files, by their SHA-256
        self._refusals: dict[str, tuple[str, int]] = {}
        """Of the message that was sent last, by session: the notice why, and the window that it is too large
        for, or 0."""
        self.drafts = SessionDrafts(widget, session, shared)
        self.attachments = self.drafts.attachments
        self._outgoing = shared.outgoing
        session.handle(self)
        self._mentioned: Sequence[Attachment] = ()  # files that the text mentions, as attachments
        self._count_timer = QTimer(self, singleShot=True, interval=_COUNT_AFTER_MS)
        self._count_timer.timeout.connect(lambda: session.start(self._show_estimate(), "count draft"))
        waits = partial(session.commands.set_met, WAITING_APPROVAL)
        widget.message_changed.connect(lambda *_: waits(bool(widget.approval_count)))
        widget.submitted.connect(self.send)
        widget.steered.connect(lambda text: self.send(text, steer=True))
        widget.text_changed.connect(self._on_text_changed)
        self.attachments.changed.connect(self._count_timer.start)
        self.attachments.content_stored.connect(session.schedule_refresh)
        session.model_changed.connect(self.show_availability)
        session.on(EffortChosen | EffortRefused, lambda _: self.show_availability())
        session.on_show(self._show)
        session.on_refresh(self._recount)

    def _recount(self) -> None:
        if not self._count_timer.isActive() and (self.widget.text() or self.attachments.current()):
            self._count_timer.start()

    def count_mentioned(self, attachments: Sequence[Attachment]) -> None:
        self._mentioned = attachments
        self._recount()

    async def _show_estimate(self) -> None:
        if not self._session.has_conversation:
            return
        workspace = self._session.workspace
        conversation = self._session.conversation
        text = self.widget.text()
        sees_images = conversation.model.images
        message = await self._session.app.prompt_files.preview(workspace.id, text)
        tokens = await workspace.contents.count_tokens(message) if message.strip() else 0
        attachments = with_mentioned(self.attachments.current(), self._mentioned if text else ())
        total = tokens + sum(
            attachment.tokens - (attachment.image.saving if attachment.image and not sees_images else 0)
            for attachment in attachments
        )
        total += FRAMING_TOKENS if total else 0  # as the panel counts it once it is sent
        if text == self.widget.text() and self._session.shows(conversation):
            now = conversation.window.measure()[1]
            limit = conversation.window.message_limit  # of a message that can be sent
            unused = now.model_window - now.used - now.reserve
            free = max(0, min(int(unused / now.ratio), limit))
            makes_room = conversation.window.policy.enabled and not conversation.session.transcript.on_hold
            if makes_room and free < total <= limit:
                size = format_tokens(total)
                words = tr("Message: ≈ {tokens} tokens, older parts leave first", tokens=size)
                self.widget.set_estimate(words)
            elif makes_room and total > limit > 0:
                size = format_tokens(total)
                most = format_tokens(limit)
                words = tr("Message: ≈ {tokens} tokens, at most {limit} can be sent", tokens=size, limit=most)
                self.widget.set_estimate(words)
            elif total > free:
                size = format_tokens(total)
                room = format_tokens(free)
                words = tr("Message: ≈ {tokens} tokens, room for {free}", tokens=size, free=room)
                self.widget.set_estimate(words)
            elif total:
                self.widget.set_estimate(tr("Message: ≈ {tokens}", tokens=format_token_count(total)), "")
            else:
                self.widget.set_estimate("")

    async def _show(self) -> None:
        try:
            await self.drafts.switch(self._on_cleared)
        except StoreError as error:
            self._session.actions.show_error(error)
        self.show_availability()

    def _on_cleared(self, is_other: bool) -> None:
        self.show_availability()
        self.attachments.refresh()
        if is_other:
            self._mentioned = ()
        self.switched.emit()

    def show_availability(self) -> None:
        session = self._session
        is_writable = not session.has_workspace or (
            session.workspace.is_trusted() and not session.workspace.is_read_only
        )
        demo_runs = runs_demo_calls(session)
        self._page.set_writable(is_writable, has_model=self._has_model(), demo_runs=demo_runs)
        if not session.has_conversation:
            return
        conversation = session.conversation
        if self._refusals.get(session.id, ("", 0))[1] not in (0, conversation.model.window):
            self._withdraw_refusal()  # it said what does not fit the former model
        model = conversation.model
        change = conversation.model_choice.pending
        name = model_name(model.label, model.demo)
        effort = conversation.session.effort
        if change:
            name = model_name(change.label, demo=False)
            effort = ""
        tip = tr("Default model for this workspace. Click to choose one for this session.")
        if session.transcript.chosen_model:
            tip = translate(SESSION_MODEL)
        if effort:
            tip += "\n" + tr("Reasoning effort: {effort}", effort=effort_name(effort))
        self.widget.set_model(with_effort(name, effort), tip)
        self.widget.set_reasons(*self._reasons(session.workspace, conversation))

    def _reasons(self, workspace: OpenWorkspace, conversation: Conversation) -> tuple[str, ...]:
        """Return why nothing can be sent yet, or who answers; the longest text first."""
        if workspace.is_read_only:
            if self._session.app.data_dir.refusal:
                return (tr("Read-only: the data folder can't be written"),)
            return (tr("Read-only: folder not found"),)
        if not workspace.is_trusted():
            return (tr("Trust this folder to send messages"),)
        if workspace.policy_error is not None:
            return (tr("Fix the policy file to send messages"),)
        if conversation.model_choice.pending:
            return (tr("Choose a model to continue"),)
        if not self._has_model():
            return (tr("Connect a model to work in this folder"),)
        if conversation.model.demo and self._session.app.settings.providers:
            return (
                tr("The offline demo model answers from a script. Choose another model below."),
                tr("The offline demo model answers"),
            )
        return ()

    def _has_model(self) -> bool:
        """Return False where only the demo model would answer in a folder that its script isn't about."""
        session = self._session
        if not session.has_conversation or not session.conversation.model.demo:
            return True
        return bool(session.app.settings.providers) or session.app.registry.get(session.workspace.id).demo

    def send(self, text: str, steer: bool = False) -> None:
        """Begin to send what is written, with its attachments, to the conversation on screen.

        A built-in command is run instead, that of a prompt file becomes its message.
        """
        if not self._session.has_conversation:  # it is being left
            self.prepend(text)
            return
        self._withdraw_refusal()
        typed = parse_slash_input(text)
        command = find_slash_command(typed.name) if typed else None
        prompts = self._session.app.mcp_servers.prompts(self._session.workspace.id)
        prompt = next((prompt for prompt in prompts if typed and prompt.command == typed.name), None)
        if typed and command:
            self._session.start(self._run_command(command, typed.arguments, text), "command")
        elif typed and prompt:
            self._session.start(self._fill_in(prompt, typed, text, steer), "prompt")
        else:
            self._begin_to_send(text, steer, typed)

    async def _fill_in(self, prompt: ServerPrompt, typed: SlashInput, text: str, steer: bool) -> None:
        """Put what a prompt of a server says into the composer: the user reads it before it is sent."""
        workspace = self._session.workspace
        conversation = self._session.conversation
        if (await self._session.app.prompt_files.read(workspace.id)).find(typed.name):
            self._begin_to_send(text, steer, typed)
            return
        values = prompt.read_arguments(typed.arguments)
        for argument in prompt.arguments:
            if argument.is_required and not values.get(argument.name):
                title = f"{SLASH}{prompt.command}: {escape_hidden_name(argument.name)}"
                why = escape_hidden_name(argument.description)
                value = await dialogs.get_text(self.widget, title, accept_label=tr("Continue"), why=why)
                if value is None:
                    self.prepend(text)
                    return
                values[argument.name] = value
        try:
            filled = await self._session.app.mcp_servers.get_prompt(workspace.id, prompt, values)
            if not self._session.shows(conversation):  # the user went on elsewhere, where it doesn't belong
                return
            for name, data in filled.files:
                await self.attachments.attach_data(workspace, conversation, data, f"{prompt.server}: {name}")
        except HelixError:
            if self._session.shows(conversation):
                self.prepend(text)
            raise
        self.prepend(f" {filled.text}" if filled.text.startswith(SLASH) else filled.text)  # not as a command
        self.widget.editor.setFocus()
        what = tr("{server} wrote this message. Read it before you send it.", server=prompt.server)
        left_out = tr("Left out: {names}", names=filled.left_out) if filled.left_out else ""
        session_id = conversation.session.id
        self._session.notify(
            Notice(_SERVERS_TEXT, what, left_out, session_id=session_id, ends_with=(UserSpoke,))
        )

    def _on_text_changed(self, text: str) -> None:
        self._count_timer.start()
        if not text:
            self._session.notices.end(_SERVERS_TEXT)

    def _withdraw_refusal(self) -> None:
        """Take the notice away that says why the message before could not be sent: another one is tried."""
        if refusal := self._refusals.pop(self._session.id, None):
            self._session.notices.end(refusal[0])

    def send_as_message(self) -> None:
        """Begin to send what is written as it is, though it begins like a command."""
        self._withdraw_refusal()
        if self.widget.text().strip():
            self._begin_to_send(self.widget.take_text())

    def deny_with_message(self, call_id: str) -> bool:
        """Begin to deny a call with what is typed as the reason; False if it can't be one."""
        if self.widget.has_reason:
            self._start_sending(self._message(self.widget.take_text(), denied=(call_id,)))
            return True
        return False

    def answer_with_message(self, call_id: str, options: tuple[str, ...]) -> None:
        """Begin to answer a question with what is typed, beside options; not if it can't be an answer."""
        if self.widget.has_words:
            text = self.widget.take_text()
            self._start_sending(self._message(text, question=call_id, options=options))

    def _message(self, text: str, **about: Any) -> OutgoingMessage:
        return OutgoingMessage(self._session.workspace, self._session.conversation, text, **about)

    def _begin_to_send(self, text: str, steer: bool = False, typed: SlashInput | None = None) -> None:
        message = self._message(text, steer=steer, typed=typed)
        row = self._page.question
        if row is not None and not row.is_late and typed is None:
            message.question = row.question.call_id
            message.options = self._page.view.chat_viewport.item_cache.chosen(row)
        elif typed is None and self.widget.is_begun_as_denial and self._page.view.takes_denial:
            # A card of them can be seen: the words deny them all.
            asks = self._session.conversation.asks
            message.denied = tuple(ask.call_id for ask in asks if isinstance(ask, ApprovalRequest))
        waits = bool(self.attachments.attaching)
        if not waits:
            self._take_attachments(message)
        self._start_sending(message, waits)

    def _start_sending(self, message: OutgoingMessage, waits: bool = False) -> None:
        self._outgoing.append(message)
        message.task = self._session.start(self._send(message, waits), "send")

    def _take_attachments(self, message: OutgoingMessage) -> None:
        message.attachments = self.attachments.take(message.conversation.session.id)
        self.widget.set_estimate("")

    def send_proposal(self, text: str) -> None:
        self._start_sending(self._message(text))

    @handles(PutIntoMessage)
    def prepend(self, text: str) -> None:
        """Put a text that could not be sent, or an edit that came too late, in front of what is typed."""
        self.widget.set_text("\n".join(part for part in (text, self.widget.text()) if part))

    async def _send(self, message: OutgoingMessage, waits: bool) -> None:
        """Send a message; if it `waits`, once what was pasted or dropped just before belongs to it."""
        conversation = message.conversation
        if waits:
            await self.attachments.wait()
            if not self._session.shows(conversation):
                await self._restore_unsent(message)
                return
            self._take_attachments(message)
        expanded: ExpandedPrompt | None = None
        try:
            if await self._answers(message):
                await self._settle(message)
                return
            if message.typed is not None:
                expanded = await self._session.app.prompt_files.expand(message.workspace.id, message.typed)
            text, prompt = (expanded.text, expanded.source) if expanded else (message.text, None)
            attachments = await attach_mentioned_files(
                message.workspace.contents.attach_file, conversation.session.id, text, message.attachments
            )
            seq = await conversation.send(text, attachments, message.steer, prompt)
        except HelixError as error:
            window = conversation.model.window if isinstance(error, MessageTooLarge) else 0
            self._refusals[conversation.session.id] = error.what, window
            await self._restore_unsent(message)
            raise
        if not seq:
            await self._restore_unsent(message)
            return
        if expanded is not None:
            file = expanded.file
            warnings = " ".join(map(escape_hidden, prompt_warnings(file)))  # what may not be expected in it
            if warnings and file.sha256 not in self._warned:
                self._warned.add(file.sha256)
                what = tr("{command} was sent.", command=SLASH + file.name)
                self._session.notify(Notice(file.sha256, what, warnings))
        await self._settle(message)

    async def _answers(self, message: OutgoingMessage) -> bool:
        """Give a message to the question that waited for it, or to the call as the reason of its denial.

        Neither can have attachments.
        """
        if message.attachments:
            return False
        reply = QuestionReply(message.options, message.text)
        if message.question and await message.conversation.answer_question(message.question, reply):
            return True
        denial = ApprovalReply("deny", reason=message.text)
        is_denied = False
        for call_id in message.denied if message.text.strip() else ():
            if message.conversation.decide(call_id, denial):
                denial = ApprovalReply("deny")  # the model reads that the words hold for it
                is_denied = True
        return is_denied

    async def _settle(self, message: OutgoingMessage) -> None:
        conversation = message.conversation
        message.is_settled = True  # only now: before, the draft was the only copy of it
        try:
            if self._session.shows(conversation):
                await self.drafts.save(message.workspace, conversation, self.widget.text())
            elif message.workspace.id in self._session.app.open_workspaces:
                await self.drafts.save_elsewhere(message.workspace, conversation.session.id)
        finally:
            self._outgoing.remove(message)

    async def _run_command(self, command: SlashCommand, arguments: str, text: str) -> None:
        """Run a built-in command; what goes along with the next message stays."""
        conversation = self._session.conversation
        try:  # it may close the window
            await self.drafts.save(self._session.workspace, conversation, self.widget.text())
        except StoreError as error:
            self._session.actions.show_error(error)  # the command may be what makes room
        try:
            intent = self._session.commands.intent_of(command, arguments)
            if arguments:
                await self._session.run(intent)
            else:
                self._session.perform(intent)
        except HelixError as error:
            self._refusals[conversation.session.id] = error.what, 0
            if self._session.shows(conversation):
                self.prepend(text)
                self.drafts.save_later(self.widget.draft())
            raise

    async def _restore_unsent(self, message: OutgoingMessage) -> None:
        """Put a message that could not be sent back into the composer, or into the draft of its session."""
        workspace = message.workspace
        conversation = message.conversation
        session_id = conversation.session.id
        self.attachments.change(session_id, [*message.attachments, *self.attachments.of(session_id)])
        message.is_settled = True
        try:
            if self._session.id == session_id:
                self.widget.set_text(message.text + self.widget.text())
                self.attachments.refresh()
                await self.drafts.save(
                    self._session.workspace, self._session.conversation, self.widget.text()
                )
            else:
                text = message.text
                await self.drafts.put_away(workspace, conversation, text, is_whole=False, may_be_stored=True)
        finally:
            self._outgoing.remove(message)
