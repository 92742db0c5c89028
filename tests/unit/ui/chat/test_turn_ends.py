"""How a turn ended, what can be done then, and what an attempt folds to once it was retried."""

from __future__ import annotations

from helix_desktop.context.policy import PROFILES
from helix_desktop.ui.chat.rows.from_events import rows_from_log
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, UserRow, source_text
from tests.support.histories import Maker


def cut_off(how: str, partial: str = "I was saying") -> Maker:
    """A turn that ended before it was done."""
    maker = Maker(PROFILES["balanced"])
    maker.user("Begin.")
    maker.end("stopped" if how == "stopped" else "interrupted" if how == "interrupted" else "failed", partial)
    return maker


def ends(maker: Maker) -> list[DividerRow | NoticeRow]:
    return [row for row in rows_from_log(maker.log)[1] if isinstance(row, DividerRow | NoticeRow)]


def test_a_stopped_turn_says_so_once_and_offers_to_continue_or_retry() -> None:
    (end,) = ends(cut_off("stopped"))
    assert source_text(end) == "Stopped"
    assert end.actions == ("continue", "retry")
    assert ends(cut_off("interrupted"))[0].actions == ("continue", "retry")


def test_a_retried_attempt_folds_to_one_line_that_keeps_its_words() -> None:
    maker = cut_off("failed")
    maker.retry()
    maker.end("stopped", "Again I")
    maker.retry()
    maker.step("All of it.", 0)
    rows = rows_from_log(maker.log)[1]
    assert [type(row) for row in rows] == [UserRow, DividerRow, DividerRow, AssistantRow]
    assert [source_text(row).split("\n")[0] for row in rows[1:3]] == ["Attempt 1 failed", "Attempt 2 stopped"]
    assert "I was saying" in source_text(rows[1])
    assert "Again I" in source_text(rows[2])
    assert not [row for row in ends(maker) if row.actions]


def test_only_the_newest_end_offers_anything() -> None:
    """A button under an older turn would repeat the newest one."""
    maker = cut_off("failed")
    assert "retry" in ends(maker)[0].actions
    maker.user("Something else.")
    assert ends(maker)[0].actions == ()
    maker.end("failed", "")
    assert ["retry" in row.actions for row in ends(maker)] == [False, True]
