"""The commands of an ordinary day in a turn of mode Ask, with the defaults: how often the user is asked."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from helix_desktop.agent.session import ApprovalRequested, Update
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.tools import ApprovalReply, ApprovalRequest, PermissionRule
from helix_desktop.services.app_services import AppServices
from helix_desktop.tools.process import find_ripgrep
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.sandbox_rig import outside_tmp

pytestmark = pytest.mark.skipif(find_bwrap() is None, reason="bubblewrap does not work here")

COMMANDS = [
    line.split("\t")
    for line in (Path(__file__).parents[1] / "support" / "usual_commands.txt").read_text().splitlines()
    if not line.startswith("#")
]
ASKED_BY_KIND = {"reading": 0, "tests": 2, "builds": 1, "git": 4, "network": 2, "deletion": 3}
"""Of the tests there are two programs, pytest and npm test; of the builds one, cargo build."""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home outside `/tmp`, with programs in `.local/bin`, and in `ws` a project with a history.

    Small programs are in place of pytest, npm and cargo.
    """
    folder = Path(tempfile.mkdtemp(prefix=".helix-test-", dir=outside_tmp()))
    project = folder / "ws"
    programs = folder / ".local" / "bin"
    for name, text in {
        "README.md": "# A project\n", "src/app.py": "import os\n\n\ndef main():\n    pass\n",
        "tests/test_app.py": "def test_main():\n    pass\n", "docs/notes.txt": "a: 1\nb: 2\n",
        "core/a.rs": "\n",
        "build/out.txt": "x\n", ".env": "KEY=secret\n", ".gitignore": ".env\nbuild/\n",
    }.items():  # fmt: skip
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    for words in (
        "init -q", "config user.email a@b.c", "config user.name A", "add .", "commit -qm first",
        "commit -q --allow-empty -m second",
    ):  # fmt: skip
        subprocess.run(["git", *words.split()], cwd=project, check=True)
    (project / "src" / "app.py").write_text("import os\n\n\ndef main():\n    print(1)\n")
    programs.mkdir(parents=True)
    for name in ("pytest", "npm", "cargo"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} ran\ntouch {name}.txt\n")
        (programs / name).chmod(0o755)
    ripgrep = find_ripgrep()
    assert ripgrep is not None
    shutil.copy(ripgrep, programs / "rg")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", f"{programs}:/usr/local/bin:/usr/bin:/bin")
    yield folder
    shutil.rmtree(folder)


def is_lasting(request: ApprovalRequest) -> bool:
    """Return True if a rule is offered that covers what is repeated."""
    return not request.lasting_refusal and any(rule.kind == "pattern" for rule in request.suggested_rules)


Answer = Callable[[ApprovalRequest], ApprovalReply]


async def run_commands(
    home: Path, commands: Iterable[str], answer: Answer, *rules: PermissionRule
) -> tuple[list[ApprovalRequest], list[RecordedEvent]]:
    """Run a turn of these commands with saved rules; return what was asked, and the log."""
    asked: list[ApprovalRequest] = []
    loop = asyncio.get_running_loop()

    def on_update(_session: str, update: Update) -> None:
        if isinstance(update, ApprovalRequested):
            asked.append(update.ask)
            loop.call_soon(conversation.decide, update.ask.call_id, answer(update.ask))

    calls = [
        StreamedReply(Call("run_command", json.dumps({"command": command}), id=f"call_{number}"))
        for number, command in enumerate(commands)
    ]
    services = AppServices(DataDir(home / "data"), os.environ)
    async with ChatServer(replies_in_order(*calls, text_reply("Done."))) as server:
        try:
            record = services.registry.add(home / "ws")
            services.registry.change(record.id, trusted=True)
            workspace = await services.open_workspace(record.id)
            await workspace.set_models(await services.models.adhoc("scripted", server.base_url, 200_000))
            for rule in rules:
                await workspace.services.permissions.add(rule)
            conversation = await workspace.open_session("one")
            workspace.on(Update, on_update)
            await conversation.run("Go on")
            return asked, list(conversation.session.log)
        finally:
            await services.close()


