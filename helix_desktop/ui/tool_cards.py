"""What a person does with a tool's card: pin it, recall it, read the original, see what became of it."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event_rewrite import Form
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.chat.rows import Ends, Original, ToolRow
from helix_desktop.ui.chat.tool_rows import ends_of
from helix_desktop.ui.dialogs import get_text
from helix_desktop.ui.history import History
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.standing import Standings
from helix_desktop.ui.work import Work

_EXTRACT = "What should the extract contain?"
_READS = "A model reads the whole output and keeps what you name. The original stays in the cache."


class ToolCards(QObject):
    """Binds the cards of the chat to the conversation on screen."""

    session_wanted = Signal(str)
    """The session of a subagent is to be shown."""

    def __init__(self, work: Work, history: History, intents: Intents) -> None:
        super().__init__(work)
        self._work, self._history, self._intents = work, history, intents
        view = work.screens.chat.view
        view.card_chosen.connect(self._do)
        view.content_wanted.connect(lambda key, whole: intents.start(self._read(key, whole), "read original"))

    def _row(self, key: str) -> ToolRow | None:
        model = self._work.screens.chat.model
        index = model.index_of(key)
        row = model.row(index) if index is not None else None
        return row if isinstance(row, ToolRow) else None

    def _do(self, key: str, deed: str) -> None:
        row, conversation = self._row(key), self._work.conversation
        if row is None or conversation is None:
            return
        name, _, what = deed.partition(":")
        match name:
            case "pin":
                self._intents.start(conversation.pin(row.answer), "pin")
            case "unpin":
                self._intents.start(conversation.unpin(row.answer), "unpin")
            case "recall":
                self._intents.start(self._history.recall(row.digest, 0, 0), "recall")
            case "cache" | "argument":
                self._history.show_digest(what or row.digest)
            case "form":
                self._intents.start(self._choose(conversation, row, what), "choose form")
            case "stop":
                conversation.calls.stop(row.call_id)
            case "subagent":
                self.session_wanted.emit(row.subagent)
            case "timeline":
                self._work.reveal(became(conversation.session.transcript, row.answer))

    async def _choose(self, conversation: Conversation, row: ToolRow, what: str) -> None:
        """Let the agent see an output in another form; an extract is asked for in the person's words."""
        form: Form = "full" if what == "full" else "preview" if what == "preview" else "compact"
        asked = ""
        if form == "compact":
            wanted = await get_text(self._work.screens.chat, _EXTRACT, row.asked, "Extract", _READS)
            if wanted is None:
                return
            asked = wanted
        await conversation.choose_form(row.answer, form, asked)

    async def _read(self, key: str, whole: bool) -> None:
        """Show the original of an output in its card: its ends, or all of it."""
        row, room, conversation = self._row(key), self._work.room, self._work.conversation
        if row is None or room is None or conversation is None:
            return
        try:
            data = await room.store.get(row.digest)
            tokens = (await room.store.entry(row.digest)).tokens
            original = Original(await asyncio.to_thread(_lines_of, data, whole), tokens)
        except HelixError as error:
            original = Original(problem=error.what)
        self._show(conversation, key, original)

    def _show(self, conversation: Conversation, key: str, original: Original) -> None:
        if conversation is self._work.conversation:  # else the person went on to another session meanwhile
            self._work.chat.show_original(key, original)


def _lines_of(data: bytes, whole: bool) -> Ends:
    text = data.decode("utf-8", "replace")
    ends = ends_of(text)
    return Ends(text.removesuffix("\n"), "", ends.lines) if whole else ends


def became(transcript: Transcript, seq: int) -> int:
    """The rewrite that took a message out of the window, or made markers of it; 0 when there is none."""
    cover = Standings(transcript).cover(seq)
    if cover is not None:
        return cover.seq
    held = transcript.rewrites
    return max((at for at, one in held.sweeps.items() if seq in one.masked and held.holds(at)), default=0)
