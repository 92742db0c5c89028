"""Recall of cached contents into the next message: many at once, or the lines that find has."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from PySide6.QtCore import QObject

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.ui.cache.entry_actions import RecallMany
from helix_desktop.ui.chat.composer.attachment_chips import AttachEntries
from helix_desktop.ui.design.dialogs import DialogChoice, ask
from helix_desktop.ui.kit.intents import Recall, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.drafts.attachments import DraftAttachments
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_MAX_CONTENTS = 100
"""Contents that one recall takes: more chips than that say nothing, and cost a window."""


class RecallController(QObject):
    def __init__(self, window: MainWindow, session: Session, attachments: DraftAttachments) -> None:
        super().__init__(window)
        self._window, self._session, self._attachments = window, session, attachments
        self._preview = window.pages.cache.preview
        self._matches: Attachment | None = None  # of find's words, counted last
        self._search: asyncio.Task[None] | None = None
        window.intents.add(self)
        self._preview.matches_requested.connect(self._recall_matches)
        self._preview.content.find_bar.found.connect(self._forget_matches)
        self._preview.matches_found.connect(self._look)
        self._start = session.start

    @handles(Recall)
    async def recall(self, digest: str, first: int, last: int) -> None:
        """Let a content, or its lines `first` to `last` (0: all), go along with the next message."""
        self._attachments.add(await self._session.workspace.contents.attach(digest, first, last))
        self._window.show_page("chat")

    @handles(AttachEntries)
    async def recall_whole(self, digests: Sequence[str]) -> None:
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
        answer = await ask(self._window, self._window.theme, what, cost, choices)
        if answer and self._session.shows(workspace):
            self._attachments.add(*attachments)
            self._window.show_page("chat")

    def _forget_matches(self, words: str) -> None:
        if not words:
            self._matches = None
            if self._search is not None:
                self._search.cancel()
                self._search = None

    def _look(self, words: str) -> None:
        """Count the lines of the preview's text in which words stand, as find has them."""
        self._search = self._start(self._count_matches(self._preview.digest, words), "count matching lines")

    async def _count_matches(self, digest: str, words: str) -> None:
        try:
            found = await self._session.workspace.contents.attach_matches(
                digest, f"(?i){re.escape(words)}", 0
            )
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
            self._window.show_page("chat")
