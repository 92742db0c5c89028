"""The words for what a summary names of what it covers."""

from __future__ import annotations

from helix_desktop.domain.events.summary import Bullet, SummaryCoverage
from helix_desktop.words.summary_coverage import coverage_text, missing_text


def test_what_a_summary_names_and_what_was_added() -> None:
    """Each kind that there is; the names that were added, and how many more."""
    missing = tuple(Bullet(f"src/module_{n}.py", (n,)) for n in range(9))
    coverage = (
        SummaryCoverage("instructions", 2, 5, (), verbatim=3),
        SummaryCoverage("conclusions", 0, 1, (), verbatim=1),
        SummaryCoverage("files", 41, 50, missing),
        SummaryCoverage("numbers", 0, 0),
        SummaryCoverage("commands", 1, 1),
    )
    assert (
        coverage_text(coverage)
        == "Mentions 2 of 5 instructions, 3 kept word for word · 0 of 1 conclusion, 1 kept word for word"
        " · 41 of 50 files · 1 of 1 command"
    )
    listed = " · ".join(f"src/module_{n}.py" for n in range(6))
    assert missing_text(coverage) == f"Added below it: {listed} · 3 more"
    assert missing_text(coverage[:1]) == ""
    assert coverage_text(()) == ""


def test_a_long_name_is_shortened() -> None:
    """An instruction may be a sentence; the card shows its beginning."""
    (line,) = missing_text(
        (SummaryCoverage("instructions", 0, 1, (Bullet("Never push " * 20, (3,)),)),)
    ).splitlines()
    assert line.endswith("…")
    assert len(line) < 100
