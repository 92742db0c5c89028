"""Brings a store of an older schema to the newest: copied forward row by row into a new database.

The old one stands aside until the store was closed well once. Cut off anywhere, the next opening begins again
or takes up what was whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping

from helix_desktop.context.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.store import keys
from helix_desktop.store.check import Checker
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.content import Contents
from helix_desktop.store.filler import Filler
from helix_desktop.store.handle import Handle, unreadable
from helix_desktop.store.identity import identity_rows, stored_format
from helix_desktop.store.layout import Format, Layout
from helix_desktop.store.quarantine import Quarantine

Row = tuple[bytes, bytes]
Step = Callable[[Codec, Iterable[Row]], Iterator[Row]]
"""Makes the rows of one schema into those of the next; the schema's own number is written for it."""

STEPS: Mapping[int, Step] = {}
"""The step that leads on from each older schema."""

Mend = Callable[[Format], None]
"""Opens and closes a store of an older format, which mends it if it is damaged. Raises StoreUnreadable."""


def needs_migration(found: Format, wanted: Format, steps: Mapping[int, Step]) -> bool:
    """Whether a store has an older schema from which steps lead to the wanted one."""
    between = range(found.schema, wanted.schema)
    return found.workspace == wanted.workspace and bool(between) and all(one in steps for one in between)


def migrate(layout: Layout, found: Format, wanted: Format, steps: Mapping[int, Step], mend: Mend) -> None:
    """Bring a store to the wanted schema, and mend it first if it is damaged.

    Raises StoreUnreadable; then nothing of the old one was changed, or a copy of it was kept.
    """
    codec = Codec()
    try:
        if not _arrived(layout, codec, wanted):
            mend(found)
            try:
                _copy(layout, codec, found, wanted, steps)
            except RowDamaged as error:
                layout.notes.doubt(f"{error}")  # no opening has seen it, but mending looks at every row
                mend(found)
                _copy(layout, codec, found, wanted, steps)
            shutil.rmtree(layout.former, ignore_errors=True)
            layout.exchange(layout.former)
        layout.write_format(wanted)
    except (OSError, RowDamaged, StoreWriteFailed) as error:
        raise StoreUnreadable(
            f"The workspace's store could not be brought from schema {found.schema} to {wanted.schema}.",
            f"{error}",
            "Nothing of it was changed. Free room on the disk, or open it with the version that wrote it.",
        ) from error


def _arrived(layout: Layout, codec: Codec, wanted: Format) -> bool:
    """Whether a migration was cut off after its database was in place."""
    if not layout.db.exists():
        layout.adopt_new_db()
    try:
        handle = Handle(layout.db)
    except StoreDamaged:
        return False
    try:
        return stored_format(handle, codec) == wanted
    except (RowDamaged, StoreUnreadable):  # mending says what is wrong with it
        return False
    finally:
        handle.close()


def _copy(layout: Layout, codec: Codec, found: Format, wanted: Format, steps: Mapping[int, Step]) -> None:
    shutil.rmtree(layout.mending, ignore_errors=True)
    source = Handle(layout.db)
    try:
        target = Handle(layout.mending, create=True)
        try:
            filler = Filler(target)

            def fill(rows: Iterable[Row]) -> None:
                for schema in range(found.schema, wanted.schema):
                    rows = steps[schema](codec, rows)
                for key, row in rows:
                    filler.put(key, row)

            source.read(lambda view: fill(view.scan(keys.EVERYTHING)))
            for key, row in identity_rows(wanted).items():
                filler.put(key, row)
            filler.flush()
            _check(target, codec, layout)
        finally:
            target.close()
    finally:
        source.close()


def _check(target: Handle, codec: Codec, layout: Layout) -> None:
    """Raises StoreUnreadable when what was copied does not fit together."""
    checker = Checker(codec, Contents(target, codec, Quarantine(layout.quarantine)))
    while target.read(checker.step):
        pass
    if checker.result.problems:
        raise unreadable(f"What was copied does not fit together: {checker.result.problems[0]}")
