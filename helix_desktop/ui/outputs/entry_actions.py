"""What the user does with cached contents, by menu, key or button."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from helix_desktop.context.intake.marker import marker
from helix_desktop.domain.digest import bare_marker
from helix_desktop.ui.kit.commands import EntryMenu, PageKeys
from helix_desktop.ui.kit.intents import DeletePermanently, Export, Intent, Recall, RemoveSecret, perform
from helix_desktop.ui.outputs.filter_bar import CacheFilterBar, target_option, tool_option
from helix_desktop.ui.outputs.preview import MAX_RECALLED, Preview, RecallSelection
from helix_desktop.ui.outputs.rows import (
    COMPACTED_STATES,
    SAME_STATES,
    CacheRow,
    CacheState,
)
from helix_desktop.ui.outputs.table import CacheTable
from helix_desktop.words.translation import Translator, translate

tr = Translator("Outputs")

_NOT_IN_WINDOW: tuple[CacheState, ...] = ("elsewhere", "in_trash", "damaged")
_REWRITTEN = (*SAME_STATES["cached"], *COMPACTED_STATES, *SAME_STATES["excluded"])


# What entries of the cache want, which are named by their digests.
# fmt: off

# so many that the user is asked first
class RecallMany(Intent, frozen=True):
    digests: tuple[str, ...]
# send it in full again, where it stands in the session
class SendInFull(Intent, frozen=True):
    digest: str
class VerifyEntries(Intent, frozen=True):
    digests: tuple[str, ...]
class VerifyAllEntries(Intent, frozen=True): ...
class SaveEntry(Intent, frozen=True):  # as a file
    digest: str
class PinEntries(Intent, frozen=True):  # no clean-up takes what is pinned
    digests: tuple[str, ...]
    is_pinned: bool
class TrashEntries(Intent, frozen=True):
    digests: tuple[str, ...]
class UndoTrash(Intent, frozen=True): ...  # the last move to the trash
class RestoreEntries(Intent, frozen=True):
    digests: tuple[str, ...]
class ShowEntryInChat(Intent, frozen=True):
    digest: str
class ShowEntryInTimeline(Intent, frozen=True):
    digest: str

# fmt: on


class EntryActions(QObject):
    def __init__(self, table: CacheTable, preview: Preview, keys: PageKeys) -> None:
        super().__init__(table)
        self.table = table
        self.preview = preview
        self.keys = keys
        preview.recall_button.clicked.connect(self.recall)
        preview.export_button.clicked.connect(self._export_shown)
        for changed in (table.selectionModel().selectionChanged, table.model().dataChanged):
            changed.connect(lambda *_: self._show_selection())

    @property
    def recall_selection(self) -> RecallSelection:
        """Return how many of the selected contents can be recalled, and what they cost as far as known."""
        count = self.count_of(is_readable)
        sound = [row for row in self.table.selected_rows() if is_readable(row)]
        return RecallSelection(count, sum(row.tokens for row in sound) if len(sound) == count else None)

    def perform(self, intent: Intent) -> None:
        perform(self.table, intent)

    def recall(self) -> None:
        """Recall the selected lines of the preview, or all of each selected content."""
        preview = self.preview
        if self.table.selected_count() > 1:
            self.recall_whole()
        elif preview.recall_button.isEnabled() and preview.digest:
            self.perform(Recall(preview.digest, *preview.lines))

    def recall_whole(self) -> None:
        """Recall all of each selected content; of very many, ask first, which says what they cost."""
        digests = self.digests_of(is_readable)
        if len(digests) > MAX_RECALLED:
            self.perform(RecallMany(digests))
            return
        for digest in digests:
            self.perform(Recall(digest))

    def _show_selection(self) -> None:
        """Let the buttons of the preview stand for all selected entries, as the keys do."""
        several = self.table.selected_count() > 1
        self.preview.show_selection(self.recall_selection if several else None)

    def _export_shown(self) -> None:
        if self.table.selected_count() > 1:
            self.perform(Export(digests=self.digests_of(is_readable)))
        else:
            self.perform(SaveEntry(self.preview.digest))

    def count_of(self, suits: Callable[[CacheRow], bool]) -> int:
        return self.table.selected_count() - sum(not suits(row) for row in self.table.selected_rows())

    def digests_of(self, suits: Callable[[CacheRow], bool]) -> tuple[str, ...]:
        """Return the digests of the selected rows, but for those that are known not to suit."""
        unsuited = {row.digest for row in self.table.selected_rows() if not suits(row)}
        return tuple(digest for digest in self.table.selected_digests() if digest not in unsuited)

    def verify(self) -> None:
        digests = self.table.selected_digests()
        if digests:
            self.perform(VerifyEntries(digests))

    def export(self) -> None:
        if self.table.selected_count() > 1 or self.preview.export_button.isEnabled():
            self._export_shown()

    def toggle_pin(self) -> None:
        """Have the selected entries pinned, or, where all are, no longer."""
        digests = self.digests_of(is_untrashed)
        if digests:
            self.perform(PinEntries(digests, not self._are_pinned))

    @property
    def _are_pinned(self) -> bool:
        return all(row.pinned for row in self.table.selected_rows() if is_untrashed(row))

    def move_to_trash(self) -> None:
        """Move the selected entries to the trash; where all are there, delete them after a question."""
        digests = self.digests_of(is_untrashed)
        if digests:
            self.perform(TrashEntries(digests))
        elif self.table.selected_count():
            self.delete_permanently()

    def delete_permanently(self) -> None:
        self.perform(DeletePermanently(self.digests_of(is_trashed)))

    def copy_digests(self) -> None:
        digests = self.table.selected_digests()
        if digests == (self.preview.digest,):
            self.preview.copy_digest()  # its button shows it
        elif digests:
            _copy(digests)

    def menu(self, bar: CacheFilterBar) -> QMenu:
        menu = EntryMenu(self.table)
        menu.setAccessibleName(tr("Selected entries"))
        menu.setToolTipsVisible(True)
        add = menu.add
        key_of = self.keys.shown_key
        rows = self.table.selected_rows()
        preview = self.preview
        digests = self.table.selected_digests()
        single = rows[0] if rows and len(digests) == 1 else None
        sound = self.count_of(is_readable)
        stored = self.count_of(is_untrashed) > 0
        can_recall = sound > 0
        is_sound = single is not None and single.state != "damaged"
        add("cache-open", tr("Open preview"), self.table.opened.emit, "Enter", is_enabled=single is not None)
        words = tr("Recall into your message")
        recall_key = key_of("cache_recall")
        if single is not None and preview.digest == single.digest and preview.lines[1]:
            words, _ = preview.recall_texts()
            add("cache-recall-lines", words, self.recall, recall_key, is_enabled=can_recall)
            words = tr("Recall whole output")
            recall_key = ""
        elif sound > 1:
            words = " · ".join(filter(None, (self.recall_selection.words, self.recall_selection.cost)))
        add("cache-recall", words, self.recall_whole, recall_key, is_enabled=can_recall)
        if single is not None:
            why_not = _why_not_in_context(single)
            send = SendInFull(single.digest)
            words = tr("Send all of it…")
            action = add("cache-send-full", words, send, is_enabled=not why_not)
            action.setToolTip(why_not or tr("All of it is sent again where it was. You can undo this."))
        find = preview.content.open_find
        copy = preview.content.copy_content
        add("cache-find", tr("Find in content"), find, "Ctrl+F", is_enabled=is_sound)
        add("cache-verify", tr("Verify"), self.verify, key_of("cache_verify"))
        if len(digests) > 1:
            add("cache-export", tr("Export…"), self.export, key_of("cache_save"), is_enabled=can_recall)
        elif single is not None:
            save = SaveEntry(single.digest)
            add("cache-export", tr("Save as…"), save, key_of("cache_save"), is_enabled=can_recall)
        menu.addSeparator()
        add("cache-copy-content", tr("Copy content"), copy, key_of("cache_copy"), is_enabled=is_sound)
        add("cache-copy-hash", tr("Copy SHA-256"), self.copy_digests, "Ctrl+C")
        markers = partial(_copy, [_marker_text(row) for row in rows])
        add("cache-copy-marker", tr("Copy short description"), markers, is_enabled=bool(rows))
        menu.addSeparator()
        state, digest = (single.state, single.digest) if single is not None else ("elsewhere", "")
        in_session = state not in (*_NOT_IN_WINDOW, "index")
        add("cache-show-chat", tr("Show in chat"), ShowEntryInChat(digest), is_enabled=in_session)
        in_timeline = ShowEntryInTimeline(digest)
        add("cache-show-timeline", tr("Show in timeline"), in_timeline, is_enabled=state in _REWRITTEN)
        if single is not None and single.tool:
            option = tool_option(single.tool)
            words = tr("Show only {tool}", tool=translate(option.name).replace("&", "&&"))
            add("cache-only-tool", words, partial(bar.toggle, option))
        if single is not None and single.target and single.state != "index":
            option = target_option(single.target)
            words = tr("Show only target {target}", target=option.name.replace("&", "&&"))
            add("cache-only-path", words, partial(bar.toggle, option))
        menu.addSeparator()
        trashed = any(map(is_trashed, rows))
        words = tr("Unpin") if stored and self._are_pinned else tr("Pin")
        add("cache-pin", words, self.toggle_pin, key_of("cache_pin"), is_enabled=stored)
        trash_key = key_of("cache_trash")
        if trashed:
            add("cache-restore", tr("Restore"), RestoreEntries(self.digests_of(is_trashed)))
            delete_key = "" if stored else trash_key
            add("cache-delete", tr("Delete permanently…"), self.delete_permanently, delete_key)
        if stored or not trashed:
            add("cache-trash", tr("Move to trash"), self.move_to_trash, trash_key, is_enabled=stored)
        menu.addSeparator()
        add("cache-redact", tr("Remove a secret…"), RemoveSecret(self.table.current_digest()))
        return menu


def is_readable(row: CacheRow) -> bool:
    return row.state not in ("damaged", "in_trash")


def is_trashed(row: CacheRow) -> bool:
    return row.state == "in_trash"


def is_untrashed(row: CacheRow) -> bool:
    return not is_trashed(row)


def _marker_text(row: CacheRow) -> str:
    """Return a content's marker as it stands in the context; of what is no output, its way back alone."""
    if row.state == "index" or row.is_argument:
        return bare_marker(row.digest)
    return marker(row.digest, row.tool, row.target, row.size, row.first_line)


def _copy(lines: Sequence[str]) -> None:
    QGuiApplication.clipboard().setText("\n".join(lines))


def _why_not_in_context(row: CacheRow) -> str:
    """Return why a content can't be sent in full again where it stands, and what to do; empty: it can."""
    whole = tr("All of it is in the context.")
    compacted = tr("It was compacted. Recall it into the message, or undo the compaction.")
    reasons: dict[CacheState, str] = {
        **dict.fromkeys(COMPACTED_STATES, compacted),
        "in_window": whole,
        "pinned": whole,
        "damaged": tr("It's damaged. Run the tool again to restore it."),
        "in_trash": tr("It's in the trash. Restore it first."),
        "elsewhere": tr("It isn't part of this session. Recall it into the message."),
        "index": tr("It lists what was compacted. Recall it into the message."),
    }
    if row.is_argument and row.state not in reasons:
        return tr("It's the text of a call. Recall it into the message, or undo the caching.")
    return reasons.get(row.state, "")
