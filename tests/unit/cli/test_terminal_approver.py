"""Questions of the agent on a terminal, and what is said there before a call."""

from __future__ import annotations

import asyncio
import io
import os
import sys

import pytest

from helix_desktop.cli.workspace_command import TerminalApprover, parse_reply
from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.question import Question, QuestionOption, QuestionReply, ServerQuestion
from helix_desktop.domain.tools import ApprovalRequest, PermissionRule
from tests.support.tables import for_each

DATABASE = Question(
    "c", "Which database?\u202e", (QuestionOption("SQLite", "One file"), QuestionOption("Postgres"))
)
COLORS = Question("c", "Which colors?", (QuestionOption("Red"), QuestionOption("Blue")), multiple=True)
NAME = Question("c", "What name?")


@for_each(
    ("question", "line", "reply"),
    [
        (DATABASE, "2\n", QuestionReply(("Postgres",))),
        (DATABASE, "  1 \n", QuestionReply(("SQLite",))),
        (DATABASE, "3\n", QuestionReply(text="3")),
        (DATABASE, "1 2\n", QuestionReply(text="1 2")),
        (DATABASE, "2 replicas of it\n", QuestionReply(text="2 replicas of it")),
        (DATABASE, "\n", QuestionReply()),
        (COLORS, "2, 1 1\n", QuestionReply(("Blue", "Red"))),
        (NAME, "1\n", QuestionReply(text="1")),
    ],
)
def test_a_line_is_numbers_or_words_or_a_skip(question: Question, line: str, reply: QuestionReply) -> None:
    assert parse_reply(question, line) == reply


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_questions_are_asked_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    user, terminal = pytest.importorskip("pty").openpty()
    screen = _Terminal()
    approver = TerminalApprover("deny")
    with os.fdopen(terminal, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", screen)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(approver.reply("s", DATABASE))
            second = group.create_task(approver.reply("s", NAME))
            await asyncio.sleep(0)
            assert "Which database?\\u202e\n  1  SQLite – One file\n  2  Postgres\n" in screen.getvalue()
            assert "What name?" not in screen.getvalue()
            os.write(user, b"2\n")
            assert await first == QuestionReply(("Postgres",))
            os.write(user, b"tide\n")
        assert second.result() == QuestionReply(text="tide")
    os.close(user)


async def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    assert await TerminalApprover("once").reply("s", DATABASE) is None


async def test_what_a_server_asks_is_declined_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    question = ServerQuestion("c", "Who are you?\u202e", server="made")
    assert await TerminalApprover("once").reply("s", question) is None
    said = "Declined, as only the window can answer it. made asks: Who are you?\\u202e\n"
    assert capsys.readouterr().err == said


async def test_where_a_call_cannot_be_undone_is_printed_once_before_it_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = UncoveredPlace("dist\u202e", "ignored", is_folder=True)
    ask = ApprovalRequest(
        *("c1", "run_command", "make", "Run it", "make", PermissionRule("run_command", "make")),
        coverage=FileCoverage(places=(place,), uncovered=1, is_complete=True),
    )
    approver = TerminalApprover("once")
    for _ in range(2):
        assert (await approver.decide("s", ask)).decision == "once"
    assert capsys.readouterr().err == "Can't be undone in dist\\u202e\n"
    await TerminalApprover("deny").decide("s", ask)
    assert capsys.readouterr().err == ""
