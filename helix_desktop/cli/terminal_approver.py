"""The approver of a command: its options decide approvals; questions are asked where a terminal is."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from contextlib import suppress

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.cli.output import print_err
from helix_desktop.domain.question import Question, QuestionReply
from helix_desktop.domain.tools import ApprovalDecision, ApprovalReply, ApprovalRequest
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.words.file_coverage import uncovered_line
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

_NUMBERS = re.compile(r"[1-9](?:[\s,;]+[1-9])*")
_MAX_LINE = 65_536  # bytes


class TerminalApprover(FixedApprover):
    """Asks the agent's questions on the terminal, one after the other; without one nobody answers them."""

    def __init__(self, decision: ApprovalDecision) -> None:
        super().__init__(decision)
        self._lock = asyncio.Lock()
        self._uncovered = ""

    async def decide(self, session_id: str, request: ApprovalRequest) -> ApprovalReply:
        """Return the fixed reply; say before the call where it can't be undone, once while that is so."""
        reply = await super().decide(session_id, request)
        line = uncovered_line(request.coverage) if request.coverage and reply.decision != "deny" else ""
        if line and line != self._uncovered:
            self._uncovered = line
            print_err(line)
        return reply

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        """Return the user's reply; None without a terminal, or once its input has ended."""
        if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        async with self._lock:
            print_err(_prompt(question))
            line = await _read_line(sys.stdin.fileno())
        return parse_reply(question, line) if line else None


def parse_reply(question: Question, line: str) -> QuestionReply:
    """Return the reply that a line means: numbers of options, other words, or nothing to skip it."""
    text = line.strip()
    if _NUMBERS.fullmatch(text):
        numbers = list(dict.fromkeys(map(int, re.findall(r"\d", text))))
        if max(numbers) <= len(question.options) and (question.multiple or len(numbers) == 1):
            return QuestionReply(tuple(question.options[number - 1].label for number in numbers))
    return QuestionReply(text=text)


def _prompt(question: Question) -> str:
    lines = ["", tr("The agent asks: {question}", question=escape_hidden(question.text))]
    if question.subagent_title:
        lines.insert(1, tr("Subagent: {title}", title=escape_hidden_name(question.subagent_title)))
    for number, option in enumerate(question.options, 1):
        words = " – ".join(filter(None, (option.label, option.description)))
        lines.append(f"  {number}  {escape_hidden(words)}")
    if not question.options:
        lines.append(tr("Write your answer, or nothing to skip:"))
    elif question.multiple:
        lines.append(tr("Enter numbers (1, 2), your own words, or nothing to skip:"))
    else:
        lines.append(tr("Enter a number, your own words, or nothing to skip:"))
    return "\n".join(lines)


async def _read_line(terminal: int) -> str:
    """Return the next line of a terminal; empty at its end. Canceling leaves it to the thread's end."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()

    def deliver(data: bytes) -> None:
        if not line.done():
            line.set_result(data)

    def read() -> None:
        try:
            data = os.read(terminal, _MAX_LINE)
        except OSError:
            data = b""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, data)

    # A daemon, and os.read: a thread that reads sys.stdin would hold up, or break, the end of the process.
    threading.Thread(target=read, name="terminal", daemon=True).start()
    return (await line).decode(sys.stdin.encoding or "utf-8", "replace")
