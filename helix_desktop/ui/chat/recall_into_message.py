"""Recall by the user: cached outputs, or lines of them, that go along with the next message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.ui.chat.composer.attachment_chips import AttachEntries
from helix_desktop.ui.chat.session_drafts import DraftAttachments
from helix_desktop.ui.design.dialogs import DialogChoice, ask
from helix_desktop.ui.kit.intents import Recall, ShowPage, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.outputs.entry_actions import RecallMany
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.outputs.preview import Preview
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.translation import Translator

tr = Translator("Outputs")

_MAX_CONTENTS = 100
"""Contents that one recall takes: more chips than that say nothing, and cost a window."""


class Recalls:
    """What Outputs gives to the draft on screen; `follow_preview` as soon as the page is built."""

    def __init__(self, session: Session, attachments: DraftAttachments) -> None:
        self._session = session
        self._attachments = attachments
        self._preview: Preview
        self._matches: Attachment | None = None  # of find's words in the preview, counted last
        self._search: asyncio.Task[None] | None = None
        session.handle(self)

    def follow_preview(self, outputs: OutputsPage) -> None:
        preview = self._preview = outputs.preview
        preview.matches_requested.connect(self._recall_matches)
        preview.content.find_bar.found.connect(self._forget_matches)
        preview.matches_found.connect(self._look)

    @handles(Recall)
    async def recall(self, digest: str, first: int, last: int) -> None:
        """Let a content, or its lines `first` to `last` (0: all), go along with the next message."""
        self._attachments.add(await self._session.workspace.contents.attach(digest, first, last))
        self._session.perform(ShowPage("chat"))

    @handles(AttachEntries)
    async def recall_each(self, digests: Sequence[str]) -> None:
        """Let contents go along with the next message. Raises HelixError."""
        workspace = self._session.workspace
        for digest in digests:
            attachment = await workspace.contents.attach(digest)
            if self._session.shows(workspace):
                self._attachments.add(attachment)

    @handles(RecallMany)
    async def recall_many(self, digests: Sequence[str]) -> None:
        """Say what the first of very many contents cost, and let them go along if the user wants that."""
        workspace = self._session.workspace
        attachments = [await workspace.contents.attach(digest) for digest in digests[:_MAX_CONTENTS]]
        what = tr.plural(len(attachments), "Recall %n entry into message?", "Recall %n entries into message?")
        cost = tr("≈ {tokens}", tokens=format_token_count(sum(each.tokens for each in attachments)))
        if len(digests) > _MAX_CONTENTS:
            first = tr.plural(
                len(digests),
                "The first {some} of %n entry",
                "The first {some} of %n entries",
                some=_MAX_CONTENTS,
            )
            cost = f"{first} · {cost}"
        choices = (DialogChoice("", tr("Cancel")), DialogChoice("recall", tr("Recall"), "primary"))
        answer = await ask(self._session.window, what, cost, choices)
        if answer and self._session.shows(workspace):
            self._attachments.add(*attachments)
            self._session.perform(ShowPage("chat"))

    def _forget_matches(self, words: str) -> None:
        if not words:
            self._matches = None
            if self._search is not None:
                self._search.cancel()
                self._search = None

    def _look(self, words: str) -> None:
        """Count the lines of the preview's text in which words stand, as find has them."""
        search = self._count_matches(self._preview.digest, words)
        self._search = self._session.start(search, "count matching lines")

    async def _count_matches(self, digest: str, words: str) -> None:
        try:
            found = await self._session.workspace.contents.attach_matches(digest, words)
        except HelixError:
            return  # a damaged content, say: the preview says so
        if found.attachment is None or digest != self._preview.digest:
            return
        self._matches = found.attachment
        cost = tr("≈ {tokens}", tokens=format_token_count(found.attachment.tokens))
        recall = tr.plural(found.count, "Recall %n matching line", "Recall %n matching lines")
        if not found.is_complete:
            recall = tr.plural(found.count, "Recall over %n matching line", "Recall over %n matching lines")
        self._preview.show_matches(f"{recall} · {cost}")

    def _recall_matches(self) -> None:
        if self._matches is not None:
            self._attachments.add(self._matches)
            self._session.perform(ShowPage("chat"))
