"""The exam on a hand-made recording: models behind a real server that know only their requests.

And `./helix exam`: a whole run against a server, and what it says where there is no model.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from tests.exam.examiner import CONDITIONS, MAX_CALLS, Examiner, ExamPart, QuestionResult, plan_exam
from tests.exam.questions import read_questions, recording_digest
from tests.exam.report import ExamTotals, exam_totals, format_table, to_document
from tests.exam.run import main
from tests.support.cli_rig import ROOT
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    Script,
    StreamedReply,
    api_error,
    text_reply,
)
from tests.support.model_servers.connect import connect_model
from tests.support.replay_fakes import assistant_message, file_read_step, user_message
from tests.support.synthetic_recordings import write_recordings

WINDOW = 24_000
PORT = "48213"
FACT = re.compile(r"listen_port = (\d+)")
QUESTIONS = f"""
recording = "DIGEST"
[[questions]]
id = "port"
kind = "fact"
question = "On which port does the gauge server listen?"
points = [{{ accept = ["{PORT}"], messages = [5] }}]
[[questions]]
id = "units"
kind = "wish"
question = "In which unit does the user want levels?"
points = [{{ accept = ["centimeters", "cm"], evidence = "centimeters", messages = [1] }}]
"""


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> ExamPart:
    """A session whose early outputs have left the window, and two questions about it."""
    folder = tmp_path_factory.mktemp("exam")
    messages = [user_message("Read all settings. Levels always in centimeters, please.")]
    for number in range(40):
        port = PORT if number == 1 else "0"
        lines = [f"[station {number}]", f"listen_port = {port}" if number == 1 else "enabled = true"]
        lines += [f"offset_{number}_{line} = {line * 37 % 1009}" for line in range(30)]
        messages += file_read_step(f"c{number}", f"conf/station_{number}.toml", "\n".join(lines))
    messages.append(assistant_message("All forty files are read."))
    path = folder / "session.jsonl"
    path.write_text("".join(f"{json.dumps(message)}\n" for message in messages))
    (folder / "session.toml").write_text(QUESTIONS.replace("DIGEST", recording_digest(path)))
    (only_part,) = plan_exam([path], read_questions(folder), 0)
    return only_part


async def examine(
    part: ExamPart, script: Script, http: HttpClient, judge: Script | None = None
) -> tuple[list[QuestionResult], list[Any], list[Any]]:
    async with ChatServer(script) as server, ChatServer(judge or script) as judge_server:
        info = ModelInfo("local", "scripted", WINDOW, reserve=1_000)
        model = connect_model("openai-chat", info, server.base_url, http=http)
        judging = connect_model("openai-chat", info, judge_server.base_url, http=http) if judge else None
        examiner = Examiner(model, PROFILES["balanced"], judging)
        results = [result async for result in examiner.examine(part)]
        return results, server.bodies, judge_server.bodies


def reader(request: dict[str, Any]) -> Reply:
    """Answer from the request alone; look for the port with the tools if they are there."""
    *_, newest = request["messages"]
    words = "\n".join(str(message["content"]) for message in request["messages"])
    if "In which unit" in words:
        return text_reply("The user wants centimeters." if "in centimeters, please" in words else "Unknown.")
    if newest["role"] == "user" and "tools" in request and not FACT.search(words):
        return StreamedReply(Call("search_cached_content", '{"query": "listen_port"}'))
    if newest["role"] == "tool" and not newest["content"].startswith("Recalled"):
        (digest, *_) = re.findall(r"\b[0-9a-f]{12,64}\b", newest["content"])
        arguments = json.dumps({"hash": digest, "pattern": "listen_port"})
        return StreamedReply(Call("recall_cached_content", arguments))
    found = FACT.search(words)
    return text_reply(f"On port {found[1]}." if found else "It isn't in what I see.")


def by_condition(results: list[QuestionResult], question: str) -> dict[str, QuestionResult]:
    return {result.condition: result for result in results if result.id == question}


def total(results: list[QuestionResult], condition: str) -> ExamTotals:
    (found,) = [row for row in exam_totals(results) if (row.condition, row.kind) == (condition, "")]
    return found


async def test_a_model_that_recalls_finds_what_left_the_window(part: ExamPart, http: HttpClient) -> None:
    results, requests, _ = await examine(part, reader, http)
    port = by_condition(results, "port")
    assert {condition: result.is_right for condition, result in port.items()} == {
        "recall": True,
        "no_recall": False,
        "whole_history": True,
    }
    assert 1 <= len(port["recall"].calls) <= 2
    assert [port[condition].points_visible for condition in CONDITIONS] == [0, 0, 1]
    assert port["no_recall"].calls == port["whole_history"].calls == ()
    assert all(result.is_right for result in by_condition(results, "units").values())
    # The same window with and without tools, under the real system prompt, the question last.
    first = next(request for request in requests if "tools" in request)
    same = next(request for request in requests if "tools" not in request)
    assert first["messages"] == same["messages"]
    assert first["messages"][0]["role"] == "system"
    assert "[CACHED]" in first["messages"][0]["content"]
    assert "On which port" in first["messages"][-1]["content"]
    # The tools know the session, as they do for the agent in it.
    answered = [str(message["content"]) for message in requests[2]["messages"] if message["role"] == "tool"]
    assert "this session" in answered[-1]
    assert port["recall"].input_tokens < port["whole_history"].input_tokens * port["recall"].requests


async def test_totals_say_how_far_they_can_be_trusted(part: ExamPart, http: HttpClient) -> None:
    results, _, _ = await examine(part, reader, http)
    recall = total(results, "recall")
    no_recall = total(results, "no_recall")
    assert (recall.answers, recall.right, recall.points, recall.visible) == (2, 2, 1.0, 0.5)
    assert recall.recalls_if_any == 2 * recall.recalls
    assert (recall.low, recall.high) == pytest.approx((0.3424, 1.0), abs=5e-5)
    assert (no_recall.right, no_recall.recalls) == (1, 0)
    assert (no_recall.low, no_recall.high) == pytest.approx((0.0945, 0.9055), abs=5e-5)
    table = format_table(results).splitlines()
    assert [line.split()[0] for line in table[2:]] == [
        *("context", "facts", "the"),
        *("same", "facts", "the"),
        *("whole", "facts", "the"),
    ]
    assert "34.2 – 100.0" in table[2]
    document = to_document(results, ModelInfo("local", "scripted", WINDOW), "balanced", "")
    assert (document["model"], document["window"]) == ("local/scripted", WINDOW)
    assert [row["id"] for row in document["results"]] == ["port", "units"] * 3


async def test_what_does_not_fit_is_left_out(part: ExamPart, http: HttpClient) -> None:
    async with ChatServer(lambda _request: text_reply("No idea.")) as server:
        counts = {}
        for window, policy in ((WINDOW, "off"), (8_000, "balanced"), (8_000, "off")):
            model = connect_model(
                "openai-chat", ModelInfo("local", "scripted", window, reserve=100), server.base_url, http=http
            )
            examiner = Examiner(model, PROFILES[policy])
            counts[policy, window] = [result.condition async for result in examiner.examine(part)]
    assert counts["off", WINDOW] == [condition for condition in CONDITIONS for _ in range(2)]
    assert counts["balanced", 8_000] == ["recall", "recall", "no_recall", "no_recall"]
    assert counts["off", 8_000] == []


async def test_calls_are_limited(part: ExamPart, http: HttpClient) -> None:
    def caller(request: dict[str, Any]) -> Reply:
        return StreamedReply(Call("list_cached_content")) if "tools" in request else text_reply("Port 1.")

    results, requests, _ = await examine(part, caller, http)
    recall = by_condition(results, "port")["recall"]
    assert (len(recall.calls), recall.requests, recall.is_right) == (MAX_CALLS, MAX_CALLS + 2, False)
    assert max(len(request["messages"]) for request in requests) < 200


async def test_the_judge_sees_question_key_and_answer_alone(part: ExamPart, http: HttpClient) -> None:
    def judge(request: dict[str, Any]) -> Reply:
        return text_reply("1" if "four eight two one three" in str(request["messages"]) else "none")

    results, _, requests = await examine(
        part, lambda _request: text_reply("It is four eight two one three."), http, judge
    )
    assert len(requests) == len(results) == 6
    (message,) = requests[0]["messages"]
    assert all(words in message["content"] for words in ("On which port", PORT, "four eight two one three"))
    assert "station" not in message["content"]
    assert [(result.points_right, result.judged) for result in results] == [(0, 1)] * 6
    assert total(results, "recall").judged == 2


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
    west = str(recordings / "west")
    questions = ("--questions", str(recordings))
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
