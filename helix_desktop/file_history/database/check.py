"""The full check of a file history: every content against its hash, every capture's list."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreDamaged
from helix_desktop.domain.file_history.state import ChangeList
from helix_desktop.domain.file_history.storage import DamagedVersion, FileHistoryCheck
from helix_desktop.domain.progress import OnProgress
from helix_desktop.file_history.database.database import FileHistoryDatabase


def check_history(database: FileHistoryDatabase, on_progress: OnProgress) -> FileHistoryCheck:
    """Read everything; other processes go on meanwhile."""
    try:
        problems = database.integrity_problems()
        if problems:
            return FileHistoryCheck(problems=problems)
        return _check_contents(database, on_progress)
    except StoreDamaged as error:
        return FileHistoryCheck(problems=(str(error.why or error.what),))


def repair_history(database: FileHistoryDatabase, found: FileHistoryCheck) -> None:
    """Remove what is damaged: contents are stored again where a file still has them, lists are gone."""
    lost = [capture for capture in database.captures.all() if capture.id in found.lost_lists]
    digests = [version.digest for version in found.damaged]
    with database.write():
        database.contents.remove(bytes.fromhex(digest) for digest in digests)
        database.contents.remove(bytes.fromhex(capture.changes) for capture in lost)
        database.captures.remove(capture.id for capture in lost)
        database.tree.mark_unread(digests)


def _check_contents(database: FileHistoryDatabase, on_progress: OnProgress) -> FileHistoryCheck:
    rows = database.contents.rows()
    damaged = {}
    for number, row in enumerate(rows):
        on_progress(number, len(rows))
        try:
            database.contents.get(row.digest.hex())
        except ContentDamaged:
            damaged[row.digest.hex()] = row.size
        except DigestUnknown:  # another process removed it meanwhile
            continue
    on_progress(len(rows), len(rows))
    paths = {digest: set(database.tree.paths_of([digest])) for digest in damaged}
    lost_lists = []
    for capture in database.captures.all():
        try:
            changes = ChangeList.decode(database.contents.get(capture.changes)).changes
        except (DigestUnknown, ContentDamaged, msgspec.MsgspecError):
            lost_lists.append(capture.id)
            damaged.pop(capture.changes, None)
            continue
        for change in changes:
            for state in (change.before, change.after):
                if state is not None and state.digest in damaged:
                    paths[state.digest].add(change.path)
    versions = (
        DamagedVersion(digest, size, tuple(sorted(paths[digest]))) for digest, size in damaged.items()
    )
    return FileHistoryCheck(len(rows), tuple(versions), tuple(lost_lists))
