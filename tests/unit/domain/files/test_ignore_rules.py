"""The ignore file means what git would take it to mean."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.files.ignore_rules import IgnoreRules

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
    """Return an empty checkout."""
    folder = tmp_path_factory.mktemp("checkout")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here to compare with")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=patterns, files=paths)
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
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        assert not rules.ignores(("src", "module", "file.py"))
        assert rules.ignores(("src", "name7"))
        assert rules.ignores(("src", "x.end3"))
    finally:
        sys.setprofile(None)
    assert calls < 400
