"""Approvals: a saved rule answers, else the person is asked."""

from __future__ import annotations

import asyncio

from helix_desktop.agent.ports import Approver, Permissions
from helix_desktop.context.permission import covers
from helix_desktop.context.tool import ApprovalAsk, Decision


class Approvals:
    """Decides on calls of one workspace, and saves what "always" means."""

    def __init__(self, permissions: Permissions, approver: Approver) -> None:
        self._permissions, self._approver = permissions, approver

    async def decide(self, session: str, ask: ApprovalAsk) -> tuple[Decision, str]:
        """The decision, and the text of the saved rule that made it (empty: the person did)."""
        for rule in self._permissions.rules():
            if covers(rule, ask):
                return "always", rule.text
        decision = await self._approver.decide(session, ask)
        if decision == "always":
            await self._permissions.add(ask.rule)
        return decision, ""


class AskedInWindow:
    """An approver whose questions stand in the conversation until somebody answers them."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], asyncio.Future[Decision]] = {}
        self._asks: dict[tuple[str, str], ApprovalAsk] = {}

    async def decide(self, session: str, ask: ApprovalAsk) -> Decision:
        """Wait for `answer`; a cancelled call takes its question away."""
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        key = (session, ask.call_id)
        self._open[key], self._asks[key] = future, ask
        try:
            return await future
        finally:
            self._open.pop(key, None)
            self._asks.pop(key, None)

    def answer(self, session: str, call_id: str, decision: Decision) -> bool:
        """Answer a question; False when it is no longer open."""
        future = self._open.get((session, call_id))
        if future is None or future.done():
            return False
        future.set_result(decision)
        return True

    def asks(self, session: str) -> list[ApprovalAsk]:
        """The open questions of a session, in the order they were asked."""
        return [ask for (one, _), ask in self._asks.items() if one == session]


class AlwaysAnswers:
    """Gives one answer to everything: what `--yes`, or its absence, means without a window."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    async def decide(self, session: str, ask: ApprovalAsk) -> Decision:
        """That answer."""
        return self._decision
