"""Skills in real turns: what the agent is told, reads, loses from its context and recalls."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import DataDir
from helix_desktop.context.policy_numbers import policy_fields
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import PolicyChosen
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.skills import HEADING
from helix_desktop.domain.slash_command import SlashInput
from helix_desktop.services.app_services import AppServices
from tests.support.cli_rig import Cli
from tests.support.loop_rig import HANDOVERS_ONLY, SUMMARY_TITLE, is_summary_request
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply

WINDOW = 24_000
SKILL = """---
name: release-notes
description: Writes the notes of a release. Use when the user asks for what is new.
---
# Release notes

1. Run `python3 .agents/skills/release-notes/scripts/changes.py`.
2. One line each, in the past tense. The word of this skill is TANGERINE.
"""


class Player:
    """Plays a model that reads only its requests: uses a skill, recalls it where a handover names it."""

    def __init__(self) -> None:
        self.ids = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        if is_summary_request(request):
            return text_reply("\n".join(f"## {title}\n- Logs were read." for title in TITLES))
        messages = request["messages"]
        newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
        prompt = str(messages[newest]["content"])
        answers = messages[newest + 1 :]
        if answers and answers[-1]["role"] == "tool" and "TANGERINE" in answers[-1]["content"]:
            return text_reply("Added the tide table. TANGERINE")
        if prompt.startswith("Read "):
            left = prompt.split()[1:][len([each for each in answers if each["role"] == "tool"]) :]
            return self._call("read_file", path=left[0]) if left else text_reply("Done.")
        if prompt.endswith("what is new?"):
            opening = str(messages[1]["content"])
            if found := re.search(
                r"^skill \S+/release-notes/SKILL\.md (\w{12}) e\d+$", opening, re.MULTILINE
            ):
                return self._call("recall_cached_content", hash=found[1])
            folder = re.search(r"In (\S+):\n- release-notes: .* what is new", str(messages[0]["content"]))
            assert folder is not None, "the agent is told of the skill"
            return self._call("read_file", path=f"{folder[1]}/release-notes/SKILL.md")
        return text_reply("Noted.")

    def _call(self, tool: str, **arguments: str) -> Reply:
        self.ids += 1
        return StreamedReply(Call(tool, json.dumps(arguments), id=f"call_{self.ids}"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "harbour"
    folder.mkdir()
    for number in range(40):
        lines = (f"{number} {line} the tide gauge reads {line * 7 % 97}\n" for line in range(120))
        (folder / f"log{number}.txt").write_text("".join(lines))
    return folder


def _add_skill(top: Path, place: str = ".agents", name: str = "release-notes", content: str = SKILL) -> Path:
    file = top / place / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    return file


@asynccontextmanager
async def opened(
    project: Path, server: ChatServer, trusted: bool = True
) -> AsyncIterator[tuple[AppServices, OpenWorkspace]]:
    data = DataDir(project.parent / "data")
    data.ensure()
    services = AppServices(data, dict(os.environ), FixedApprover("once"))
    try:
        record = services.registry.add(project, trusted=trusted)
        workspace = await services.open_workspace(record.id)
        await workspace.set_models(await services.models.adhoc("local/small", server.base_url, WINDOW))
        yield services, workspace
    finally:
        await services.close()


async def _fill_until_handover(conversation: Conversation) -> HandoverMade:
    for number in range(0, 40, 4):
        await conversation.run("Read " + " ".join(f"log{n}.txt" for n in range(number, number + 4)))
        await conversation.wait_for_background_work()
        made = [entry.event for entry in conversation.session.log if isinstance(entry.event, HandoverMade)]
        if made:
            return made[-1]
    raise AssertionError("the logs were to fill the context window")


@pytest.mark.parametrize("scope", ["workspace", "user"])
async def test_a_skill_is_used_compacted_and_recalled_byte_for_byte(
    project: Path, home: Path, scope: str
) -> None:
    """The handover names it, and one call brings it back, also of the user's own folder."""
    file = _add_skill(project if scope == "workspace" else home)
    path = ("" if scope == "workspace" else "~/") + ".agents/skills/release-notes/SKILL.md"
    async with ChatServer(Player()) as server, opened(project, server) as (_, workspace):
        conversation = await workspace.create_session()
        await conversation.session.record(PolicyChosen(policy_fields(HANDOVERS_ONLY)))
        await conversation.run("So, what is new?")
        (read,) = [e.event for e in conversation.session.log if isinstance(e.event, ToolAnswered)]
        assert (read.target, read.text) == (path, SKILL)
        handover = await _fill_until_handover(conversation)
        digest = digest_of(file.read_bytes())
        assert handover.ledger.split("\n")[0] == f"skill {path} {digest[:12]} e{_seq_of(conversation, read)}"
        await conversation.run("And again: what is new?")
        answers = [e.event for e in conversation.session.log if isinstance(e.event, ToolAnswered)]
        assert (answers[-1].name, answers[-1].recalled) == ("recall_cached_content", digest)
        assert answers[-1].text.partition("\n")[2] == SKILL
        sent = server.bodies[-1]["messages"]
        assert str(sent[1]["content"]).startswith(SUMMARY_TITLE)
        assert str(sent[0]["content"]).count(HEADING) == 1


