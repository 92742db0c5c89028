"""The ignore file means what git would take it to mean."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.files.names import IgnoreRules
from tests.support.call_count import calls_of

NAMES = ("a", "ab", "b.py", ".env", "x y", "a[1]")
PIECES = ("a", "b", "*", "?", "**", ".env", "[a-c]", "[!a]", "[^b]", "\\*", "*.py", "ab", "x\\ y", "#", "]")
patterns = st.lists(
    st.tuples(
        st.sampled_from(("", "", "!", "/", "\\!")),
        st.lists(
            st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("".join), min_size=1, max_size=3
        ),
        st.sampled_from(("", "", "/", "  ")),
    ).map(lambda parts: parts[0] + "/".join(parts[1]) + parts[2]),
    min_size=1,
    max_size=4,
)
paths = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here to compare with")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=patterns, files=paths)
@example(lines=["a**/*/"], files=[["a", "a"], ["ab"]])
@example(lines=["x/a**", "!x/a**/b"], files=[["x", "a"], ["x", "ab", "c"], ["x", "b"]])
@example(lines=["a/***/b"], files=[["a", "b"], ["a", "a", "a", "b"]])
def test_it_ignores_what_git_ignores(checkout: Path, lines: list[str], files: list[list[str]]) -> None:
    (checkout / ".gitignore").write_text("\n".join(lines))
    file_names = sorted({"/".join(parts) for parts in files})
    answer = subprocess.run(
        [
            "git",
            "-C",
            str(checkout),
            "-c",
            "core.ignorecase=false",
            "check-ignore",
            "--no-index",
            "-z",
            "--stdin",
        ],
        input="\0".join(file_names).encode(),
        capture_output=True,
        check=False,
    ).stdout
    ignored = {path for path in answer.decode().split("\0") if path}
    rules = IgnoreRules("\n".join(lines), ignores_case=False)
    assert {path for path in file_names if rules.ignores(path.split("/"))} == ignored


def test_a_lenient_file_system_gets_no_other_spelling_through() -> None:
    rules = IgnoreRules(".env\nsecrets/\n", ignores_case=True)
    assert rules.ignores([".ENV"])
    assert rules.ignores(["Secrets.", "key"])


def test_a_hostile_pattern_takes_no_time() -> None:
    """A way to split the name for every star would be tried for longer than anybody lives."""
    rules = IgnoreRules("*a*a*a*a*a*a*a*a*a*a*a*b\n**/a/**/a/**/a/**/a/**/a/**/b\n")
    assert not rules.ignores(["a" * 250])
    assert not rules.ignores(["a"] * 120)


@pytest.mark.parametrize("line", ["name{}", "folder{}/", "*.end{}", "!name{}"])
def test_twenty_thousand_names_are_looked_up(line: str) -> None:
    rules = IgnoreRules("name7\n" + "\n".join(line.format(at) for at in range(20_000)) + "\n*.end3\nname7")

    def look_up() -> None:
        assert not rules.ignores(("src", "module", "file.py"))
        assert rules.ignores(("src", "name7"))
        assert rules.ignores(("src", "x.end3"))

    assert calls_of(look_up) < 400


@pytest.mark.parametrize(
    "line", ["a*b{}", "*mid{}*", "dir/sub{}/*.o", "**/x{}/y", "[ab]{}*", "?{}?", "{}*\\*x", "!*odd{}*"]
)
def test_twenty_thousand_odd_globs_are_looked_up(line: str) -> None:
    """Those are tried on a path whose rarest letters in a row it has: a few of them, not all."""
    rules = IgnoreRules("\n".join(line.format(at) for at in range(20_000)))
    rules.ignores(("warm",))
    paths = (("src", "module", "file.py"), ("dir", "sub7", "x12345.o"))
    calls = calls_of(lambda: [rules.ignores(path) for path in paths])
    assert calls < 20_000  # not one for each rule; a pattern that is tried is compiled by some 700


@given(
    lines=st.lists(
        st.tuples(st.sampled_from(PIECES), patterns).map(lambda drawn: [*drawn[1], drawn[0] * 2]), max_size=3
    ),
    files=paths,
    ignores_case=st.booleans(),
)
def test_many_rules_mean_what_few_mean(
    lines: list[list[str]], files: list[list[str]], ignores_case: bool
) -> None:
    """The look-up by letters leaves out only rules that would not fit."""
    text = "\n".join(line for group in lines for line in group)
    padding = "\n".join(f"*no*such{at}*name*" for at in range(100))
    few, many = IgnoreRules(text, ignores_case), IgnoreRules(f"{padding}\n{text}", ignores_case)
    for parts in files:
        for names in (parts, [name.upper() for name in parts]):
            assert few.ignores(names) == many.ignores(names)
            assert few.verdict("/".join(names)) == many.verdict("/".join(names))


def test_letters_that_stand_for_others_are_not_required() -> None:
    """The Kelvin sign is a k where case is ignored, a dotless i an i: no file of that name is let through."""
    padding = "\n".join(f"*no*such{at}*name*" for at in range(100))
    for glob, name in (("*k?y*", "my\u212aeys"), ("*s?cret*", "a\u017fecrets"), ("*?id*", "g\u0131ds")):
        few, many = IgnoreRules(glob, True), IgnoreRules(f"{glob}\n{padding}", True)
        assert few.verdict(name) == many.verdict(name)
