"""A room: one open workspace with its store, its sessions and its model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

import msgspec

from helix_desktop.agent.conversation import Conversation, Parts
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.terms import Terms
from helix_desktop.agent.update import Happened, Update
from helix_desktop.context.content import Content, SessionSummary
from helix_desktop.context.digest import digest_of, is_digest, is_prefix, size_text
from helix_desktop.context.errors import ContentDamaged, DigestAmbiguous, DigestUnknown, InputUnusable
from helix_desktop.context.event import NEW_TITLE, AssistantSpoke, Attachment, Recorded, SessionStarted
from helix_desktop.context.image import LARGEST, Image, image_of
from helix_desktop.context.policy import Policy
from helix_desktop.context.transcript import Transcript


class Verdict(msgspec.Struct, frozen=True):
    """What became of verifying one content."""

    digest: str
    sound: bool
    text: str


class Room:
    """An open workspace. Its conversations run whether or not anybody looks.

    `reading` says that its folder is not there, so that it can be looked at and no more.
    """

    def __init__(
        self, identity: str, parts: Parts, policy: Policy, model: Model, reading: bool = False
    ) -> None:
        self.id = identity
        self.reading = reading
        self.store = parts.store
        self.policy = policy
        self._parts = parts
        self._ratios: dict[str, float] = {}
        self._terms = Terms(parts, lambda: self.policy, model, self._ratios)
        self._open: dict[str, Conversation] = {}
        self._children: dict[str, Conversation] = {}
        self._listeners: list[Callable[[str, Update], None]] = []

    def clock(self) -> int:
        """Milliseconds since 1970."""
        return self._parts.clock()

    @property
    def model(self) -> Model:
        """The model that answers in this workspace."""
        return self._terms.model

    async def use(self, model: Model) -> None:
        """Let another model answer from the next step on; subagents go on with the one they began with."""
        await self._terms.use(model)

    async def retool(self) -> None:
        """Let the model know of changed tools from the next step on; subagents keep those they began with."""
        await self._terms.retool()

    async def sessions(self, parent: str = "") -> list[SessionSummary]:
        """All sessions that a person began, or the subagents of one, last used first."""
        return [one for one in await self.store.sessions() if one.parent == parent]

    async def begin(self, title: str = NEW_TITLE) -> Conversation:
        """Begin a session."""
        conversation = await self.open(uuid.uuid4().hex)
        await conversation.session.record(SessionStarted(title))
        return conversation

    async def open(self, session: str) -> Conversation:
        """The conversation of a session, opened once; a turn that a crash cut off is marked interrupted."""
        known = self._open.get(session) or self._children.get(session)
        if known is not None:
            self._open[session] = known
            return known
        if not self._terms.framed:
            await self.use(self.model)
        log = await self.store.events(session)
        transcript = await asyncio.to_thread(Transcript, log)
        listed = await self.store.sessions()
        if session in self._open:
            return self._open[session]
        scope = TaskScope()
        opened = Session(session, self.store, self._parts.clock, scope, log, transcript)
        for one in listed:
            for label, ratio in one.ratios.items():
                self._ratios.setdefault(label, ratio)  # the newest session comes first
            if one.id == session:
                opened.take_figures(one)
        nursery = None if transcript.parent else self
        conversation = Conversation(opened, scope, self._parts, self._terms, nursery)
        self._open[session] = conversation
        opened.listen(lambda update: self._hear(opened, update))
        await opened.mend()
        return conversation

    def _hear(self, session: Session, update: Update) -> None:
        match update:
            case Happened(recorded=Recorded(event=AssistantSpoke(model=model))) if model in session.ratios:
                self._ratios[model] = session.ratios[model]
        if session.id in self._open:  # of a subagent that nobody looks at, its parent tells
            for listener in tuple(self._listeners):
                listener(session.id, update)

    async def admit(self, policy: Policy | None, model: Model | None) -> Conversation:
        """A subagent's conversation, without a log yet; by the room's policy and model if none is given."""
        parts, scope = self._parts.for_subagents(), TaskScope()
        terms = Terms(parts, lambda: policy or self.policy, model or self.model, self._ratios)
        await terms.use(terms.model)
        session = Session(uuid.uuid4().hex, self.store, parts.clock, scope, [], Transcript())
        session.listen(lambda update: self._hear(session, update))
        self._children[session.id] = Conversation(session, scope, parts, terms)
        return self._children[session.id]

    async def release(self, session: str) -> None:
        """Let go of a subagent that has ended, unless somebody has opened its session."""
        if session not in self._open:
            await self._children[session].close()
        del self._children[session]

    async def shut(self, session: str) -> None:
        """End what runs in a session and let go of it: the next `open` reads it anew from the store."""
        conversation = self._open.get(session)
        if conversation is not None:
            await conversation.close()
            self._open.pop(session, None)

    def listen(self, listener: Callable[[str, Update], None]) -> Callable[[], None]:
        """Hear the updates of every open session, and of subagents what their parents tell of them.

        Call the returned function to stop.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The conversations that are open."""
        return tuple(self._open.values())

    async def resolve(self, prefix: str) -> str:
        """The one digest that begins with `prefix`. Raises DigestUnknown, DigestAmbiguous."""
        plain = prefix.strip().lower()
        found = await self.store.find(plain, 6) if is_prefix(plain) else []
        if len(found) == 1:
            return found[0]
        if not found and is_digest(plain):
            await self.store.entry(plain)  # says so when it was forgotten
        if not found:
            raise DigestUnknown(
                f"No cached output begins with {prefix[:64]!r}.",
                "This workspace's cache holds no such hash.",
                "List the entries to see what is there.",
            )
        raise DigestAmbiguous(
            f"Several cached outputs begin with {plain!r}.",
            ", ".join(one[:16] for one in found),
            "Give more digits.",
            near=tuple(found),
        )

    async def verify(self, digest: str) -> Verdict:
        """Read a content again and compare its SHA-256 with its name."""
        try:
            data = await self.store.get(digest)
        except ContentDamaged as error:
            return Verdict(digest, False, str(error))
        return Verdict(digest, True, f"{len(data):,} bytes match their SHA-256")

    async def attach(self, digest: str, first: int = 0, last: int = 0) -> Attachment:
        """A content, or its lines `first` to `last` (from 1), ready to be recalled into a message."""
        data = await self.store.get(digest)
        entry = await self.store.entry(digest)
        label = " ".join(part for part in (entry.tool, entry.target) if part) or digest[:12]
        image = image_of(data, digest, label) if len(data) <= LARGEST else None
        if image is not None:
            return await self._pictured(image)
        text = await asyncio.to_thread(_lines, data, first, last)
        if first:
            label = f"{label}, lines {first}-{last or 'end'}"
        return Attachment(digest, label, text, await self.count(text), len(data))

    async def attach_image(self, session: str, data: bytes, label: str) -> Attachment:
        """An image the person brought along, stored and ready to go into a message.

        Raises InputUnusable for what is no image, or too large for one.
        """
        image = image_of(data, digest_of(data), label)
        if image is None or len(data) > LARGEST:
            raise InputUnusable(
                f"{label} cannot be sent as an image.",
                f"It is {size_text(len(data))}; an image may have {size_text(LARGEST)}."
                if image
                else "It is no PNG, JPEG, GIF or WebP image.",
                "Make it smaller and attach it again." if image else "Convert it to PNG and attach it again.",
            )
        content = Content(image.digest, data, "image", image.label, image.about, image.tokens)
        await self.store.commit(session, contents=[content])
        return await self._pictured(image)

    async def _pictured(self, image: Image) -> Attachment:
        tokens = image.tokens + await self.count(image.text)
        marker_tokens = await self.count(image.marker)
        return Attachment(image.digest, image.label, "", tokens, image.size, image, marker_tokens)

    async def count(self, text: str) -> int:
        """Tokens of a text."""
        (tokens,) = await self._parts.counter.count([text])
        return tokens

    async def close(self) -> None:
        """End every turn, then close the store."""
        for conversation in (*self._open.values(), *self._children.values()):
            await conversation.close()
        await self.store.close()


def _lines(data: bytes, first: int, last: int) -> str:
    """The text of a content, or its lines from `first` (0: all of it) to `last` (0: the end)."""
    text = data.decode("utf-8", "replace")
    return "\n".join(text.splitlines()[first - 1 : last or None]) if first else text