def _seq_of(conversation: Conversation, event: ToolAnswered) -> int:
    return next(entry.seq for entry in conversation.session.log if entry.event is event)


async def test_without_skills_nothing_is_said_of_them_and_a_new_one_comes_with_the_next_message(
    project: Path, home: Path
) -> None:
    """Changed and removed ones are told of too; the system message stays as it was."""
    async with ChatServer(Player()) as server, opened(project, server) as (_, workspace):
        conversation = await workspace.create_session()
        await conversation.run("Hello")
        assert "[Skills" not in str(server.bodies[-1]["messages"])
        file = _add_skill(project)
        await conversation.run("Hello")
        await conversation.run("Hello")
        lists = [str(m["content"]) for m in server.bodies[-1]["messages"] if "[Skills" in str(m["content"])]
        assert lists == [
            f"{HEADING}\nIn .agents/skills:\n- release-notes: Writes the notes of a release. "
            "Use when the user asks for what is new."
        ]
        file.write_text(SKILL.replace("what is new", "changes"))
        await conversation.run("Hello")
        changed = str(server.bodies[-1]["messages"][-2]["content"])
        assert changed.startswith(
            "[The skills have changed: this text takes the place of the former one.]\nIn "
        )
        assert changed.endswith("asks for changes.")
        file.unlink()
        await conversation.run("Hello")
        assert server.bodies[-1]["messages"][-2]["content"] == "[The skills were deleted: they hold no more.]"
        systems = {str(body["messages"][0]["content"]) for body in server.bodies}
        assert len(systems) == 1
        rows = [(row.name, row.why) for row in conversation.window.items() if row.kind == "instructions"]
        assert rows == [
            ("Skills", "New on disk · at most 2 % of the context window"),
            ("Skills", "Changed on disk · at most 2 % of the context window"),
            ("Skills", "The file was deleted"),
        ]


async def test_many_skills_take_their_share_and_no_more(project: Path, home: Path) -> None:
    """Those without a description are named in the request, or counted; the row says so."""
    for number in range(500):
        name = f"task-{number:03}"
        words = f"---\nname: {name}\ndescription: {'Handles one more thing of this kind. ' * 20}\n---\n"
        _add_skill(project, name=name, content=words)
    async with ChatServer(Player()) as server, opened(project, server) as (_, workspace):
        conversation = await workspace.create_session()
        await conversation.run("Hello")
        (row,) = [row for row in conversation.window.items() if row.kind == "instructions"]
        assert 0 < row.tokens <= WINDOW // 50
        assert (row.state, row.why) == (
            "cut",
            "Sent at the start · at most 2 % of the context window, so some are only named",
        )
        system = str(server.bodies[-1]["messages"][0]["content"])
        named = len(re.findall(r"task-\d\d\d", system[system.index(HEADING) :]))
        (more,) = re.findall(r"(\d+) more \(list_directory names them\)", system)
        assert named + int(more) == 200
        assert named > 40


