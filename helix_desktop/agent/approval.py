"""Approvals: the strictest rule or the mode answers, else the person is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import msgspec

from helix_desktop.agent.ports import Approver, Permissions
from helix_desktop.context.mode import REFUSED_IN_PLAN
from helix_desktop.context.permission import Judgement, covers, judge
from helix_desktop.context.tool import ApprovalAsk, Decision, Mode, Reply, Rule

DENIED = "The user did not allow this call. Do not repeat it; ask what to do instead, or go on without it."


Wanted = Callable[[str, ApprovalAsk], bool]
"""Whether a session's question is meant."""


class Leeway:
    """How freely a session and its subagents act now: its mode, and what was allowed for this run alone."""

    def __init__(self, mode: Mode = "ask") -> None:
        self.mode: Mode = mode
        self.rules: tuple[Rule, ...] = ()

    def revoke(self, rule: Rule) -> None:
        """Forget a rule of this run."""
        self.rules = tuple(one for one in self.rules if one != rule)


class Answered(msgspec.Struct, frozen=True):
    """How a question was answered: see ApprovalGiven. `told` is for the agent when it is no."""

    decision: Decision
    rule: str = ""
    mode: Literal["", "plan", "auto"] = ""
    words: str = ""
    saved: Rule | None = None
    told: str = ""


class AskedInWindow:
    """An approver whose questions stand in the conversation until somebody answers them."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], asyncio.Future[Reply | None]] = {}
        self._asks: dict[tuple[str, str], ApprovalAsk] = {}

    async def decide(self, session: str, ask: ApprovalAsk) -> Reply | None:
        """Wait for `answer`, or for a rule that covers it; a cancelled call takes its question away."""
        future: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        key = (session, ask.call_id)
        self._open[key], self._asks[key] = future, ask
        try:
            return await future
        finally:
            self._open.pop(key, None)
            self._asks.pop(key, None)

    def answer(self, session: str, call_id: str, reply: Reply) -> bool:
        """Answer a question; False when it is no longer open."""
        future = self._open.get((session, call_id))
        if future is None or future.done():
            return False
        future.set_result(reply)
        return True

    def reconsider(self, wanted: Wanted) -> None:
        """Have open questions looked at again: a rule or the mode may answer them now."""
        for key, future in self._open.items():
            if not future.done() and wanted(key[0], self._asks[key]):
                future.set_result(None)

    def asks(self, session: str) -> list[ApprovalAsk]:
        """The open questions of a session, in the order they were asked."""
        return [ask for (one, _), ask in self._asks.items() if one == session]


class Approvals:
    """Decides on calls of one session, and keeps what the person said for longer than once."""

    def __init__(
        self,
        permissions: Permissions,
        approver: Approver,
        leeway: Leeway,
        reconsider: Callable[[Wanted], None],
        demo: Callable[[], bool] = lambda: False,
    ) -> None:
        """`reconsider` has the open questions looked at again that a new rule is about.

        `demo` says whether the offline demo model answers the session.
        """
        self._demo = demo
        self._permissions, self._approver = permissions, approver
        self._leeway, self._reconsider = leeway, reconsider

    async def decide(self, session: str, ask: ApprovalAsk, asked: Callable[[ApprovalAsk], None]) -> Answered:
        """The answer; `asked` hears of the question whenever the person has to answer it.

        What is to be saved is left to the caller: `keep`.
        """
        while True:
            rules = (*self._permissions.rules(self._demo()), *self._leeway.rules)
            judged = judge(rules, ask, self._leeway.mode)
            if judged.effect != "ask":
                return _by_itself(judged)
            because = judged.rule.text if judged.rule else ""
            question = msgspec.structs.replace(ask, because=because)
            asked(question)
            reply = await self._approver.decide(session, question)
            if reply is not None:
                if reply.decision != "deny" and self._permissions.allowed(self._demo()):
                    self._reconsider(lambda _session, _ask: True)
                return _by_person(reply, ask)

    async def keep(self, rule: Rule) -> None:
        """Let a rule answer from now on, what waits too. Raises HelixError when it was not saved."""
        if rule.scope == "session":
            self._leeway.rules = (*self._leeway.rules, rule)
        else:
            await self._permissions.add(rule)
        self._reconsider(lambda _, ask: covers(rule, ask))


def _by_itself(judged: Judgement) -> Answered:
    rule = judged.rule
    if judged.effect == "deny":
        told = REFUSED_IN_PLAN if rule is None else f"{DENIED} A saved rule says: {rule.text}."
        return Answered("deny", rule.text if rule else "", judged.mode, told=told)
    if rule is None:
        return Answered("once", mode=judged.mode)
    return Answered("session" if rule.scope == "session" else "always", rule.text)


def _by_person(reply: Reply, ask: ApprovalAsk) -> Answered:
    words = " ".join(reply.words.split())
    told = f"{DENIED} The user says: {words}" if words else DENIED
    if reply.decision in ("session", "always"):
        scope = "session" if reply.decision == "session" else "workspace"
        rule = msgspec.structs.replace(reply.rule or ask.rule, scope=scope)
        return Answered(reply.decision, saved=rule)
    return Answered(reply.decision, words=words, saved=reply.rule, told=told)


class AlwaysAnswers:
    """Gives one answer to everything: what `--yes`, or its absence, means without a window."""

    def __init__(self, decision: Decision) -> None:
        self._reply = Reply(decision)

    async def decide(self, session: str, ask: ApprovalAsk) -> Reply:
        """That answer."""
        return self._reply
