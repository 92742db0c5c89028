"""What a store says it is, and in what state it is: rows that are read at every opening."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.context.errors import StoreUnreadable
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.counters import NUMBER, read_sequence, read_totals
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.layout import Clean, Format
from helix_desktop.store.staging import TEXT


def check_format(found: Format, wanted: Format) -> None:
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


def identity_rows(form: Format) -> dict[bytes, bytes]:
    """The rows that say what a new store is."""
    codec = Codec()
    return {
        keys.SCHEMA: codec.seal(keys.SCHEMA, form.schema),
        keys.IDENTITY: codec.seal(keys.IDENTITY, form.workspace),
    }


def stored_format(handle: Handle, codec: Codec) -> Format:
    """What the rows say that the store is. Raises RowDamaged."""
    schema, workspace = handle.get(keys.SCHEMA), handle.get(keys.IDENTITY)
    if schema is None or workspace is None:
        raise RowDamaged("they are missing")
    return Format(codec.unseal(keys.SCHEMA, schema, NUMBER), codec.unseal(keys.IDENTITY, workspace, TEXT))


def format_in(db: Path) -> Format | None:
    """What the rows of a closed database say that the store is; None when they cannot be read."""
    try:
        handle = Handle(db)
    except StoreUnreadable:
        return None
    try:
        return stored_format(handle, Codec())
    except (RowDamaged, StoreUnreadable):
        return None
    finally:
        handle.close()


def check_identity(handle: Handle, codec: Codec, wanted: Format) -> None:
    """Raises StoreUnreadable for a database that is another store's, RowDamaged."""
    check_format(stored_format(handle, codec), wanted)


def state_of(handle: Handle, codec: Codec) -> Clean:
    """Counters as the rows say. Raises RowDamaged."""
    totals = read_totals(handle.get, codec)
    return Clean(read_sequence(handle.get, codec), totals.entries, totals.sessions)


def ends_of(handle: Handle, codec: Codec) -> dict[str, int]:
    """The seq of each session's last event. Raises RowDamaged."""

    def ask(view: View) -> dict[str, int]:
        # The value first: its checksum covers the key, which may be no text any more.
        rows = ((codec.unseal(key, row, NUMBER), key) for key, row in view.scan(keys.LAST_EVENTS))
        return {keys.session_of(key, keys.LAST_EVENTS): seq for seq, key in rows}

    return handle.read(ask)
