"""The reasoning effort of a session on the command line."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.domain.events.session import EffortChosen
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import ChatServer, text_reply


async def test_an_effort_holds_for_the_session(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    async with ChatServer(lambda _: text_reply("Done.")) as server:
        first = await cli.run_with_server(server.base_url, "Go", "--effort", "high")
        again = await cli.run_with_server(server.base_url, "Go on", "--session", "last")
        assert (first.code, again.code) == (0, 0)
        assert EffortChosen("high") in [line.event for line in first.lines]
        assert [body["reasoning_effort"] for body in server.bodies] == ["high", "high"]
