"""The removal of a secret from former versions of files.

A content that holds it goes for good; a tombstone says when, and it is not stored again. A list of changes is
rewritten where a path or the target of a link holds it: such a change stays listed and can't be undone, since
nobody knows any more where it was. What the list was called before leads to the new one. What stands in the
workspace now is the user's: its path stays in the tree as last seen, and its file is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreWriteFailed
from helix_desktop.domain.file_history.capture import Capture
from helix_desktop.domain.file_history.state import ChangeList, FileChange, FileState
from helix_desktop.domain.progress import OnProgress
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.file_history.database.database import FileHistoryDatabase
from helix_desktop.file_history.database.schema import damaged_files, remove_database

text = TextContext("Changes")

_MAX_ROUNDS = 5  # what is stored while one search runs is found by the next
_AT_ONCE = 100  # contents removed in one transaction


class HistoryRedaction:
    """One redaction in one database, which it has to itself in its thread; raises what the database does."""

    def __init__(self, database: FileHistoryDatabase, redaction: Redaction) -> None:
        self._database, self._redaction = database, redaction
        self._searched: set[bytes] = set()

    def preview(self, on_progress: OnProgress) -> RedactionMatches:
        """Return where the secret is, without changing anything."""
        return self._search(on_progress)

    def redact(self, on_progress: OnProgress) -> RedactionMatches:
        """Remove it, from the files on disk too; return what was found. Raises StoreWriteFailed."""
        first: RedactionMatches | None = None
        self._database.begin_purge()
        for _ in range(_MAX_ROUNDS):
            matches = self._search(on_progress)
            first = first or matches
            self._remove_contents(matches.file_versions)
            for capture in self._captures_with_secret():
                self._rewrite(capture)
            if not (matches.file_versions or matches.change_lists):
                break
        self._remove_copies()
        self._database.purge()
        assert first is not None  # there is a first round
        return first

    def _search(self, on_progress: OnProgress) -> RedactionMatches:
        """Return where the secret is; contents that were searched before are not read again."""
        contents, lists = self._database.contents, self._database.captures.lists()
        rows = [row for row in contents.rows() if row.digest not in self._searched]
        found: list[str] = []
        unreadable: list[str] = []
        for number, row in enumerate(rows):
            on_progress(number, len(rows))
            digest = row.digest.hex()
            if digest in lists:
                continue
            try:
                if digest in self._redaction.digests or self._redaction.matches(contents.get(digest)):
                    found.append(digest)
                else:
                    self._searched.add(row.digest)
            except ContentDamaged:
                unreadable.append(digest)
            except DigestUnknown:  # another process removed it meanwhile
                continue
        on_progress(len(rows), len(rows))
        return RedactionMatches(
            file_versions=tuple(found),
            change_lists=tuple(capture.id for capture in self._captures_with_secret()),
            workspace_files=tuple(sorted({*self._database.tree.paths_of(found), *self._names_with_secret()})),
            unreadable=tuple(unreadable),
            store_copies=tuple(path.name for path in damaged_files(self._database.path)),
        )

    def _names_with_secret(self) -> Iterator[str]:
        """Yield the paths that hold it in their name, or in where they lead as links."""
        for path, seen in self._database.tree.load().items():
            names = f"{path}\0{seen.state.target}"
            if self._redaction.matches(names.encode("utf-8", "surrogatepass")):
                yield path

    def _remove_contents(self, digests: tuple[str, ...]) -> None:
        for start in range(0, len(digests), _AT_ONCE):
            with self._database.write():
                batch = digests[start : start + _AT_ONCE]
                for digest in batch:
                    self._database.contents.redact(digest)
                self._database.tree.mark_not_stored(batch)

    def _captures_with_secret(self) -> list[Capture]:
        return [capture for capture in self._database.captures.all() if self._redacted(capture)[0] != capture]

    def _rewrite(self, capture: Capture) -> None:
        redacted, changes = self._redacted(capture)
        with self._database.write():
            if redacted.changes != capture.changes:
                self._database.contents.put(changes)
                self._database.contents.redact(capture.changes, redacted.changes)
            self._database.captures.replace(redacted)

    def _redacted(self, capture: Capture) -> tuple[Capture, bytes]:
        """Return a capture without the secret, and the bytes of its list."""
        data = b""
        digest = capture.changes
        try:
            changes = ChangeList.decode(self._database.contents.get(digest)).changes
        except (DigestUnknown, ContentDamaged, msgspec.MsgspecError):
            pass
        else:
            redacted = tuple(self._redact_changes(changes))
            if redacted != changes:
                data = ChangeList(redacted).encode()
                digest = digest_of(data)
        others = tuple(map(self._redaction.redact_text, capture.others))
        return msgspec.structs.replace(capture, changes=digest, others=others), data

    def _redact_changes(self, changes: Iterable[FileChange]) -> Iterable[FileChange]:
        redact_text, passed = self._redaction.redact_text, set[str]()
        for change in changes:
            path = redact_text(change.path)
            is_path_clean = path == change.path
            while path in passed:
                path += "+"  # a path is listed once
            passed.add(path)
            yield FileChange(
                path,
                self._redact_state(change.before, is_path_clean),
                self._redact_state(change.after, is_path_clean),
                redact_text(change.moved_from),
                change.shared,
            )

    def _redact_state(self, state: FileState | None, is_path_clean: bool) -> FileState | None:
        if state is None:
            return None
        target = self._redaction.redact_text(state.target)
        stored = state.stored and is_path_clean and target == state.target
        return msgspec.structs.replace(state, target=target, stored=stored)

    def _remove_copies(self) -> None:
        """Delete damaged databases that were moved aside: what they hold cannot be searched."""
        for path in damaged_files(self._database.path):
            try:
                remove_database(path)
            except OSError as error:
                raise StoreWriteFailed(
                    text(
                        "A damaged copy of the file history can't be deleted; it may hold the removed text."
                    ),
                    system_reason(error),
                    text("Delete {file} yourself.", file=str(path)),
                ) from error
