"""Prompt files on the command line: expanded by `run`, listed by `commands`."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.session import SessionRenamed
from tests.support.cli_rig import Cli

RUN = ("run", "--workspace", "ws", "--trust", "--model", "demo/offline", "--json", "--message")


async def test_a_prompt_file_is_sent_and_what_is_no_command_is_refused(tmp_path: Path) -> None:
    """With its arguments and the files that it mentions; of the workspace, and of the user."""
    cli = Cli.create(tmp_path)
    (cli.project / "app.py").write_text("print(1)\n", encoding="utf-8")
    for folder, name, text in (
        (cli.project / ".agents" / "commands", "fix.md", "---\ndescription: Fix it\n---\nFix @$1.\n!ls\n"),
        (cli.data / "commands", "daily.md", "Say hello."),
    ):
        folder.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    result = await cli(*RUN, "/fix app.py")
    (title,) = [line.event.title for line in result.lines if isinstance(line.event, SessionRenamed)]
    assert title == "/fix app.py"
    (user_message,) = [line.event for line in result.lines if isinstance(line.event, UserSpoke)]
    assert user_message.text == "Fix @app.py.\n!ls"
    assert [attachment.path for attachment in user_message.attachments] == ["app.py"]
    assert user_message.prompt is not None
    assert user_message.prompt.path == ".agents/commands/fix.md"
    assert "nothing is run" in result.err

    (await cli(*RUN, "/fx app.py")).assert_refused(
        2, "/fx isn't a command.", "/fix", "space before the slash"
    )
    listed = (await cli("commands", "--workspace", "ws")).out.decode()
    assert "Fix it · .agents/commands/fix.md" in listed
    assert all(f"\n/{name} " in listed for name in ("daily", "undo"))
