"""What the person is writing: the draft, what goes along with it, and its price in tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.room import Room
from helix_desktop.agent.update import Happened, TurnChanged, Update
from helix_desktop.context.errors import HelixError, InputUnusable, StoreError
from helix_desktop.context.event import Attachment, MessageQueued, Recorded, UserSpoke
from helix_desktop.ui.chat.brought import SUFFIXES, Brought
from helix_desktop.ui.chat.composer import Composer
from helix_desktop.ui.chat.from_events import model_name
from helix_desktop.ui.dialogs import pick_open_files
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.intents import Intents

_COUNT_AFTER_MS = 250
SESSION_MODEL, WORKSPACE_MODEL = "Model for this session", "Default model for this workspace"
"""For what a model was chosen, in words."""


class MessageTooLarge(HelixError):
    """A message fills the window by itself."""


class Composing(QObject):
    """Binds the composer to one conversation at a time. Drafts survive switching, closing and crashes."""

    image_stored = Signal()
    """An image of a draft is in the cache now."""

    def __init__(self, composer: Composer, intents: Intents) -> None:
        super().__init__(composer)
        self.composer, self._intents = composer, intents
        self._room: Room | None = None
        self._conversation: Conversation | None = None
        self._attached: dict[str, list[Attachment]] = {}
        self.folder_of: Callable[[str], Path] = lambda _: Path.home()
        """The folder of a workspace, by its id."""
        self._attach_folders: dict[str, Path] = {}  # where files were attached from last, by workspace
        self._in_turn = asyncio.Lock()
        self._count = QTimer(self)
        self._count.setSingleShot(True)
        self._count.setInterval(_COUNT_AFTER_MS)
        self._count.timeout.connect(lambda: intents.start(self._estimate(), "count draft"))
        composer.submitted.connect(self.send)
        composer.steered.connect(lambda text: self.send(text, steer=True))
        composer.stop_requested.connect(lambda: intents.start(self._stop(), "stop"))
        composer.text_paused.connect(self._paused)
        composer.text_changed.connect(lambda _: self._count.start())
        composer.attachment_removed.connect(self._detach)
        composer.images_brought.connect(self._bring)
        composer.images_wanted.connect(lambda: intents.start(self._choose_images(), "choose images"))

    async def show(self, room: Room | None, conversation: Conversation | None) -> None:
        """Put the draft of a conversation into the composer; the former one's is kept.

        From the first moment on, what is typed belongs to the new one.
        """
        former, written = (self._room, self._conversation), self.composer.text()
        self._room, self._conversation = room, conversation
        self.composer.set_text("")
        self.show_trust()
        self._show_attached()
        try:
            await self._save(*former, written)
            if room is None or conversation is None:
                return
            self.show_trust()
            draft = await room.store.draft(conversation.session.id)
        except StoreError as error:
            self._intents.tell(error)  # a draft that cannot be kept must not hold up the person
            return
        self._attached.setdefault(conversation.session.id, list(draft.attachments))
        if conversation is self._conversation:
            self.composer.set_text(draft.text + self.composer.text())
            self._show_attached()
            self._count.start()

    def show_trust(self) -> None:
        """Let the person write where something can be sent, and say why where it cannot."""
        room = self._room
        self.composer.setEnabled(room is None or (room.trusted() and not room.reading))
        if room is None or self._conversation is None:
            return
        model, held = self._conversation.model, self._conversation.held
        own = self._conversation.session.transcript.chosen_model
        self.composer.set_model(
            model_name(held or model.label, model.demo and not held),
            SESSION_MODEL if own else f"{WORKSPACE_MODEL}. Click to choose one for this session.",
        )
        if held:
            self.composer.editor.setPlaceholderText("Choose which model goes on before you send.")
        if room.reading:
            self.composer.editor.setPlaceholderText("Open for reading only: the folder is not there.")
        elif not room.trusted():
            self.composer.editor.setPlaceholderText("Nothing can be sent before you trust this folder.")

    def forget_attached(self) -> None:
        """Drop what goes along with the next messages, in every session."""
        self._attached.clear()
        self._show_attached()

    def _paused(self, text: str) -> None:
        self._intents.start(self._save(self._room, self._conversation, text), "save draft")

    async def _save(self, room: Room | None, conversation: Conversation | None, text: str) -> None:
        if room is not None and conversation is not None:
            session = conversation.session.id
            await room.store.save_draft(session, text, self._attached.get(session, ()))

    def send(self, text: str, steer: bool = False) -> None:
        """Begin to send what is written, with its attachments, to the conversation on screen."""
        if self._room is not None and self._conversation is not None:
            attached = self._attached.pop(self._conversation.session.id, [])
            self._show_attached()
            self.composer.set_estimate("")
            self._start_sending(self._room, self._conversation, text, attached, steer)

    def send_proposal(self, text: str) -> None:
        """Begin to send a proposed message to the conversation on screen; the draft stays as it is."""
        if self._room is not None and self._conversation is not None:
            self._start_sending(self._room, self._conversation, text, [], steer=False)

    def _start_sending(
        self, room: Room, conversation: Conversation, text: str, attached: list[Attachment], steer: bool
    ) -> None:
        self._intents.start(self._send(room, conversation, text, attached, steer), "send")

    def take_in(self, text: str) -> None:
        """Put words that found no other place in front of what is typed."""
        self.composer.set_text("\n".join(part for part in (text, self.composer.text()) if part))

    async def _send(
        self, room: Room, conversation: Conversation, text: str, attached: list[Attachment], steer: bool
    ) -> None:
        try:
            async with self._in_turn:  # counted on threads, a later message could be through sooner
                tokens = await room.count(text) + sum(one.tokens for one in attached)
            _refuse_too_large(conversation, tokens)
            kept = await _recorded(conversation, text, attached, steer)
        except HelixError:
            await self._give_back(room, conversation, text, attached)
            raise
        if kept:
            if conversation is self._conversation:  # only now: before, the draft was the only copy of it
                await self._save(room, conversation, self.composer.text())
            return
        await self._give_back(room, conversation, text, attached)

    async def _give_back(
        self, room: Room, conversation: Conversation, text: str, attached: list[Attachment]
    ) -> None:
        """Put a message that could not be sent back into the composer, or into the draft of its session."""
        self._attached[conversation.session.id] = attached + self._attached.get(conversation.session.id, [])
        if conversation is self._conversation:
            self.composer.set_text(text + self.composer.text())
            self._show_attached()
            text = self.composer.text()
        else:
            text += (await room.store.draft(conversation.session.id)).text
        await self._save(room, conversation, text)

    async def _stop(self) -> None:
        if self._conversation is not None:
            await self._conversation.stop()

    def attach(self, attachment: Attachment) -> None:
        """Let recalled content go along with the next message."""
        if self._conversation is not None:
            self._hold(self._conversation, attachment)
            self._paused(self.composer.text())

    def _hold(self, conversation: Conversation, attachment: Attachment) -> None:
        held = self._attached.setdefault(conversation.session.id, [])
        if all(_key(one) != _key(attachment) for one in held):
            held.append(attachment)
        if conversation is not self._conversation:
            return
        self._show_attached()
        self._count.start()
        self.composer.editor.setFocus()

    def _bring(self, images: list[Brought]) -> None:
        """Let images go along with the next message of the conversation on screen."""
        room, conversation = self._room, self._conversation
        if room is not None and conversation is not None and not room.reading:
            self._intents.start(self._attach_images(room, conversation, images), "attach images")

    async def _choose_images(self) -> None:
        room = self._room
        if room is None:
            return
        patterns = " ".join(f"*{suffix}" for suffix in sorted(SUFFIXES))
        start = self._attach_folders.get(room.id) or self.folder_of(room.id)
        paths = await pick_open_files(self.composer, "Attach images", f"Images ({patterns})", start)
        if paths:
            self._attach_folders[room.id] = paths[0].parent
        self._bring([Brought(path.name, path) for path in paths])

    async def _attach_images(self, room: Room, conversation: Conversation, images: list[Brought]) -> None:
        for one in images:
            try:
                data = await asyncio.to_thread(one.read)
            except OSError as error:
                raise InputUnusable(
                    f"{one.label} could not be read.", f"{error.strerror or error}.", "Check the file."
                ) from error
            attachment = await room.attach_image(conversation.session.id, data, one.label)
            self._hold(conversation, attachment)
            self.image_stored.emit()
        here = conversation is self._conversation
        text = self.composer.text() if here else (await room.store.draft(conversation.session.id)).text
        await self._save(room, conversation, text)

    def _detach(self, key: str) -> None:
        if self._conversation is not None:
            identity = self._conversation.session.id
            held = self._attached.get(identity, [])
            self._attached[identity] = [one for one in held if _key(one) != key]
            self._paused(self.composer.text())
        self._show_attached()
        self._count.start()

    def _held(self) -> list[Attachment]:
        return self._attached.get(self._conversation.session.id, []) if self._conversation else []

    def _show_attached(self) -> None:
        sees = self._conversation is not None and self._conversation.model.images
        self.composer.set_attachments([(_key(one), attached_text(one, sees)) for one in self._held()])

    async def _estimate(self) -> None:
        text, room, conversation = self.composer.text(), self._room, self._conversation
        if room is None or conversation is None:
            return
        tokens = await room.count(text) if text.strip() else 0
        total = tokens + sum(one.tokens for one in self._held())
        if text == self.composer.text() and conversation is self._conversation:
            now = conversation.measure()[1]
            self.composer.set_estimate(_price(total, max(0, now.window - now.used - now.reserve)))


async def _recorded(conversation: Conversation, text: str, attached: list[Attachment], steer: bool) -> bool:
    """Send a message, and wait until it is on record or its turn has ended without that."""
    heard: asyncio.Queue[Update] = asyncio.Queue()
    leave = conversation.session.listen(heard.put_nowait)
    try:
        await conversation.send(text, attached, steer)
        while True:
            match await heard.get():
                case Happened(recorded=Recorded(event=UserSpoke() | MessageQueued() as said)):
                    if said.text == text:
                        return True
                case TurnChanged(running=False) if heard.empty() and not conversation.running:
                    return False
                case _:
                    pass
    finally:
        leave()


def _refuse_too_large(conversation: Conversation, tokens: int) -> None:
    """Raise MessageTooLarge for a message that can never be sent: it would stand in the way of all others."""
    _, now = conversation.measure()
    fixed = sum(row.tokens for row in conversation.rows() if row.kind in ("system", "tools", "mcp"))
    room = int((now.threshold - now.reserve) / now.ratio) - fixed
    if tokens > room:
        raise MessageTooLarge(
            "This message is too large for the model's window.",
            f"It has about {tokens:,} tokens; a message may have {max(0, room):,} here.",
            "Recall fewer lines, shorten it, or choose a model with a larger window.",
        )


def _key(one: Attachment) -> str:
    return f"{one.digest}:{one.label}"


def attached_text(one: Attachment, sees: bool) -> str:
    """What a chip says: name and price; of an image that the model cannot see, that it gets its name only."""
    if one.image and not sees:
        return f"{one.label} · the model sees no images"
    return f"{one.label} · {tokens_text(one.tokens)} tokens"


def _price(tokens: int, free: int) -> str:
    if not tokens:
        return ""
    words = f"Message: ≈ {tokens_text(tokens)} {'token' if tokens == 1 else 'tokens'}"
    return words if tokens <= free else f"{words}, {tokens_text(free)} free"
