"""A session's budget on the command line: set, displayed, a clear end, and a continuation."""

from __future__ import annotations

import json
from pathlib import Path

from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.session import BudgetSet
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import Call, ChatServer, StreamedReply, Text, TokenCounts


def script(request: dict[str, list[dict[str, str]]]) -> StreamedReply:
    """Three reads, then an answer; each step costs 1,000 tokens."""
    done = sum(message["role"] == "assistant" for message in request["messages"])
    if done < 3:
        return StreamedReply(
            Call("list_directory", json.dumps({"path": "."}), id=f"r{done}"), usage=TokenCounts(900, 100)
        )
    return StreamedReply(Text("Read."), usage=TokenCounts(900, 100))


async def test_a_turn_ends_where_the_budget_does(tmp_path: Path) -> None:
    """It fails with what, why and what to do; with a larger one the session continues."""
    cli = Cli.create(tmp_path)
    async with ChatServer(script) as server:
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
