"""The command `import`: sessions of other agents, listed and imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.main import main

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Which port does the shop use?"},
    {"role": "assistant", "tool_calls": [{"id": "t", "function": {"name": "read", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "t", "content": "PORT = 8080\n"},
    {"role": "assistant", "content": "8080."},
]


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session as a file; the user's home has none."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "ws").mkdir()
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in TALK) + "no json\n")
    return path


def run(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, str, str]:
    """Run a command; return its code, output and errors."""
    code = main([words[0], "--data-dir", str(folder / "data"), *words[1:]])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_session_is_listed_imported_and_found(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, tmp_path, "import", "--list", "--json", str(talk))
    (listed,) = json.loads(out)
    assert (code, listed["agent"], listed["title"]) == (0, "chat-messages", "Which port does the shop use?")
    workspace = ("--workspace", str(tmp_path / "ws"))
    code, out, err = run(capsys, tmp_path, "import", str(talk), *workspace)
    assert (code, out) == (0, "1 session imported.\n")
    assert "1 damaged line was skipped." in err
    code, out, _ = run(capsys, tmp_path, "import", str(talk), *workspace)
    assert (code, out) == (0, "1 already here.\n")
    _, out, _ = run(capsys, tmp_path, "sessions", *workspace)
    assert "Which port does the shop use?" in out


def test_what_is_missing_is_said(talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path, "import", str(talk))
    assert (code, "--workspace" in err) == (2, True)
    code, _, err = run(capsys, tmp_path, "import", "--workspace", str(tmp_path / "ws"))
    assert (code, "--all" in err) == (2, True)
    code, out, err = run(capsys, tmp_path, "import", "--list")
    assert (code, out, err) == (0, "", "No sessions of other agents found.\n")
