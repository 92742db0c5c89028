"""Notes on a store's damage between two openings: suspicion, unreported repairs, backups."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from helix_desktop.domain.store.repair_report import RepairReport
from helix_desktop.store.files.atomic_files import read_struct, write_struct


class RepairNotes:
    """Files in a store's folder; see StoreFiles."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def backups(self) -> Path:
        """Return the folder of damaged databases as they were found, one numbered folder for each."""
        return self._folder / "kept"

    def create_backup_folder(self) -> Path:
        """Create and return an empty folder for the next damaged database. Raise OSError."""
        number = 1
        while (self.backups / str(number) / "db").exists():
            number += 1
        folder = self.backups / str(number)
        shutil.rmtree(folder, ignore_errors=True)  # of an interrupted repair
        folder.mkdir(parents=True)
        return folder

    def back_up_torn_log(self, log: Path) -> None:
        """Copy a log whose torn end will be dropped. Raise OSError."""
        number = 1
        while (folder := self.backups / f"torn-{number}").exists():
            number += 1
        folder.mkdir(parents=True)
        shutil.copy2(log, folder / log.name)

    @property
    def suspicion(self) -> str:
        """Return the damage that was met while the store was open; "" if none was."""
        try:
            return (self._folder / "doubt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def mark_suspect(self, why: str) -> None:
        """Have the store repaired at its next opening. Raise OSError."""
        (self._folder / "doubt").write_text(why, encoding="utf-8")

    def clear_suspect(self) -> None:
        """Mark the store as free of known damage. Raise OSError."""
        (self._folder / "doubt").unlink(missing_ok=True)

    def read_unreported(self) -> RepairReport | None:
        """Return the report of a repair that the user has not seen yet."""
        try:
            report = read_struct(self._folder / "untold", RepairReport)
        except (msgspec.DecodeError, OSError):
            return None
        # Without its copy the repair was interrupted before it took effect.
        return report if report and (not report.copy or Path(report.copy).exists()) else None

    def write_unreported(self, report: RepairReport) -> None:
        """Save a report until the user has seen it, and next to its copy for good. Raise OSError."""
        if report.aside:
            write_struct(Path(report.aside) / "report.json", report)
        write_struct(self._folder / "untold", report)

    def mark_reported(self) -> None:
        """Mark the report as seen by the user. Raise OSError."""
        (self._folder / "untold").unlink(missing_ok=True)
