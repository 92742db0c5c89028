"""The words for what a summary names of what it covers."""

from __future__ import annotations

from helix_desktop.domain.events.summary import Bullet, SummaryCoverage
from helix_desktop.words.summary_coverage import added_text, coverage_text


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
        coverage_text(coverage) == "Named in text and lists: 2 of 5 instructions, 3 kept word for word"
        " · 0 of 1 conclusion, 1 kept word for word"
        " · 41 of 50 files · 1 of 1 command"
    )
    listed = " · ".join(f"src/module_{n}.py" for n in range(9))
    assert added_text(coverage).text == f"Added below it:\nFiles: {listed}"
    assert added_text(coverage[:1]).text == ""
    assert coverage_text(()) == ""


def test_named_kept_added_and_cached_add_up() -> None:
    """Each fact is counted once: what stands nowhere in the window is said to be in the cache."""
    missing = (Bullet("Never push.", (3,)), Bullet("Ask first.", (4,)))
    coverage = (
        SummaryCoverage("conclusions", 25, 200, missing, verbatim=3),
        SummaryCoverage("numbers", 1, 9, (), verbatim=2),
    )
    assert coverage_text(coverage) == (
        "Named in text and lists: 25 of the newest 200 conclusions, 3 kept word for word"
        " · 1 of 9 numbers, 2 kept word for word"
    )
    assert added_text(coverage).lines == (
        ("Conclusions", "Never push. · Ask first. · 170 more only in the cache"),
        ("Numbers", "6 more only in the cache"),
    )


def test_a_long_name_is_shortened() -> None:
    """An instruction may be a sentence of a list; the card shows its beginning, without the list's dash."""
    line = added_text(
        (SummaryCoverage("instructions", 0, 1, (Bullet("- " + "Never push " * 20, (3,)),)),)
    ).text.splitlines()[-1]
    assert line.startswith("Instructions: Never push")
    assert line.endswith("…")
    assert len(line) < 100


def test_each_kind_has_a_line_that_ends_at_a_fact() -> None:
    """A task left is not read as a file; what a line has no room for is counted."""
    tasks = tuple(Bullet(f"Write chapter {n} of the manual\nfor testers", (n,)) for n in range(7))
    coverage = (
        SummaryCoverage("tasks", 0, 7, tasks),
        SummaryCoverage("files", 0, 1, (Bullet("docs/plan.md", (9,)),)),
    )
    listed = " · ".join(f"Write chapter {n} of the manual for testers" for n in range(3))
    assert added_text(coverage).text.splitlines() == [
        "Added below it:",
        f"Left to do on the todo list: {listed} · and 4 more",
        "Files: docs/plan.md",
    ]


def test_the_marks_of_markdown_are_left_out_of_sentences_alone() -> None:
    sentence, file = Bullet("- **Offset:** edited `a.toml`", (3,)), Bullet("pkg/__init__.py", (4,))
    coverage = (SummaryCoverage("numbers", 0, 1, (sentence,)), SummaryCoverage("files", 0, 1, (file,)))
    assert added_text(coverage).lines == (
        ("Numbers", "Offset: edited a.toml"),
        ("Files", "pkg/__init__.py"),
    )
