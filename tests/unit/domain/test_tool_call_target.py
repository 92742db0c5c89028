"""What a call was about, read from its arguments."""

from __future__ import annotations

import pytest

from helix_desktop.domain.files.file_use import call_target, mcp_call_target


@pytest.mark.parametrize(
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
