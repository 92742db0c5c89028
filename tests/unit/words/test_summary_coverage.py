"""The words for what a summary names of what it covers."""

from __future__ import annotations

from helix_desktop.domain.events.summary import Bullet, SummaryCoverage
from helix_desktop.words.summary_coverage import missing_rules_text


def test_only_a_missing_instruction_is_quoted() -> None:
    """Not what a summary says in its own words, keeps word for word or adds as a list."""
    files = tuple(Bullet(f"src/module_{n}.py", (n,)) for n in range(9))
    others = (
        SummaryCoverage("instructions", 2, 5, (), verbatim=3),
        SummaryCoverage("conclusions", 0, 1, (), verbatim=1),
        SummaryCoverage("files", 41, 50, files),
    )
    assert missing_rules_text(others).text == ""
    missing = (Bullet("Never push.", (3,)), Bullet("Ask first.", (4,)))
    text = missing_rules_text((*others, SummaryCoverage("instructions", 25, 200, missing, verbatim=3)))
    assert text.heading == "Not in the text, added below it"
    assert text.lines == (("Instructions", "Never push. · Ask first. · 170 more only in the cache"),)


def test_a_long_name_is_shortened() -> None:
    """An instruction may be a sentence of a list; the card shows its beginning, without the list's dash."""
    line = missing_rules_text(
        (SummaryCoverage("instructions", 0, 1, (Bullet("- " + "Never push " * 20, (3,)),)),)
    ).text.splitlines()[-1]
    assert line.startswith("Instructions: Never push")
    assert line.endswith("…")
    assert len(line) < 100


def test_a_line_of_instructions_ends_at_one() -> None:
    """What it has no room for is counted."""
    rules = tuple(Bullet(f"Write chapter {n} of the manual\nfor testers", (n,)) for n in range(7))
    listed = " · ".join(f"Write chapter {n} of the manual for testers" for n in range(3))
    text = missing_rules_text((SummaryCoverage("instructions", 0, 7, rules),))
    assert text.lines == (("Instructions", f"{listed} · and 4 more"),)


def test_the_marks_of_markdown_are_left_out() -> None:
    rule = Bullet("- **Offset:** edit `a.toml`", (3,))
    text = missing_rules_text((SummaryCoverage("instructions", 0, 1, (rule,)),))
    assert text.lines == (("Instructions", "Offset: edit a.toml"),)
