"""A turn on the command line: trust and modes, the session's budget and effort, prompt files."""

from __future__ import annotations

import json
import os
from pathlib import Path

from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.session import BudgetSet, EffortChosen, ModeChanged, SessionRenamed
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    TokenCounts,
    replies_in_order,
    text_reply,
)

WRITE = StreamedReply(Call("write_file", '{"path": "new.txt", "content": "made"}', id="w"))
RUN = StreamedReply(Call("run_command", '{"command": "touch ran.txt", "network": true}', id="r"))


def add_hostile_files(project: Path) -> None:
    """Add files with which a cloned project could act: each blocks for ever, or reports, when opened."""
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / ".claude").mkdir()
    for name in (
        ".envrc",
        ".mcp.json",
        ".claude/settings.json",
        ".env",
        "helix.toml",
        ".git/hooks/pre-commit",
    ):
        os.mkfifo(project / name)


async def test_nothing_of_a_folder_is_read_or_sent_before_it_is_trusted(cli: Cli) -> None:
    """Neither its hooks and servers nor an address it names: it is refused (CVE-2025-59536)."""
    add_hostile_files(cli.project)
    async with ChatServer(replies_in_order(text_reply("Hello."))) as server:
        turn = ("run", "--workspace", "ws", "--message", "hi", "--model", "local/small")
        (await cli(*turn, "--base-url", server.base_url, "--yes")).assert_refused(
            2, "isn't trusted yet.", "--trust"
        )
        assert server.bodies == []
        assert not list((cli.data / "workspaces").glob("*-*"))
        result = await cli(*turn, "--base-url", server.base_url, "--trust")
        assert (result.code, result.out.decode()) == (0, "Hello.\n")
        again = await cli(*turn, "--base-url", server.base_url)
        assert again.code == 0, "trust is kept"


async def test_a_project_cannot_redirect_requests(cli: Cli) -> None:
    """Its files never set an address or a key, whatever they are called (CVE-2026-21852)."""
    async with ChatServer(replies_in_order(text_reply("Leaked."))) as evil:
        address = f'base_url = "{evil.base_url}"\nmodel = "evil/x"\n'
        for name in ("settings.toml", "helix.toml", ".env", ".helix/settings.toml"):
            (cli.project / name).parent.mkdir(exist_ok=True)
            (cli.project / name).write_text(f'{address}OPENAI_BASE_URL="{evil.base_url}"\n', encoding="utf-8")
        result = await cli.run("hi", "--json", OPENAI_BASE_URL=evil.base_url)
        assert result.code == 0
        assert evil.bodies == []


async def test_plan_and_auto_on_the_command_line(cli: Cli) -> None:
    async with ChatServer(
        replies_in_order(
            WRITE, text_reply("A plan."), WRITE, RUN, text_reply("Written."), WRITE, text_reply("Denied.")
        )
    ) as server:
        plan = await cli.run_with_server(server.base_url, "Write.", "--mode", "plan", "--yes")
        assert plan.code == 0, plan
        assert not (cli.project / "new.txt").exists()
        assert [
            line.event.mode for line in plan.lines if isinstance(line.event, ModeChanged | UserSpoke)
        ] == [
            "plan",
            "plan",
        ]
        (refused,) = [line.event for line in plan.lines if isinstance(line.event, ToolAnswered)]
        assert (refused.outcome, refused.text[:30]) == ("denied", "Refused: the session is in mod")

        auto = await cli.run_with_server(server.base_url, "Write.", "--mode", "auto", "--session", "last")
        approvals = [line.event for line in auto.lines if isinstance(line.event, ApprovalGiven)]
        assert [(approval.tool, approval.decision, approval.mode) for approval in approvals] == [
            ("write_file", "once", "auto"),
            ("run_command", "deny", ""),
        ]
        assert (cli.project / "new.txt").read_text(encoding="utf-8") == "made"
        assert not (cli.project / "ran.txt").exists()


def three_reads(request: dict[str, list[dict[str, str]]]) -> StreamedReply:
    """Three reads, then an answer; each step costs 1,000 tokens."""
    done = sum(message["role"] == "assistant" for message in request["messages"])
    if done < 3:
        return StreamedReply(
            Call("list_directory", json.dumps({"path": "."}), id=f"r{done}"), usage=TokenCounts(900, 100)
        )
    return StreamedReply(Text("Read."), usage=TokenCounts(900, 100))


async def test_a_turn_ends_where_the_budget_does(cli: Cli) -> None:
    """It fails with what, why and what to do; with a larger one the session continues."""
    async with ChatServer(three_reads) as server:
        url = server.base_url
        first = await cli.run_with_server(url, "Go", "--budget-tokens", "2000", "--budget-usd", "0.5")
        assert first.code == 1
        assert "The session budget is used up. Used: 2,000 of 2,000 tokens and $0.00 of $0.50" in first.err
        assert "--budget-tokens" in first.err
        events = [line.event for line in first.lines]
        assert BudgetSet(2_000, 0.5) in events
        assert [event.cause for event in events if isinstance(event, TurnEnded)] == ["budget"]
        again = await cli.run_with_server(url, "Go on", "--session", "last", "--budget-tokens", "0")
        assert (again.code, again.err) == (0, "")
        assert again.lines[0].event == BudgetSet(0, 0.5)
        assert len(server.bodies) == 4


async def test_an_effort_holds_for_the_session(cli: Cli) -> None:
    async with ChatServer(lambda _: text_reply("Done.")) as server:
        first = await cli.run_with_server(server.base_url, "Go", "--effort", "high")
        again = await cli.run_with_server(server.base_url, "Go on", "--session", "last")
        assert (first.code, again.code) == (0, 0)
        assert EffortChosen("high") in [line.event for line in first.lines]
        assert [body["reasoning_effort"] for body in server.bodies] == ["high", "high"]


OFFLINE_RUN = ("run", "--workspace", "ws", "--trust", "--model", "demo/offline", "--json", "--message")


async def test_a_prompt_file_is_sent_and_what_is_no_command_is_refused(cli: Cli) -> None:
    """With its arguments and the files that it mentions; of the workspace, and of the user."""
    (cli.project / "app.py").write_text("print(1)\n", encoding="utf-8")
    for folder, name, text in (
        (cli.project / ".agents" / "commands", "fix.md", "---\ndescription: Fix it\n---\nFix @$1.\n!ls\n"),
        (cli.data / "commands", "daily.md", "Say hello."),
    ):
        folder.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    result = await cli(*OFFLINE_RUN, "/fix app.py")
    (title,) = [line.event.title for line in result.lines if isinstance(line.event, SessionRenamed)]
    assert title == "/fix app.py"
    (user_message,) = [line.event for line in result.lines if isinstance(line.event, UserSpoke)]
    assert user_message.text == "Fix @app.py.\n!ls"
    assert [attachment.path for attachment in user_message.attachments] == ["app.py"]
    assert user_message.prompt is not None
    assert user_message.prompt.path == ".agents/commands/fix.md"
    assert "nothing is run" in result.err

    (await cli(*OFFLINE_RUN, "/fx app.py")).assert_refused(
        2, "/fx isn't a command.", "/fix", "space before the slash"
    )
    listed = (await cli("commands", "--workspace", "ws")).out.decode()
    assert "Fix it · .agents/commands/fix.md" in listed
    assert all(f"\n/{name} " in listed for name in ("daily", "undo"))
