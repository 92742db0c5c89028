"""What a person is told of a mended store."""

from __future__ import annotations

from helix_desktop.domain.store.repair_report import LostContent, RepairReport, TruncatedSession


def test_one_is_told_as_one_and_many_as_many() -> None:
    one = RepairReport(0, ("it",), 1, 1, 1, writes=1, rows=1, vanished=1, copy="there").notice.why
    assert "The last write is missing." in one
    assert "Of 1 cached output nothing is left" in one
    assert "1 row could not be read." in one
    many = RepairReport(0, ("it",), 1, 1, 1, writes=1200, rows=2, vanished=2, copy="there").notice.why
    assert "The last 1,200 writes are missing." in many
    assert "Of 2 cached outputs nothing is left" in many
    assert "2 rows could not be read." in many


def test_names_are_told_without_signs_that_steer() -> None:
    lost = LostContent("ab" * 32, tool="read_file", target="a\x1b[31m\nb")
    assert lost.text == "abababababab read_file a\\u001b[31m\\u000ab"
    assert TruncatedSession("s", "a\x1bb", 1, lost=2).text == "a\\u001bb ends at event 1 of 3"
