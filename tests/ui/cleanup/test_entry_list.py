"""The list of the trash and of a clean-up: values in columns, the whole line for screen readers."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.workspace_dialogs.cleanup_dialogs import EntryList


def test_a_column_is_as_wide_as_its_widest_value(qtbot: QtBot) -> None:
    entries = EntryList("Entries")
    qtbot.addWidget(entries)
    entries.add("read_file a.py", ("900 B", "18 Nov 2026"))
    entries.add("Session", ("", "9 Nov 2026"))
    entries.add("read_file b.py", ("1,234 KB", ""))
    assert entries.widest == ["1,234 KB", "18 Nov 2026"]
    assert [entries.item(row).text() for row in range(3)] == [
        "read_file a.py · 900 B · 18 Nov 2026",
        "Session · 9 Nov 2026",
        "read_file b.py · 1,234 KB",
    ]
    entries.clear()
    assert entries.widest == []
