"""Opens a LevelDB that may be damaged: as it is; without a torn end of its log; else what is left, made anew.

Nothing damaged is changed or thrown away: a database that had to be made anew stands aside as it was found.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import msgspec

from helix_desktop.context.archive import Progress, silent
from helix_desktop.context.damage import CutSession, Mending
from helix_desktop.context.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.store.check import Checker
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.commit import Clock
from helix_desktop.store.content import Contents
from helix_desktop.store.course import Course
from helix_desktop.store.handle import Handle, unreadable
from helix_desktop.store.identity import check_identity, ends_of, state_of
from helix_desktop.store.layout import Clean, Format, Layout
from helix_desktop.store.quarantine import Quarantine
from helix_desktop.store.salvage import Salvage, Salvaged
from helix_desktop.store.symptoms import only_tail, symptoms

_log = logging.getLogger(__name__)

_PARTS = 3  # of a mending: reading the files, verifying what was in them, checking what was made of it


class Ladder:
    """One opening of a store whose files are there."""

    def __init__(
        self, layout: Layout, form: Format, codec: Codec, clock: Clock, told: Progress = silent
    ) -> None:
        """`told` hears how far a mending is."""
        self._course = Course(told, _PARTS)
        self._layout, self._form, self._codec, self._clock = layout, form, codec, clock
        self._clean = layout.read_clean()

    def climb(self) -> Handle:
        """The open database; a report of what was done stays in the layout until somebody is told.

        Raises StoreUnreadable when nothing can be read, or when the disk, not its content, is the trouble.
        """
        layout = self._layout
        doubt = layout.notes.doubted
        seen = symptoms(layout.db, self._clean)
        wrong = [*([doubt] if doubt else []), *seen.wrong]
        if not wrong:
            try:
                return self._opened()
            except StoreDamaged as error:
                wrong = [error.why.rstrip(".")]
            try:
                if self._without_tail():
                    return self._opened(f"The end of the log is torn, as a power cut leaves it ({wrong[0]})")
            except StoreDamaged as error:
                wrong.append(error.why.rstrip("."))
        self._salvage(wrong, seen.uncounted)
        return self._opened()

    def _opened(self, torn: str = "") -> Handle:
        handle = Handle(self._layout.db)
        try:
            check_identity(handle, self._codec, self._form)
            found = state_of(handle, self._codec)
        except RowDamaged as error:
            handle.close()
            raise StoreDamaged("", f"Its identity or its counters are damaged ({error})") from error
        except BaseException:
            handle.close()
            raise
        lost = max(0, self._clean.sequence - found.sequence) if self._clean else 0
        if lost:
            self._tell_lost(lost, found, ends_of(handle, self._codec))
        elif torn:
            _log.warning("%s. It was dropped.", torn)
        return handle

    def _tell_lost(self, lost: int, found: Clean, has: dict[str, int]) -> None:
        """`clean` stays valid as a lower bound after a crash."""
        _log.warning("The store has lost its last %d writes: a file of it is missing or was cut.", lost)
        had = self._clean.ends if self._clean else {}
        pairs = ((name, has.get(name, 0), last) for name, last in had.items())
        cut = [CutSession(name, "", end, lost=last - end) for name, end, last in pairs if end < last]
        report = Mending(
            self._clock(),
            ("A file of its database is missing or was cut short",),
            found.entries,
            found.sessions,
            sum(has.values()),
            cut=tuple(cut),
            writes=lost,
            vanished=max(0, self._clean.entries - found.entries) if self._clean else 0,
        )
        self._layout.notes.write_untold(report)

    def _without_tail(self) -> bool:
        """Drop a torn end of the log, if that is all that is wrong; a copy of the log stays."""
        log = only_tail(self._layout.db, self._codec)
        if log is None:
            return False
        self._layout.notes.keep_torn(log)
        Handle(self._layout.db, strict=False).close()
        return True

    def _salvage(self, wrong: list[str], uncounted: bool) -> None:
        """Make a new database of what is left, and put it in the place of the damaged one."""
        layout = self._layout
        _log.warning("The store is damaged and is being mended: %s.", "; ".join(wrong))
        shutil.rmtree(layout.mending, ignore_errors=True)
        keeping = layout.notes.keeping()
        try:
            report = self._mended(wrong, uncounted, keeping)
            layout.notes.write_untold(report)
            layout.exchange(keeping)
            layout.notes.trust()
        except (OSError, StoreWriteFailed) as error:
            shutil.rmtree(layout.mending, ignore_errors=True)
            raise StoreUnreadable(
                "The workspace's store is damaged, and could not be mended.",
                f"{'; '.join(wrong)}. {error}",
                "Nothing was changed. Make its folder writable, or free room on the disk, and try again.",
            ) from error
        _log.warning("%s", report.notice)

    def _mended(self, wrong: list[str], uncounted: bool, keeping: Path) -> Mending:
        layout = self._layout
        target = Handle(layout.mending, create=True)
        try:
            salvage = Salvage(layout.db, target, self._codec, layout.quarantine, keeping, self._course)
            found = salvage.run(self._form, self._clean)
            self._check(target)
        finally:
            target.close()
        report = self._report(wrong, found, keeping)
        return msgspec.structs.replace(report, uncounted=uncounted)

    def _check(self, target: Handle) -> None:
        """Look at all of the new database before it takes the other's place. Raises StoreUnreadable."""
        checker = Checker(self._codec, Contents(target, self._codec, Quarantine(self._layout.quarantine)))
        entries = target.read(checker.total)
        while target.read(checker.step):
            self._course.reach(_PARTS - 1, checker.result.contents, entries)
        if checker.result.problems:
            raise unreadable(f"What could be saved does not fit together: {checker.result.problems[0]}")

    def _report(self, wrong: list[str], found: Salvaged, keeping: Path) -> Mending:
        return Mending(
            self._clock(),
            tuple(dict.fromkeys([*wrong, *found.wrong])),
            found.totals.entries,
            found.totals.sessions,
            found.events,
            tuple(found.contents),
            tuple(found.cut),
            writes=found.writes,
            rows=found.rows,
            vanished=found.vanished,
            copy=str(keeping / "db"),
            aside=str(keeping),
        )
