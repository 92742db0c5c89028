"""Makes a new database of everything that can still be read in the files of a damaged one.

LevelDB's own repair is not used: it reads logs without their checksums, puts all tables on one level, where
an old row can hide a newer one, and drops a block with one flipped bit. Here each row is judged by its own
checksum, and what can be derived is derived anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix_desktop.context.content import StoreTotals
from helix_desktop.context.damage import CutSession, LostContent
from helix_desktop.context.errors import StoreUnreadable
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged, Shape
from helix_desktop.store.content import Contents, is_whole
from helix_desktop.store.counters import NUMBER, TOTALS
from helix_desktop.store.course import Course
from helix_desktop.store.draft_rows import DRAFT
from helix_desktop.store.event_log import EVENT
from helix_desktop.store.filler import Filler
from helix_desktop.store.handle import Handle, unreadable
from helix_desktop.store.layout import Clean, Format
from helix_desktop.store.listing import SUMMARY
from helix_desktop.store.mend_contents import ContentMender
from helix_desktop.store.mend_logs import LogMender
from helix_desktop.store.quarantine import Quarantine
from helix_desktop.store.record import RECORD
from helix_desktop.store.staging import TEXT
from helix_desktop.store.tombstone import TOMBSTONE
from helix_desktop.store.versions import Version, read_versions

_SHAPES: Mapping[bytes, Shape[Any]] = {
    b"d": DRAFT,
    b"e": EVENT,
    b"f": TOMBSTONE,
    b"m": RECORD,
    b"s": SUMMARY,
}
_NAMED: Mapping[bytes, Shape[Any]] = {
    keys.SCHEMA: NUMBER,
    keys.IDENTITY: TEXT,
    keys.SEQUENCE: NUMBER,
    keys.TOTALS: TOTALS,
}
_DERIVED = (b"R", b"h", b"r", b"t")
_LENGTHS = {b"b": 1 + keys.DIGEST_BYTES, b"c": 5 + keys.DIGEST_BYTES}


@dataclass(slots=True)
class Salvaged:
    """What was found in the files, and what is left of it in the new database."""

    wrong: list[str] = field(default_factory=list)
    rows: int = 0
    writes: int = 0
    vanished: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    named: dict[bytes, object] = field(default_factory=dict)
    totals: StoreTotals = field(default_factory=lambda: StoreTotals(0, 0, 0, 0))
    events: int = 0
    contents: list[LostContent] = field(default_factory=list)
    cut: list[CutSession] = field(default_factory=list)


class Salvage:
    """One salvage, from the files in `db` into an empty database."""

    def __init__(
        self, db: Path, target: Handle, codec: Codec, quarantine: Path, aside: Path, course: Course
    ) -> None:
        """Damaged contents go to `quarantine`, events behind a gap to `aside`: both are folders.

        Of the `course` its first two parts are gone through.
        """
        self._course = course
        self._quarantine = Quarantine(quarantine)
        self._db, self._target, self._codec, self._aside = db, target, codec, aside
        self._filler = Filler(target)
        self._kept = False
        self._removed: set[str] = set()
        self.found = Salvaged()

    def run(self, form: Format, clean: Clean | None) -> Salvaged:
        """Take what is sound and derive the rest. Raises StoreUnreadable when it is another store's."""
        size, done = sum(path.stat().st_size for path in self._db.glob("*")), 0
        for key, versions in read_versions(self._db, self._failed):
            self._take(key, versions)
            done += sum(len(key) + len(one.row or b"") for one in versions)
            self._course.reach(0, done, size)
        self._check_identity(form)
        self._filler.flush()
        left = clean.ends.items() if clean else ()
        ends = {session: seq for session, seq in left if session not in self._removed}
        for session, seq in self.found.ends.items():
            ends[session] = max(seq, ends.get(session, 0))
        logs = LogMender(self._filler, self._codec, self._aside, ends)
        self._target.read(logs.run)
        self._filler.flush()
        contents = Contents(self._target, self._codec, self._quarantine)
        mender = ContentMender(
            self._filler, self._codec, contents, lambda stored: self._course.reach(1, stored, size)
        )
        self._target.read(mender.run)
        found = self.found
        found.totals, found.events = mender.totals(logs.sessions), logs.events
        found.contents, found.cut = mender.lost, logs.cut
        self._finish(form, clean)
        return found

    def _failed(self, name: str, error: OSError) -> None:
        self.found.wrong.append(f"{name} cannot be read ({error.strerror})")

    def _take(self, key: bytes, versions: list[Version]) -> None:
        kind = key[:1]
        if kind in _DERIVED or not versions:
            return
        if kind in _LENGTHS:
            # Verified by its SHA-256 when everything is there.
            self._keep(versions[0]) if len(key) == _LENGTHS[kind] else self._miss()
        elif key in _NAMED:
            found = self._first_sound(versions, _NAMED[key])
            if found is not None:
                self.found.named[key] = found[1]
        elif key.startswith(keys.LAST_EVENTS[0]):
            self._take_end(key[len(keys.LAST_EVENTS[0]) :].decode(errors="replace"), versions)
        elif kind in _SHAPES:
            found = self._first_sound(versions, _SHAPES[kind])
            if found is not None:
                self._keep(found[0])
        elif versions[0].trusted():
            self._keep(versions[0])  # a kind of row that a later part of the program knows
        else:
            self._miss()

    def _take_end(self, session: str, versions: list[Version]) -> None:
        if versions[0].row is None:
            self._removed.add(session)
        found = self._first_sound(versions, NUMBER)
        if found is not None:
            self.found.ends[session] = found[1]

    def _miss(self) -> None:
        self.found.rows += 1

    def _keep(self, version: Version) -> None:
        if version.row is not None:
            self._kept = True
            self._filler.put(version.key, version.row)

    def _first_sound(self, versions: list[Version], shape: Shape[Any]) -> tuple[Version, Any] | None:
        """The best version that is what was written, and its value; None when it was deleted or is lost."""
        for version in versions:
            if version.row is None:
                return None
            try:
                return version, self._codec.unseal(version.key, version.row, shape)
            except RowDamaged:
                continue
        self._miss()
        return None

    def _check_identity(self, form: Format) -> None:
        """Raises StoreUnreadable when nothing is left, or when it belongs to another workspace or version."""
        named = self.found.named
        workspace, schema = named.get(keys.IDENTITY), named.get(keys.SCHEMA)
        if workspace not in (None, form.workspace) or schema not in (None, form.schema):
            raise StoreUnreadable(
                "The store found here is damaged, and belongs to another workspace or version.",
                f"It is of workspace {workspace}, schema {schema}.",
                "Nothing was changed. Put each store's folder back where it was.",
            )
        if not (named or self.found.ends or self._kept):
            raise unreadable(
                "Its files are damaged or gone, and no row of them can be read",
                f"Put a backup of {self._db.parent} in its place; or move that folder away, open the "
                "workspace again, and import a file that was exported from it.",
            )

    def _finish(self, form: Format, clean: Clean | None) -> None:
        stored = self.found.named.get(keys.SEQUENCE)
        sequence = stored if isinstance(stored, int) else 0
        left = clean.sequence if clean else 0
        self.found.writes = max(0, left - sequence) if sequence else 0
        counted = clean if self.found.writes else self.found.named.get(keys.TOTALS) or clean
        if isinstance(counted, StoreTotals | Clean):
            self.found.vanished = max(0, counted.entries - self.found.totals.entries)
        rows = {
            keys.SCHEMA: form.schema,
            keys.IDENTITY: form.workspace,
            keys.SEQUENCE: max(sequence, left) + 1,
            keys.TOTALS: self.found.totals,
        }
        for key, value in rows.items():
            self._filler.put(key, self._codec.seal(key, value))
        self._filler.flush()


def is_sound(codec: Codec, key: bytes, row: bytes | None) -> bool:
    """Whether a row that was found in a damaged place is what was written, by its own check alone."""
    shape = (
        _NAMED.get(key) or _SHAPES.get(key[:1]) or (NUMBER if key.startswith(keys.LAST_EVENTS[0]) else None)
    )
    if row is None:
        return False
    try:
        if shape is not None:
            codec.unseal(key, row, shape)
            return True
        return key[:1] == b"b" and is_whole(codec, key, row)
    except RowDamaged:
        return False