async def test_reading_asks_never_programs_once_and_the_rest_each_time(home: Path) -> None:
    """The user allows tests and builds always, with the button; the rest they deny, which changes nothing."""
    kinds = {command: kind for kind, command in COMMANDS}

    def answer(request: ApprovalRequest) -> ApprovalReply:
        if kinds[request.detail] not in ("tests", "builds"):
            return ApprovalReply("deny")
        (pattern,) = (rule for rule in request.suggested_rules if rule.kind == "pattern")
        return ApprovalReply("always", pattern)

    asked, log = await run_commands(home, kinds, answer)
    counts = dict.fromkeys(ASKED_BY_KIND, 0)
    for request in asked:
        counts[kinds[request.detail]] += 1
    assert counts == ASKED_BY_KIND
    assert len(asked) == 12
    check_what_ran(log)
    check_what_is_offered(asked, kinds)


def check_what_ran(log: list[RecordedEvent]) -> None:
    """Check that reading commands ran so that they could do nothing else, and have no approval on record."""
    answers = [entry.event for entry in log if isinstance(entry.event, ToolAnswered)]
    assert len(answers) == len(COMMANDS)
    for (kind, command), answer in zip(COMMANDS, answers, strict=True):
        if kind == "reading":
            assert answer.text.startswith("exit code 0 (sandboxed to read only, no network)"), command
            assert "secret" not in answer.text
        elif kind in ("tests", "builds"):
            assert "ran" in answer.text or "grep" in command, command
        else:
            assert answer.outcome == "denied", command
    approved = {entry.event.call_id for entry in log if isinstance(entry.event, ApprovalGiven)}
    reading = {f"call_{number}" for number, (kind, _) in enumerate(COMMANDS) if kind == "reading"}
    assert not reading & approved
    assert len(approved) == len(COMMANDS) - len(reading)


def check_what_is_offered(asked: list[ApprovalRequest], kinds: dict[str, str]) -> None:
    """Check which patterns were offered, and that none is for what destroys or leaves the sandbox."""
    lasting = [request for request in asked if kinds[request.detail] in ("tests", "builds")]
    offered = {request.suggested_rules[1].subject for request in lasting}
    assert offered == {"pytest *", "npm test *", "cargo build *"}
    for request in asked:
        assert is_lasting(request) == (request in lasting or request.detail in LASTING), request.detail


LASTING = ("git add -A", 'git commit -m "Say what main prints"')
"""Writes of git that destroy nothing whatever their options."""


SAVED_FOR_READING = ("cat *", "git show *", "rg *")


async def test_no_rule_for_first_words_is_offered_or_used_for_what_is_dangerous(home: Path) -> None:
    """The user allowed `cat *` and others always; all of these are asked about, and say what they may do."""
    rules = [
        PermissionRule("run_command", subject, kind="pattern", confined=True) for subject in SAVED_FOR_READING
    ]
    asked, _ = await run_commands(home, DANGEROUS, lambda _: ApprovalReply("deny"), *rules)
    assert [request.detail for request in asked] == list(DANGEROUS)
    for request in asked:
        paths = (
            *request.secrets, *request.auto_executed, *(place.path for place in request.data_loss),
            *(each.path for each in request.protected_paths),
        )  # fmt: skip
        assert DANGEROUS[request.detail] in paths, request.detail
        assert {rule.kind for rule in request.offered_rules} == {"exact"}, request.detail


DANGEROUS = {
    "cat .env": ".env", "cat .env | head -1": ".env", "cat .env.local": ".env.local",
    "cat /etc/hostname": "/etc/hostname", "git show HEAD:.env": ".env", "rg --replace=x KEY": ".env",
    "printf x > .vscode/tasks.json": ".vscode/tasks.json", "cp README.md .envrc": ".envrc",
    "rm .env": ".env",
}  # fmt: skip


async def test_a_run_without_a_user_follows_the_same_rule(home: Path) -> None:
    """`run` without --yes: reading commands run, all others are denied."""
    calls = [
        StreamedReply(Call("run_command", json.dumps({"command": command}), id=f"call_{number}"))
        for number, command in enumerate(("git status --short | head -5", "pytest -q"))
    ]
    cli = Cli(home, home / "data")
    async with ChatServer(replies_in_order(*calls, text_reply("Done."))) as server:
        result = await cli.run_with_server(server.base_url, "Go on", HOME=str(home), PATH=os.environ["PATH"])
    assert result.code == 0, result
    first, second = (line.event for line in result.lines if isinstance(line.event, ToolAnswered))
    assert "src/app.py" in first.text
    assert second.outcome == "denied"
