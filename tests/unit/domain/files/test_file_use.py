"""What calls and commands do with files, and what they were about."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.files.file_use import (
    ALL_LINES,
    UNKNOWN_LINES,
    Lines,
    call_target,
    is_test_command,
    mcp_call_target,
    printed_file,
)
from tests.support.tables import for_each


@for_each(
    ("command", "path", "lines"),
    [
        ("cat a.py", "a.py", ALL_LINES),
        ("cd src && cat 'my file.py' 2>/dev/null", "src/my file.py", ALL_LINES),
        ("sed -n '1,80p' src/x.rs", "src/x.rs", Lines(1, 80)),
        ("nl -ba x.py | sed -n '10,20p'", "x.py", Lines(10, 20)),
        ("head -n 50 a.py", "a.py", Lines(1, 50)),
        ("cat a.py | head", "a.py", Lines(1, 10)),
        ("head -c 50 a.py", "a.py", UNKNOWN_LINES),
        ("tail -30 a.py", "a.py", UNKNOWN_LINES),
    ],
)
def test_a_command_that_only_prints_a_file_reads_it(command: str, path: str, lines: Lines) -> None:
    assert printed_file(command) == (path, lines)


@for_each(
    "command",
    [
        "cat a.py b.py",
        "cat a.py && ls",
        "cat > a.py",
        "cat *.py",
        "cat a.py | grep b",
        "sed -i s/a/b/ x",
        "cat 'x",
        "cat",
    ],
)
def test_any_other_command_does_not(command: str) -> None:
    assert printed_file(command) is None


@given(st.text("cathedsnl -|&'\"01,p.x/", max_size=30))
def test_no_command_is_too_odd_to_be_looked_at(command: str) -> None:
    printed = printed_file(command)
    assert printed is None or printed[0]


@for_each(
    ("command", "is_test"),
    [
        ("pytest -q tests/unit", True),
        ("mise run test 2>&1 | head", True),
        ("npm run lint", True),
        ("./run_tests.sh -v", True),
        ("cargo test --all", True),
        ("git log --oneline", False),
        ("ls latest", False),
        ("go run ./cmd", False),
    ],
)
def test_commands_that_look_like_tests(command: str, is_test: bool) -> None:
    assert is_test_command(command) == is_test


@pytest.mark.parametrize("piece", ["make ", "npm run ", " ", "test."])
def test_a_very_long_command_takes_little_time(piece: str) -> None:
    started = time.process_time()
    assert not is_test_command(piece * 30_000 + "!")
    assert time.process_time() - started < 5  # some 0.02 s; in the square of its length half a minute


@for_each(
    ("arguments", "target"),
    [
        ('{"content": "text", "path": "a.py"}', "a.py"),
        ('{"edits": [{"path": "a.py", "old_text": "x"}, {"path": "b.py"}, {"path": "a.py"}]}', "a.py, b.py"),
        ('{"todos": [{"content": "Read", "status": "done"}]}', ""),
        ('{"edits": [1, null], "n": 2}', ""),
        ('{"edits": [{"path": "' + "a" * 999 + '"}]}', "a" * 199 + "…"),
        ('{"path": "ledger/interest.py", "lines": [1,', "ledger/interest.py"),
        ('{"todos": [{"content": "Rea', '{"todos": [{"content": "Rea'),
        ("*** Update File: c.py\n@@", "c.py"),
    ],
)
def test_a_call_is_about_the_paths_in_its_arguments(arguments: str, target: str) -> None:
    assert call_target(arguments) == target


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ('{"count": 3, "text": "two\\nlines"}', "two lines"),
        ('{"lines": -1, "all": false}', "lines: -1, all: false"),
        ('{"a": [' + "1, " * 200 + "1]}", "a: [" + "1, " * 65 + "…"),
        ("{}", ""),
        ("no JSON", ""),
    ],
)
def test_a_call_of_a_foreign_tool_is_about_all_that_it_is_given(arguments: str, target: str) -> None:
    assert mcp_call_target(arguments) == target


def test_a_path_of_a_call_is_spelled_as_the_tools_spell_it() -> None:
    """One that ran has it from its tool, one that failed from its arguments: both are the same."""
    assert call_target('{"path": "new\\nline  two.txt", "old_text": "x"}') == "new\\u000aline  two.txt"
    assert call_target('{"command": "echo 1\\necho 2"}') == "echo 1 echo 2"
