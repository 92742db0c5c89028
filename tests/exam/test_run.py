"""`./helix exam`: a whole run against a server, and what it says where there is no model."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.exam.questions import recording_digest
from tests.exam.run import main
from tests.support.cli_rig import ROOT
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error, text_reply
from tests.support.replay_fakes import assistant_message, file_read_step, user_message
from tests.support.synthetic_recordings import write_recordings

KEY = 'points = [{ accept = ["harbor"], messages = [3] }]'


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Two recordings with one question each, and a third without any."""
    for name in ("north", "south", "west"):
        session = [user_message(f"Look at {name}."), *file_read_step("1", f"{name}.txt", "harbor")]
        (path,) = write_recordings(tmp_path / name, [[*session, assistant_message("Done.")]])
        if name != "west":
            question = f'id = "{name}"\nkind = "fact"\nquestion = "What is {name}?"\n{KEY}'
            text = f'recording = "{recording_digest(path)}"\n[[questions]]\n{question}\n'
            (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


async def test_what_was_measured_before_a_model_failed_is_printed(recordings: Path) -> None:
    def answer(request: dict[str, Any]) -> Reply:
        if "What is south?" in request["messages"][-1]["content"] and "tools" not in request:
            return api_error(401, "wrong key")
        return text_reply("It is the harbor.")

    folders = [str(recordings / name) for name in ("north", "south", "west")]
    async with ChatServer(answer) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.exam.run", *folders, "--questions", str(recordings)),
            *("--data-dir", str(recordings / "data"), "--model", "local/small"),
            *("--base-url", server.base_url),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
    assert process.returncode == 1, output + errors
    assert b"key" in errors
    head, names, _line, *rows = output.decode().splitlines()
    assert head.startswith("Model local/small, context window ")
    assert head.endswith("policy balanced; 2 questions on 2 recordings")
    assert names.split()[:2] == ["answers", "right"]
    cells = [re.split(r" {2,}", row.strip())[:5] for row in rows]
    assert cells == [
        ["context with recall", "2", "2", "100.0", "34.2 – 100.0"],
        ["facts", "2", "2", "100.0", "34.2 – 100.0"],
        ["same context, no recall", "1", "1", "100.0", "20.7 – 100.0"],
        ["facts", "1", "1", "100.0", "20.7 – 100.0"],
        ["whole history", "1", "1", "100.0", "20.7 – 100.0"],
        ["facts", "1", "1", "100.0", "20.7 – 100.0"],
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "No model is set up."),
        (("--model", "nobody/x"), "Unknown provider: nobody."),
    ],
)
def test_without_a_model_nothing_is_measured(
    recordings: Path, words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(recordings), "--questions", str(recordings), "--data-dir", str(recordings / "data")]
    assert main([*command, *words]) == 2
    captured = capsys.readouterr()
    assert captured.out.startswith(f"Not measured. {reason}")
    assert captured.err == ""
    assert main([*command, *words, "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["measured"], document["questions"]) == (False, 2)
    assert document["reason"].startswith(reason)


def test_bad_input_is_refused(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    west, questions = str(recordings / "west"), ("--questions", str(recordings))
    for words, error in (
        ((west, *questions), "No questions about these recordings found."),
        ((west, "--questions", west), "No questions in"),
        ((west, *questions, "--policy", "x"), "Policy 'x' not found."),
        ((f"{west}/no.jsonl", *questions), "can't be read"),
    ):
        assert main(words) == 2
        captured = capsys.readouterr()
        assert (captured.out, len(captured.err.splitlines())) == ("", 1)
        assert error in captured.err
