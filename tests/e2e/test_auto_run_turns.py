"""Whole turns whose command, in the sandbox and mode Auto, changes what other programs run by themselves."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import ApprovalRequested, QuestionAsked, Update
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.question import Question, QuestionReply
from helix_desktop.domain.tools import ApprovalReply, PermissionRule
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from tests.support.cli_rig import Cli, wait_for_exit
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)

pytestmark = pytest.mark.skipif(find_bwrap() is None, reason="bubblewrap does not work here")

PLANT = """
import pathlib, subprocess
for name in ('.envrc', 'package.json'):
    pathlib.Path(name).write_text('planted')
subprocess.run(['git', 'init', '-q', 'sub'], check=True)
subprocess.run(['git', '-C', 'sub', 'config', 'core.fsmonitor', 'evil'], check=True)
"""


def _replies(command: str = "python3 plant.py", path: str = "") -> ChatServer:
    """A model that runs a command, or writes a file at a path."""
    call = Call("run_command", json.dumps({"command": command}), id="call_1")
    if path:
        call = Call("write_file", json.dumps({"path": path, "content": "Be kind.\n"}), id="call_1")
    return ChatServer(replies_in_order(StreamedReply(call), text_reply("Done.")))


def _fsmonitor(project: Path) -> str:
    words = ["git", "-C", str(project / "sub"), "config", "core.fsmonitor"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


class TurnRig:
    """An open workspace whose turns are answered by `answer`."""

    def __init__(self, services: AppServices, workspace: OpenWorkspace, project: Path) -> None:
        self.services = services
        self.workspace = workspace
        self.project = project
        self.questions: list[Question] = []
        self.option = ""
        self.meanwhile: Callable[[], Awaitable[None]] | None = None  # while the question is on screen
        self._scope = TaskScope()
        self.conversation: Conversation
        workspace.on(Update, self._on_update)

    def _on_update(self, _session: str, update: Update) -> None:
        if isinstance(update, QuestionAsked):
            self.questions.append(update.ask)
            self.envrc_then = (self.project / ".envrc").exists()
            self.fsmonitor_then = _fsmonitor(self.project)
            self._scope.start(self._answer_after(update.ask.call_id), "answer")

    async def _answer_after(self, call_id: str) -> None:
        if self.meanwhile is not None:
            await self.meanwhile()
        self._answer(call_id)

    def _answer(self, call_id: str) -> None:
        if self.option:
            assert self.conversation.answer(call_id, QuestionReply((self.option,)))
        else:
            self._scope.start(self.conversation.stop(), "stop the turn")

    async def turn(self, mode: PermissionMode = "auto") -> ToolAnswered:
        self.conversation = await self.workspace.open_session("one")
        await self.conversation.set_mode(mode)
        await asyncio.wait([self._scope.start(self.conversation.run("Plant it"), "turn")])
        events = [entry.event for entry in self.conversation.session.log]
        return next(event for event in events if isinstance(event, ToolAnswered))


@asynccontextmanager
async def turn_rig(folder: Path, command: str = "python3 plant.py", path: str = "") -> AsyncIterator[TurnRig]:
    """A workspace with a program that plants."""
    project = folder / "ws"
    project.mkdir()
    (project / "plant.py").write_text(PLANT)
    services = AppServices(DataDir(folder / "data"), os.environ)
    async with _replies(command, path) as server:
        try:
            record = services.registry.add(project)
            services.registry.change(record.id, trusted=True)
            workspace = await services.open_workspace(record.id)
            await workspace.set_models(await services.models.adhoc("scripted", server.base_url, 100_000))
            yield TurnRig(services, workspace, project)
        finally:
            await services.close()


@pytest.mark.parametrize("option", ["Keep", "Take back"])
async def test_the_next_step_waits_until_the_user_keeps_or_takes_back(tmp_path: Path, option: str) -> None:
    async with turn_rig(tmp_path) as rig:
        rig.option = option
        answer = await rig.turn()
        (question,) = rig.questions
        assert ".envrc" in question.text
        assert "core.fsmonitor = evil" in question.text
        assert "package.json" not in question.text, "it runs only when the user installs"
        assert (rig.envrc_then, rig.fsmonitor_then) == (True, ""), "git's part is out before the question"
        is_kept = option == "Keep"
        assert (rig.project / ".envrc").exists() == is_kept
        assert _fsmonitor(rig.project) == ("evil" if is_kept else "")
        assert (rig.project / "package.json").exists()
        outcome = "kept" if is_kept else "removed"
        assert {change.path: change.outcome for change in answer.auto_run} == {
            ".envrc": outcome, "sub/.git/config": outcome, "package.json": "named",
        }  # fmt: skip
        assert ("Taken back" in answer.text) != is_kept, "the model knows"
        store = rig.workspace.services.auto_run
        assert store is not None
        assert [change.outcome for change in await store.auto_run_changes()] == [outcome, outcome]
        if not is_kept:
            for change in answer.auto_run:
                if change.change_id:
                    await store.put(change.change_id, restore=True)
            assert (rig.project / ".envrc").read_text() == "planted"
            assert _fsmonitor(rig.project) == "evil"


async def test_what_is_kept_is_there_although_another_process_took_it_back_meanwhile(tmp_path: Path) -> None:
    cli = Cli(tmp_path, tmp_path / "data")
    async with turn_rig(tmp_path) as rig:
        rig.option = "Keep"

        async def take_back() -> None:
            store = rig.workspace.services.auto_run
            assert store is not None
            (change,) = [each for each in await store.auto_run_changes() if each.path == ".envrc"]
            result = await cli("changes", "revert", "--workspace", "ws", "--step", change.change_id)
            assert result.code == 0, result
            assert not (rig.project / ".envrc").exists()

        rig.meanwhile = take_back
        answer = await rig.turn()
        assert {change.outcome for change in answer.auto_run} == {"kept", "named"}
        assert (rig.project / ".envrc").read_text() == "planted"


async def test_what_a_stopped_turn_left_undecided_is_taken_back(tmp_path: Path) -> None:
    async with turn_rig(tmp_path) as rig:
        answer = await rig.turn()
        assert len(rig.questions) == 1
        assert not (rig.project / ".envrc").exists()
        assert [change.outcome for change in answer.auto_run][:2] == ["removed", "removed"]


async def test_a_command_that_the_user_allowed_by_a_click_works_as_before(tmp_path: Path) -> None:
    async with turn_rig(tmp_path) as rig:
        loop = asyncio.get_running_loop()

        def allow(_session: str, update: Update) -> None:
            if isinstance(update, ApprovalRequested):
                loop.call_soon(rig.conversation.answer, update.ask.call_id, ApprovalReply("once"))

        rig.workspace.on(Update, allow)
        answer = await rig.turn("ask")
        assert not rig.questions
        assert (rig.project / ".envrc").exists()
        assert _fsmonitor(rig.project) == "evil"
        assert {change.outcome for change in answer.auto_run} == {"named"}


async def test_instructions_that_a_program_wrote_wait_and_what_runs_by_an_act_of_the_user_is_named(
    tmp_path: Path,
) -> None:
    async with turn_rig(tmp_path) as rig:
        names = ("AGENTS.md", "GEMINI.md", "notes.md", "devenv.nix")
        (rig.project / "plant.py").write_text(f"for name in {names}: open(name, 'w').write('planted')")
        rig.option = "Take back"
        answer = await rig.turn()
        (question,) = rig.questions
        assert "AGENTS.md: instructions that agents follow" in question.text
        assert {change.path: change.outcome for change in answer.auto_run} == {
            "AGENTS.md": "removed", "GEMINI.md": "removed", "devenv.nix": "named",
        }  # fmt: skip
        assert sorted(os.listdir(rig.project)) == ["devenv.nix", "notes.md", "plant.py"]


async def test_an_edit_of_instructions_is_asked_about_once_and_waits_for_nothing(tmp_path: Path) -> None:
    async with turn_rig(tmp_path, path="AGENTS.md") as rig:
        asked = []
        loop = asyncio.get_running_loop()

        def allow(_session: str, update: Update) -> None:
            if isinstance(update, ApprovalRequested):
                asked.append(update.ask.subject)
                loop.call_soon(rig.conversation.answer, update.ask.call_id, ApprovalReply("once"))

        rig.workspace.on(Update, allow)
        answer = await rig.turn()
        assert asked == ["AGENTS.md"]
        assert (rig.questions, answer.auto_run) == ([], ())
        assert (rig.project / "AGENTS.md").read_text() == "Be kind.\n"


async def test_a_rule_for_the_file_keeps_it_without_a_question(tmp_path: Path) -> None:
    async with turn_rig(tmp_path) as rig:
        for path in (".envrc", "sub/.git/config"):
            await rig.workspace.services.permissions.add(PermissionRule("*", path, kind="path"))
        answer = await rig.turn()
        assert not rig.questions
        assert [change.outcome for change in answer.auto_run] == ["kept", "kept", "named"]
        assert _fsmonitor(rig.project) == "evil"


@pytest.fixture
def cli(cli: Cli) -> Cli:
    (cli.project / "plant.py").write_text(PLANT)
    return cli


@pytest.mark.parametrize("options", [("--mode", "auto"), ("--yes",)])
async def test_run_takes_back_what_runs_by_itself_and_says_so(cli: Cli, options: tuple[str, ...]) -> None:
    async with _replies() as server:
        result = await cli.run_with_server(server.base_url, "Plant it", *options)
    assert result.code == 0, result
    assert not (cli.project / ".envrc").exists()
    assert _fsmonitor(cli.project) == ""
    (answered,) = (line.event for line in result.lines if isinstance(line.event, ToolAnswered))
    assert {change.path: change.outcome for change in answered.auto_run} == {
        ".envrc": "removed", "sub/.git/config": "removed", "package.json": "named",
    }  # fmt: skip


async def test_what_was_taken_back_is_listed_counted_and_restored_on_the_command_line(
    cli: Cli,
) -> None:
    async with _replies() as server:
        await cli.run_with_server(server.base_url, "Plant it", "--mode", "auto")
    listed = (await cli("changes", "list", "--workspace", "ws")).out.decode().splitlines()
    (at,) = [number for number, line in enumerate(listed) if line.startswith("Undone after commands")]
    ids = {line.split()[1]: line.split()[0] for line in listed[at + 1 :]}
    assert ids.keys() == {".envrc", "sub/.git/config"}
    undone = (await cli("changes", "list", "--workspace", "ws", "--json")).json["undone_after_commands"]
    assert {change["path"] for change in undone} == ids.keys()
    assert all(change["change_id"].startswith(ids[change["path"]]) for change in undone)
    cleanup = await cli("cache", "gc", "--workspace", "ws", "--dry-run")
    assert "Saved copies of files that commands changed: " in cleanup.err
    step = ("--workspace", "ws", "--step", ids["sub/.git/config"])
    (one,) = (await cli("changes", "list", *step, "--json")).json["undone_after_commands"]
    assert one["path"] == "sub/.git/config"
    assert (await cli("changes", "list", *step)).out.decode().splitlines()[1:] == [
        line for line in listed[at + 1 :] if "sub/.git/config" in line
    ]
    patch = (await cli("changes", "diff", *step)).out.decode()
    assert patch.startswith("diff --git a/sub/.git/config b/sub/.git/config\n")
    assert "+\tfsmonitor = evil" in patch
    made = ("--workspace", "ws", "--step", ids[".envrc"])
    document = (await cli("changes", "diff", *made, "--json")).json
    assert document["change_id"].startswith(ids[".envrc"])
    assert "new file mode 100644\n--- /dev/null\n+++ b/.envrc" in document["patch"]
    for other in (("--session", "last"), ("--on-conflict", "former")):
        refused = await cli("changes", "redo", *step, *other)
        refused.assert_refused(2, f"{other[0]} doesn't go with the step")
    assert "is taken back already" in (await cli("changes", "revert", *step)).err
    assert "restored" in (await cli("changes", "redo", *step, "--dry-run")).out.decode()
    assert _fsmonitor(cli.project) == ""
    assert (await cli("changes", "redo", *step)).out == b"sub/.git/config: restored\n"
    assert _fsmonitor(cli.project) == "evil"
    assert "was restored since" in (await cli("changes", "redo", *step)).err
    left = (await cli("changes", "list", "--workspace", "ws", "--json")).json["undone_after_commands"]
    assert [change["path"] for change in left] == [".envrc"]
    assert (await cli("changes", "revert", *step)).out == b"sub/.git/config: taken back\n"
    assert _fsmonitor(cli.project) == ""


async def test_what_a_killed_run_planted_is_taken_out_before_the_next_and_named(cli: Cli) -> None:
    os.mkfifo(pipe := cli.project / "planted")
    command = "python3 plant.py && echo planted > planted && sleep 600"
    async with _replies(command) as server:
        words = ("--trust", "--mode", "auto", "--model", "local/small", "--base-url", server.base_url)
        process = await cli.fork("run", "--workspace", "ws", "--message", "Plant it", *words)
        assert await asyncio.to_thread(pipe.read_text) == "planted\n"
        process.kill()
        await wait_for_exit(process)
    assert _fsmonitor(cli.project) == "evil", "it was killed before it could look"
    async with ChatServer(replies_in_order(text_reply("Done."))) as server:
        result = await cli.run("Go on", "--model", "local/small", "--base-url", server.base_url)
    assert result.code == 0, result
    (line,) = [line for line in result.err.splitlines() if "taken back" in line]
    assert ".envrc" in line
    assert "sub/.git/config (core.fsmonitor = evil)" in line
    assert _fsmonitor(cli.project) == ""
    assert not (cli.project / ".envrc").exists()


async def test_run_names_on_standard_error_what_it_took_back_and_how_to_allow_it(cli: Cli) -> None:
    async with _replies() as server:
        result = await cli.run("Plant it", "--yes", "--model", "local/small", "--base-url", server.base_url)
    assert result.code == 0, result
    first_words = ("[2 files taken", "[Changed what", "[To keep")
    undone, named, rule = [line for line in result.err.splitlines() if line.startswith(first_words)]
    assert undone == (
        "[2 files taken back, as programs run them by themselves: sub/.git/config (core.fsmonitor = evil) "
        "and .envrc (sets the environment of every shell in the folder)]"
    )
    assert rule == (
        "[To keep all 2, allow them in Settings → Permissions: Change the file sub/.git/config and Change "
        "the file .envrc]"
    )
    assert named == "[Changed what other programs run: package.json (scripts that npm runs, also on install)]"