async def test_an_untrusted_workspace_has_no_skills_of_its_own(project: Path, home: Path) -> None:
    """The user's are the user's own."""
    _add_skill(project)
    _add_skill(home, name="mine", content="---\nname: mine\ndescription: My own\n---\nText")
    async with (
        ChatServer(Player()) as server,
        opened(project, server, trusted=False) as (services, workspace),
    ):
        catalog = await services.prompt_files.read(workspace.id)
        assert (list(catalog.skills.skills), list(catalog.files)) == (["mine"], ["mine"])
        services.registry.change(workspace.id, trusted=True)
        catalog = await services.prompt_files.read(workspace.id)
        assert list(catalog.skills.skills) == ["release-notes", "mine"]


async def test_a_skill_is_a_command_and_its_file_goes_along(project: Path, home: Path) -> None:
    """A prompt file and a built-in command of its name win; one that only the user starts is not told of."""
    deploy = "---\nname: deploy\ndescription: Deploys\ndisable-model-invocation: true\n---\nAsk first.\n"
    _add_skill(home, name="deploy", content=deploy)
    _add_skill(project, name="undo", content="---\nname: undo\ndescription: Undoes\n---\nText")
    _add_skill(project)
    _add_skill(project, ".claude")
    prompt = project / ".agents/commands/release-notes.md"
    prompt.parent.mkdir()
    prompt.write_text("Say nothing.")
    (project / ".agents/skills/broken").mkdir()
    (project / ".agents/skills/broken/SKILL.md").write_text("no fields")
    async with ChatServer(Player()) as server, opened(project, server) as (services, workspace):
        catalog = await services.prompt_files.read(workspace.id)
        assert {file.name: file.path for file in catalog.files.values()} == {
            "release-notes": ".agents/commands/release-notes.md",
            "deploy": "~/.agents/skills/deploy/SKILL.md",
        }
        assert [(hidden.file.path, hidden.by) for hidden in catalog.hidden] == [
            (".agents/skills/release-notes/SKILL.md", ".agents/commands/release-notes.md"),
            (".agents/skills/undo/SKILL.md", ""),
            (".claude/skills/release-notes/SKILL.md", ".agents/skills/release-notes/SKILL.md"),
        ]
        assert [file.name for file in catalog.unusable] == ["broken"]
        expanded = await services.prompt_files.expand(workspace.id, SlashInput("deploy", "to the harbour"))
        assert expanded.text == (
            "Use the skill deploy: follow @~/.agents/skills/deploy/SKILL.md.\n\nto the harbour"
        )
        conversation = await workspace.create_session()
        await conversation.run("Hello")
        system = str(server.bodies[-1]["messages"][0]["content"])
        assert "release-notes: " in system
        assert "deploy" not in system


async def test_run_uses_skills_as_the_window_does(tmp_path: Path, home: Path) -> None:
    cli = Cli.create(tmp_path)
    _add_skill(cli.project)
    _add_skill(home, name="mine", content="---\nname: mine\ndescription: My own\n---\nSay TANGERINE.\n")
    async with ChatServer(Player()) as server:
        model = ("--model", "local/small", "--base-url", server.base_url)
        run = ("run", "--workspace", "ws", "--trust", *model, "--message")
        result = await cli(*run, "So, what is new?")
        assert result.out.decode().strip() == "Added the tide table. TANGERINE"
        result = await cli(*run, "/mine in short")
        assert result.out.decode().strip() == "Noted."
        sent = str(server.bodies[-1]["messages"][-1]["content"])
        assert sent.startswith("Use the skill mine: follow @~/.agents/skills/mine/SKILL.md.\n\nin short")
        assert "[Attached file ~/.agents/skills/mine/SKILL.md, whole: 5 lines]\n---\nname: mine" in sent
        assert "not found" not in result.err
        _add_skill(home, name="search", content="---\nname: search\ndescription: Searches\n---\nText")
        manual = "name: undo\ndescription: Undoes\ndisable-model-invocation: true"
        _add_skill(home, name="undo", content=f"---\n{manual}\n---\nText")
        listed = (await cli("commands", "--workspace", "ws")).out.decode()
        assert "My own · ~/.agents/skills/mine/SKILL.md" in listed
        own = "~/.agents/skills"
        assert f"The agent uses {own}/search/SKILL.md; /search is a built-in command." in listed
        assert f"{own}/undo/SKILL.md isn't used: /undo is a built-in command." in listed
