"""Opens and closes a store's files: owner lock, creation only where nothing is, identity, lost tail."""

from __future__ import annotations

import logging
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from helix_desktop.context.errors import DataDirUnusable, StoreUnreadable
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.handle import Handle, create_db, unreadable
from helix_desktop.store.layout import SCHEMA_NUMBER, Clean, Format, Layout
from helix_desktop.store.owner import OwnerLock
from helix_desktop.store.staging import NUMBER, TEXT, read_sequence, read_totals

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Files:
    """A store's open files; `lost` counts the writes that were there at the last close and are gone."""

    layout: Layout
    lock: OwnerLock
    handle: Handle
    codec: Codec
    lost: int

    def close(self) -> None:
        """Say how the store was left, then let go of everything; for when nobody reads any more."""
        try:
            clean = _state(self.handle, self.codec)
            self.handle.close()
            self.layout.write_clean(clean)
        except (OSError, RowDamaged, StoreUnreadable) as error:
            # Everything acknowledged is durable already; only the notice of a clean end is missing.
            _log.warning("The store was closed without a note of its state: %s", error)
        finally:
            self.handle.close()
            self.lock.release()


def open_files(folder: Path, workspace: str) -> Files:
    """Open, or where nothing is create, the store of the workspace with this UUID.

    Raises StoreLocked, StoreUnreadable, DataDirUnusable; ValueError when `workspace` is no UUID.
    """
    form = Format(SCHEMA_NUMBER, str(uuid.UUID(workspace)))
    layout = Layout(folder)
    layout.make()
    lock = OwnerLock.take(layout.owner)
    try:
        _ensure(layout, form)
        return _opened(layout, lock, form)
    except BaseException:
        lock.release()
        raise


def _ensure(layout: Layout, form: Format) -> None:
    """Create what is not there yet. Each step can be cut off and is then taken up, or done again."""
    found = layout.read_format()
    try:
        if found is None:
            if layout.db.exists() and any(layout.db.iterdir()):
                raise unreadable(
                    "Its file `format` is missing, and tables are there that must not be overwritten"
                )
            shutil.rmtree(layout.new_db, ignore_errors=True)
            create_db(layout.new_db, _identity(form))
            layout.write_format(form)
        else:
            _check(found, form)
        if layout.new_db.exists() and not layout.db.exists():
            layout.adopt_new_db()
    except OSError as error:
        raise DataDirUnusable(
            f"The workspace's store cannot be written: {layout.folder}.",
            f"{error.strerror}.",
            "Make the folder writable, or free some room on the disk.",
        ) from error


def _opened(layout: Layout, lock: OwnerLock, form: Format) -> Files:
    codec = Codec()
    handle = Handle(layout.db)
    try:
        _check(_stored_identity(handle, codec), form)
        lost = _lost(layout.read_clean(), _state(handle, codec))
    except RowDamaged as error:
        handle.close()
        raise unreadable(f"Its identity or its counters are damaged ({error})") from error
    except BaseException:
        handle.close()
        raise
    return Files(layout, lock, handle, codec, lost)


def _check(found: Format, wanted: Format) -> None:
    """Raises StoreUnreadable for another workspace's store, or a schema that is not known."""
    if found.schema != wanted.schema:
        raise StoreUnreadable(
            "The workspace's store was written by another version of Helix Desktop.",
            f"It has schema {found.schema}; this version reads schema {wanted.schema}.",
            "Nothing was changed. Open it with the newest version.",
        )
    if found.workspace != wanted.workspace:
        raise StoreUnreadable(
            "The store found here belongs to another workspace.",
            f"It is of workspace {found.workspace}, not {wanted.workspace}.",
            "Nothing was changed. Put each store's folder back where it was.",
        )


def _identity(form: Format) -> dict[bytes, bytes]:
    codec = Codec()
    return {
        keys.SCHEMA: codec.seal(keys.SCHEMA, form.schema),
        keys.IDENTITY: codec.seal(keys.IDENTITY, form.workspace),
    }


def _stored_identity(handle: Handle, codec: Codec) -> Format:
    schema, workspace = handle.get(keys.SCHEMA), handle.get(keys.IDENTITY)
    if schema is None or workspace is None:
        raise RowDamaged("they are missing")
    return Format(codec.unseal(keys.SCHEMA, schema, NUMBER), codec.unseal(keys.IDENTITY, workspace, TEXT))


def _state(handle: Handle, codec: Codec) -> Clean:
    totals = read_totals(handle.get, codec)
    return Clean(read_sequence(handle.get, codec), totals.entries, totals.sessions)


def _lost(left: Clean | None, found: Clean) -> int:
    """How many writes are missing. `clean` stays valid as a lower bound after a crash."""
    lost = max(0, left.sequence - found.sequence) if left else 0
    if lost:
        _log.warning("The store has lost its last %d writes: a file of it is missing or was cut.", lost)
    return lost
