"""What a room's store holds, as a person asks for it: found, verified, brought into a message."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.agent.ports import Counter, Store
from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of, is_digest, is_prefix, size_text
from helix_desktop.context.errors import ContentDamaged, DigestAmbiguous, DigestUnknown, InputUnusable
from helix_desktop.context.event import Attachment
from helix_desktop.context.image import LARGEST, Image, image_of


class Verdict(msgspec.Struct, frozen=True):
    """What became of verifying one content."""

    digest: str
    sound: bool
    text: str


class Holdings:
    """The contents of one workspace's store."""

    def __init__(self, store: Store, counter: Counter) -> None:
        self.store, self._counter = store, counter

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
        (tokens,) = await self._counter.count([text])
        return tokens


def _lines(data: bytes, first: int, last: int) -> str:
    """The text of a content, or its lines from `first` (0: all of it) to `last` (0: the end)."""
    text = data.decode("utf-8", "replace")
    return "\n".join(text.splitlines()[first - 1 : last or None]) if first else text
