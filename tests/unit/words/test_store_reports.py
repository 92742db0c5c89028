"""What the user is shown about a repaired store."""

from __future__ import annotations

from helix_desktop.domain.file_history.changes import FileHistoryCleanup
from helix_desktop.domain.retention import PermanentDeletion
from helix_desktop.domain.store_reports import ImportResult, LostContent, RepairReport, TruncatedSession
from helix_desktop.words.store_reports import (
    deletion_lines,
    import_summary,
    lost_content_text,
    repair_notice,
    truncated_session_text,
)


def test_one_loss_is_singular_and_several_are_plural() -> None:
    singular = repair_notice(
        RepairReport(0, ("it",), 1, 1, 1, writes=1, rows=1, vanished=1, copy="there")
    ).why
    assert "The last change is missing." in singular
    assert "1 cached output is gone" in singular
    assert "1 record couldn't be read." in singular
    many = repair_notice(RepairReport(0, ("it",), 1, 1, 1, writes=1200, rows=2, vanished=2, copy="there")).why
    assert "The last 1,200 changes are missing." in many
    assert "2 cached outputs are gone" in many
    assert "2 records couldn't be read." in many


def test_names_are_shown_without_control_characters() -> None:
    lost = LostContent("ab" * 32, tool="read_file", target="a\x1b[31m\nb")
    assert lost_content_text(lost) == "abababababab read_file a\\u001b[31m\\u000ab"
    assert (
        truncated_session_text(TruncatedSession("s", "a\x1bb", 1, lost=2)) == "a\\u001bb (1 of 3 events left)"
    )


def test_what_a_deletion_removes_is_one_sentence() -> None:
    deletion = PermanentDeletion(sessions=("s",), digests=("ab" * 32,) * 85, freed=100_000)
    history = FileHistoryCleanup(contents=15, stored_size=93_000)
    assert deletion_lines(deletion, history)[0] == (
        "This deletes 1 session with its messages, 85 cached outputs and 15 previous file versions, "
        "which frees 188 KB."
    )
    assert deletion_lines(PermanentDeletion(), FileHistoryCleanup())[0].startswith("This deletes nothing, ")


def test_an_import_names_what_was_there_already_only_if_something_was() -> None:
    assert import_summary(ImportResult("a.helix", 85, 0, new=("s", "t"))) == (
        "85 entries added. Sessions: 2 new."
    )
    assert import_summary(ImportResult("a.helix", 0, 2, unchanged=("s",))) == (
        "0 entries added, 2 already present. Sessions: 1 unchanged."
    )
