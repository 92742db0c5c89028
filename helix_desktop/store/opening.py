"""Opens and closes a store's files: owner lock, creation only where nothing is, identity, lost tail."""

from __future__ import annotations

import logging
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from helix_desktop.context.archive import Progress, silent
from helix_desktop.context.damage import Mending
from helix_desktop.context.errors import DataDirUnusable, StoreDamaged, StoreUnreadable
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.commit import Clock, now
from helix_desktop.store.handle import Handle, create_db, unreadable
from helix_desktop.store.identity import check_format, ends_of, format_in, identity_rows, state_of
from helix_desktop.store.ladder import Ladder
from helix_desktop.store.layout import SCHEMA_NUMBER, Format, Layout
from helix_desktop.store.migration import STEPS, Mend, Step, migrate, needs_migration
from helix_desktop.store.owner import OwnerLock
from helix_desktop.store.symptoms import current_of, sizes_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Files:
    """A store's open files, and the report of what had to be mended if nobody was told of it yet."""

    layout: Layout
    lock: OwnerLock
    handle: Handle
    codec: Codec
    report: Mending | None

    def close(self) -> None:
        """Say how the store was left, then let go of everything; for when nobody reads any more."""
        try:
            state, ends = state_of(self.handle, self.codec), ends_of(self.handle, self.codec)
            self.handle.close()
            db = self.layout.db
            files, current = sizes_of(db), current_of(db)
            clean = msgspec.structs.replace(state, ends=ends, files=files, current=current)
            self.layout.write_clean(clean)
            shutil.rmtree(self.layout.former, ignore_errors=True)
        except RowDamaged as error:
            self.doubt(error)
        except (OSError, StoreUnreadable) as error:
            # Everything acknowledged is durable already; only the notice of a clean end is missing.
            _log.warning("The store was closed without a note of its state: %s", error)
        finally:
            self.handle.close()
            self.lock.release()

    def doubt(self, error: RowDamaged) -> StoreDamaged:
        """Have the store mended at its next opening; what a person is told meanwhile."""
        why = str(error)[:1].upper() + str(error)[1:]
        try:
            self.layout.notes.doubt(why)
        except OSError as refused:
            _log.warning("It could not be noted that the store is damaged: %s", refused)
        return StoreDamaged(
            "A part of the workspace's store is damaged.",
            f"{why}.",
            "Close the workspace and open it again: it is mended then, and the damaged files are kept.",
        )


def open_files(
    folder: Path,
    workspace: str,
    clock: Clock = now,
    schema: int = SCHEMA_NUMBER,
    steps: Mapping[int, Step] = STEPS,
    told: Progress = silent,
) -> Files:
    """Open, or where nothing is create, the store of the workspace with this UUID.

    One of an older schema is brought to `schema` by `steps`, a damaged one is mended as far as it can be, and
    `told` hears how far that is.
    Raises StoreLocked, StoreUnreadable, DataDirUnusable; ValueError when `workspace` is no UUID.
    """
    form = Format(schema, str(uuid.UUID(workspace)))
    layout = Layout(folder)
    layout.make()
    lock = OwnerLock.take(layout.owner)
    try:
        codec = Codec()

        def climb(wanted: Format) -> Handle:
            return Ladder(layout, wanted, codec, clock, told).climb()

        _ensure(layout, form, steps, lambda found: climb(found).close())
        handle = climb(form)
        return Files(layout, lock, handle, codec, layout.notes.read_untold())
    except BaseException:
        lock.release()
        raise


def _found(layout: Layout) -> Format | None:
    """What the store is; a lost or damaged `format` is written again from the rows that say the same."""
    try:
        found = layout.read_format()
    except StoreUnreadable:
        found = format_in(layout.db)
        if found is None:
            raise
    else:
        if found is not None or not layout.db.exists():
            return found
        found = format_in(layout.db)
    if found is not None:
        _log.warning("The store's file `format` was lost or damaged, and was written again.")
        layout.write_format(found)
    return found


def _ensure(layout: Layout, form: Format, steps: Mapping[int, Step], mend: Mend) -> None:
    """Create what is not there yet. Each step can be cut off and is then taken up, or done again."""
    try:
        found = _found(layout)
        if found is None:
            if layout.db.exists() and any(layout.db.iterdir()):
                raise unreadable(
                    "Its file `format` is missing, and tables are there that must not be overwritten"
                )
            shutil.rmtree(layout.new_db, ignore_errors=True)
            create_db(layout.new_db, identity_rows(form))
            layout.write_format(form)
        elif needs_migration(found, form, steps):
            migrate(layout, found, form, steps, mend)
        else:
            check_format(found, form)
        if layout.new_db.exists() and not layout.db.exists():
            layout.adopt_new_db()
    except OSError as error:
        raise DataDirUnusable(
            f"The workspace's store cannot be written: {layout.folder}.",
            f"{error.strerror}.",
            "Make the folder writable, or free some room on the disk.",
        ) from error
