"""Recall of a part of cached contents into the next message: looked for while the user types."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.cache.recall.dialog import RecallDialog
from helix_desktop.ui.cache.recall.part import RecallPart
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.numbers import format_size, format_token_count
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_MAX_CONTENTS = 100
"""Contents that one recall looks through: more chips than that say nothing, and cost a window."""


class _RecallResult(msgspec.Struct, frozen=True):
    """What a part is of several contents: how many lines match, and whether all were counted.

    `total` is how many lines there are of which some were asked for by number.
    """

    attachments: tuple[Attachment, ...] = ()
    lines: int = 0
    is_complete: bool = True
    total: int = 0


class RecallController(QObject):
    """Opens the dialog for the entries that are selected in the cache browser."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._window, self._async_actions = context.window, context.async_actions
        self._session_controller = session_controller
        self._search: asyncio.Task[None] | None = None
        self._found: tuple[RecallPart, _RecallResult] | None = None
        self.dialog: RecallDialog | None = None
        context.views.chat.composer.entries_dropped.connect(
            lambda digests: context.async_actions.start(self.recall_whole(digests), "recall")
        )
        context.views.cache.entry_actions.recall_part_requested.connect(
            lambda *what: context.async_actions.start(self.choose_part(*what), "recall a part")
        )

    async def recall_whole(self, digests: Sequence[str]) -> None:
        """Let contents go along with the next message. Raises HelixError."""
        workspace = self._session_controller.workspace
        for digest in digests:
            if workspace is None:
                return
            attachment = await workspace.contents.attach(digest)
            if workspace is self._session_controller.workspace:
                self._session_controller.composer.attachments.add(attachment)

    async def choose_part(self, digests: Sequence[str], part: RecallPart | None = None) -> None:
        """Ask what to recall, first `part`, and let it go along with the next message. Raises HelixError."""
        workspace = self._session_controller.workspace
        if workspace is None or self.dialog is not None:
            return
        part = part or RecallPart("pattern")
        subject = await _subject(workspace, digests)
        digests = digests[:_MAX_CONTENTS]
        dialog = self.dialog = RecallDialog(self._window, subject, part, has_lines=len(digests) == 1)
        dialog.part_changed.connect(lambda recall_part: self._start_search(workspace, digests, recall_part))
        retint(dialog, self._window.theme)
        self._found = None
        if part.how != "pattern":
            self._start_search(workspace, digests, part)
        try:
            accepted = await exec_async(dialog)
        finally:
            self.dialog = None
            self._cancel_search()
        if accepted and self._found is not None and workspace is self._session_controller.workspace:
            self._session_controller.composer.attachments.add(*self._found[1].attachments)
            self._window.show_page("chat")

    def _start_search(self, workspace: OpenWorkspace, digests: Sequence[str], part: RecallPart) -> None:
        self._cancel_search()
        self._search = self._async_actions.start(self._look(workspace, digests, part), "recall a part")

    def _cancel_search(self) -> None:
        if self._search is not None:
            self._search.cancel()
        self._search = None

    async def _look(self, workspace: OpenWorkspace, digests: Sequence[str], part: RecallPart) -> None:
        try:
            found = await _find(workspace, digests, part)
        except HelixError as error:
            if self.dialog is not None:
                self.dialog.show_error(part, error)
            return
        self._found = part, found
        if self.dialog is not None:
            sample = "\n".join(_sample(found.attachments))
            words = _summary(part, found, len(digests))
            self.dialog.show_result(part, words, sample, can_recall=bool(found.attachments))


async def _find(workspace: OpenWorkspace, digests: Sequence[str], part: RecallPart) -> _RecallResult:
    """Return what a part is of these contents. Raises HelixError."""
    attachments, lines, is_complete, total = list[Attachment](), 0, True, 0
    for digest in digests:
        if part.how != "pattern":
            attachment = await workspace.contents.attach(digest, part.first, part.last)
            total = attachment.lines
            if part.how == "whole" or attachment.first_line <= total or attachment.image:
                attachments.append(attachment)
            continue
        matches = await workspace.contents.attach_matches(digest, part.pattern, part.context)
        lines, is_complete = lines + matches.count, is_complete and matches.is_complete
        if matches.attachment is not None:
            attachments.append(matches.attachment)
    return _RecallResult(tuple(attachments), lines, is_complete, total)


def _summary(part: RecallPart, found: _RecallResult, count: int) -> str:
    """Return how much a part is, and its tokens."""
    if not found.attachments:
        has = tr.plural(found.total, "It has %n line.", "It has %n lines.")
        return tr("No matching lines") if part.how == "pattern" else has
    tokens = format_token_count(sum(attachment.tokens for attachment in found.attachments))
    cost = tr("≈ {tokens}", tokens=tokens)
    if part.how == "lines" and part.last > found.total and not found.attachments[0].image:
        return f"{_cut_lines(found.attachments[0])} · {cost}"
    if part.how != "pattern":
        return cost
    hits = tr.plural(found.lines, "%n matching line", "%n matching lines")
    if not found.is_complete:
        hits = tr.plural(found.lines, "Over %n matching line", "Over %n matching lines")
    if count > 1:
        hits = tr("{lines} in {some} of {all} entries", lines=hits, some=len(found.attachments), all=count)
    return f"{hits} · {cost}"


def _cut_lines(attachment: Attachment) -> str:
    """Return which lines there are of more that were asked for."""
    first, last, total = attachment.first_line, attachment.last_line, attachment.lines
    if first == last:
        return tr.plural(
            total,
            "It has %n line; line {line} is recalled",
            "It has %n lines; line {line} is recalled",
            line=last,
        )
    return tr.plural(
        total,
        "It has %n line; lines {first}–{last} are recalled",
        "It has %n lines; lines {first}–{last} are recalled",
        first=first,
        last=last,
    )


def _sample(attachments: Sequence[Attachment]) -> list[str]:
    """Return what is recalled; of several contents each below its name."""
    if len(attachments) == 1:
        return [attachments[0].text or attachments[0].label]
    return [f"[{escape_hidden_name(each.label)}]\n{each.text}" for each in attachments]


async def _subject(workspace: OpenWorkspace, digests: Sequence[str]) -> str:
    """Return what is recalled from, in words. Raises StoreError."""
    if len(digests) > _MAX_CONTENTS:
        return tr.plural(
            len(digests), "The first {some} of %n entry", "The first {some} of %n entries", some=_MAX_CONTENTS
        )
    if len(digests) > 1:
        return tr.plural(len(digests), "%n entry", "%n entries")
    entry = await workspace.store.entry(digests[0])
    name = " ".join(part for part in (display_name(entry.tool), entry.target) if part) or digests[0][:12]
    return f"{escape_hidden_name(name)} · {format_size(entry.size)}"
