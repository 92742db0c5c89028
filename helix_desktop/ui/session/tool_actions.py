"""User actions on a tool card: pin it, recall it, read the original, see what became of it."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.message_states import MessageStates
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import HeadAndTail, OriginalOutput, ToolRow
from helix_desktop.ui.chat.rows.tool_rows import head_and_tail
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import get_text
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.navigation import SessionNavigation

_EXTRACT_TITLE = "What should the extract contain?"
_EXTRACT_NOTE = "A model reads the whole output and keeps what you name. The original stays in the cache."


class ToolCardController(QObject):
    """Binds the cards of the chat to the conversation on screen."""

    session_requested = Signal(str)
    """The session of a subagent is to be shown."""

    def __init__(
        self,
        session_controller: SessionController,
        navigation: SessionNavigation,
        async_actions: AsyncActions,
    ) -> None:
        super().__init__(session_controller)
        self._session_controller, self._navigation, self._async_actions = (
            session_controller,
            navigation,
            async_actions,
        )
        view = session_controller.views.chat.view
        view.tool_action_triggered.connect(self._on_action)
        view.content_requested.connect(
            lambda key, is_full: async_actions.start(self._read_original(key, is_full), "read original")
        )

    def _row(self, key: RowKey) -> ToolRow | None:
        model = self._session_controller.views.chat.model
        index = model.index_of(key)
        row = model.row(index) if index is not None else None
        return row if isinstance(row, ToolRow) else None

    def _on_action(self, key: RowKey, action: str) -> None:
        row, conversation = self._row(key), self._session_controller.conversation
        if row is None or conversation is None:
            return
        name, _, what = action.partition(":")
        match name:
            case "pin":
                self._async_actions.start(conversation.pin(row.answer_seq), "pin")
            case "unpin":
                self._async_actions.start(conversation.unpin(row.answer_seq), "unpin")
            case "recall":
                self._async_actions.start(self._navigation.recall(row.digest, 0, 0), "recall")
            case "cache" | "argument":
                self._navigation.show_cache_entry(what or row.digest)
            case "form":
                self._async_actions.start(self._choose_form(conversation, row, what), "choose form")
            case "stop":
                conversation.running_calls.stop(row.call_id)
            case "subagent":
                self.session_requested.emit(row.subagent_session)
            case "timeline":
                self._session_controller.reveal(
                    covering_rewrite(conversation.session.transcript, row.answer_seq)
                )

    async def _choose_form(self, conversation: Conversation, row: ToolRow, form_name: str) -> None:
        """Show the agent an output in another form; an extract takes the user's instructions."""
        form: Form = "full" if form_name == "full" else "preview" if form_name == "preview" else "compact"
        instructions = ""
        if form == "compact":
            answer = await get_text(
                self._session_controller.views.chat,
                _EXTRACT_TITLE,
                row.instructions,
                "Extract",
                _EXTRACT_NOTE,
            )
            if answer is None:
                return
            instructions = answer
        await conversation.choose_form(row.answer_seq, form, instructions)

    async def _read_original(self, key: RowKey, in_full: bool) -> None:
        """Show the original of an output in its card: its ends, or all of it."""
        row, workspace, conversation = (
            self._row(key),
            self._session_controller.workspace,
            self._session_controller.conversation,
        )
        if row is None or workspace is None or conversation is None:
            return
        try:
            data = await workspace.store.get(row.digest)
            tokens = (await workspace.store.entry(row.digest)).tokens
            original = OriginalOutput(await asyncio.to_thread(_split_ends, data, in_full), tokens)
        except HelixError as error:
            original = OriginalOutput(problem=error.what)
        self._show_original(conversation, key, original)

    def _show_original(self, conversation: Conversation, key: RowKey, original: OriginalOutput) -> None:
        if (
            conversation is self._session_controller.conversation
        ):  # else the user went on to another session meanwhile
            self._session_controller.chat.show_original(key, original)


def _split_ends(data: bytes, in_full: bool) -> HeadAndTail:
    text = data.decode("utf-8", "replace")
    ends = head_and_tail(text)
    return HeadAndTail(text.removesuffix("\n"), "", ends.lines) if in_full else ends


def covering_rewrite(transcript: Transcript, seq: int) -> int:
    """The rewrite that took a message out of the window, or made markers of it; 0 when there is none."""
    cover = MessageStates(transcript).cover_of(seq)
    if cover is not None:
        return cover.seq
    rewrites = transcript.rewrites
    return max(
        (at for at, sweep in rewrites.sweeps.items() if seq in sweep.masked and rewrites.is_active(at)),
        default=0,
    )
