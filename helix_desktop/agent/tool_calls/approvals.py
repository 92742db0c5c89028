"""What the user is asked: approvals that no rule or mode decides, and the agent's questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from helix_desktop.agent.ports.permissions import Approver, WorkspacePermissions
from helix_desktop.context.log.notes import REFUSED_IN_PLAN
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.permissions.rules import (
    PermissionDecision,
    evaluate,
    rule_applies,
)
from helix_desktop.domain.question import Question, QuestionReply
from helix_desktop.domain.tools import ANY, ApprovalDecision, ApprovalReply, ApprovalRequest, PermissionRule

_USER_SAYS = " The user says: "
_RULE_SAYS = " A saved rule says: "
DENIED = "The user did not allow this call. Do not repeat it; ask what to do instead, or go on without it."


_LONG_COMMAND, _MANY_PLACES = 200, 200  # characters; what is less is decided in some milliseconds

QuestionFilter = Callable[[str, ApprovalRequest], bool]
"""Returns True for the open approval requests of a session to evaluate again."""


UserAsk = ApprovalRequest | Question
"""What a call waits for the user with."""
UserReply = ApprovalReply | QuestionReply


class SessionPermissions:
    """The permissions of a session and its subagents: the mode, and the rules for this run only."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.rules: tuple[PermissionRule, ...] = ()

    @property
    def mode(self) -> PermissionMode:
        """The mode as recorded."""
        return self._transcript.mode

    def revoke(self, rule: PermissionRule) -> None:
        """Remove a rule of this run."""
        self.rules = tuple(active_rule for active_rule in self.rules if active_rule != rule)


class ApprovalOutcome(msgspec.Struct, frozen=True):
    """The outcome of an approval request: see ApprovalGiven. `model_text` tells the agent of a denial.

    `is_by_user`: they saw this very request, and no rule, mode or option answered it.
    """

    decision: ApprovalDecision
    rule: str = ""
    mode: Literal["", "plan", "auto"] = ""
    user_reason: str = ""
    rule_to_save: PermissionRule | None = None
    model_text: str = ""
    is_by_user: bool = False


class InteractiveApprover:
    """An approver whose requests and questions stay open in the conversation until the user answers them."""

    def __init__(self) -> None:
        self._futures: dict[tuple[str, str], asyncio.Future[Any]] = {}
        self._asks: dict[tuple[str, str], UserAsk] = {}

    async def decide(self, session_id: str, request: ApprovalRequest) -> ApprovalReply | None:
        """Wait for `answer`; None if a rule or the mode may decide now. Canceling removes the request."""
        reply: ApprovalReply | None = await self._wait(session_id, request)
        return reply

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        """Wait for `answer`. Canceling removes the question."""
        reply: QuestionReply = await self._wait(session_id, question)
        return reply

    async def _wait(self, session_id: str, ask: UserAsk) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        key = (session_id, ask.call_id)
        self._futures[key], self._asks[key] = future, ask
        try:
            return await future
        finally:
            self._futures.pop(key, None)
            self._asks.pop(key, None)

    def answer(self, session_id: str, call_id: str, reply: UserReply) -> bool:
        """Answer an approval request or a question. Return False if no such one is open."""
        key = (session_id, call_id)
        future, ask = self._futures.get(key), self._asks.get(key)
        if future is None or future.done() or isinstance(ask, Question) != isinstance(reply, QuestionReply):
            return False
        future.set_result(reply)
        return True

    def reevaluate(self, should_reevaluate: QuestionFilter) -> None:
        """Have open requests evaluated again: a rule or the mode may decide them now."""
        for key, future in self._futures.items():
            ask = self._asks[key]
            if isinstance(ask, ApprovalRequest) and not future.done() and should_reevaluate(key[0], ask):
                future.set_result(None)

    def asks(self, session_id: str) -> list[UserAsk]:
        """Return the open approval requests and questions of a session, oldest first."""
        return [ask for key, ask in self._asks.items() if key[0] == session_id]


class ApprovalService:
    """Decides the calls of one session, and saves the rules of the user's lasting answers."""

    def __init__(
        self,
        permissions: WorkspacePermissions,
        approver: Approver,
        session_permissions: SessionPermissions,
        reevaluate: Callable[[QuestionFilter], None],
        is_demo: Callable[[], bool] = lambda: False,
    ) -> None:
        """`reevaluate` has open requests that a new rule applies to evaluated again.

        `is_demo` returns True if the offline demo model answers the session.
        """
        self._is_demo = is_demo
        self._permissions, self._approver = permissions, approver
        self._session_permissions, self._reevaluate = session_permissions, reevaluate

    async def decide(
        self, session_id: str, request: ApprovalRequest, on_ask: Callable[[ApprovalRequest], None]
    ) -> ApprovalOutcome:
        """Return the outcome; `on_ask` is called with the request each time the user has to answer it.

        The caller saves the outcome's rule with `save_rule`.
        """
        while True:
            rules, mode = self._rules(), self._session_permissions.mode
            if _takes_long(request):
                decision, is_safe = await asyncio.to_thread(_evaluate, rules, request, mode)
            else:
                decision, is_safe = _evaluate(rules, request, mode)
            if (rules, mode) != (self._rules(), self._session_permissions.mode):
                continue
            if decision.effect != "ask":
                return _automatic_outcome(decision)
            question = msgspec.structs.replace(
                request,
                asking_rule=decision.rule.text if decision.rule else "",
                data_loss=decision.data_loss,
                auto_executed=decision.auto_executed,
                is_too_long=decision.is_too_long,
                secrets=decision.secrets,
                mcp_change=decision.mcp_change or request.mcp_change,
                is_safe=is_safe,
                offers_demo_calls=self._offers_demo_calls(decision),
            )
            on_ask(question)
            reply = await self._approver.decide(session_id, question)
            if reply is not None:
                return self._allow_demo_calls() if reply.allows_demo_calls else _user_outcome(reply, request)

    def _offers_demo_calls(self, decision: PermissionDecision) -> bool:
        """Return True if one answer may let the demo model's script run; a rule that asks still would."""
        return decision.rule is None and self._is_demo() and self._permissions.offers_demo_calls()

    def _allow_demo_calls(self) -> ApprovalOutcome:
        """Allow the call, and all others of the demo model if that can be saved."""
        if not self._permissions.allow_demo_calls():
            return ApprovalOutcome("once")
        self._reevaluate(lambda _session, _ask: True)
        return ApprovalOutcome("always")

    def _rules(self) -> tuple[PermissionRule, ...]:
        return (*self._permissions.rules(self._is_demo()), *self._session_permissions.rules)

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        """Return the user's reply to a question; None if no user is there. No rule or mode answers it."""
        return await self._approver.reply(session_id, question)

    def auto_run_decision(self, path: str) -> Literal["", "kept", "removed"]:
        """Return what rules say of a file that a call changed and other programs run; empty: nothing.

        A rule has to name the file, or its folder.
        """
        request = ApprovalRequest("", ANY, path, "", "", PermissionRule(ANY, path, kind="path"), kind="edit")
        decision = evaluate(self._rules(), request)
        rule = decision.rule
        if rule is None or decision.effect == "ask" or not rule.subject:
            return ""
        return "kept" if decision.effect == "allow" else "removed"

    async def save_rule(self, rule: PermissionRule) -> None:
        """Apply a rule from now on, to open requests too. Raises HelixError if it could not be saved."""
        if rule.scope == "session":
            self._session_permissions.rules = (*self._session_permissions.rules, rule)
        else:
            await self._permissions.add(rule)
        self._reevaluate(lambda _, ask: rule_applies(rule, ask))


def denial_reason(model_text: str) -> str:
    """Return the reason that the user gave, in what the model reads of a denied call; empty: none."""
    return model_text.partition(f"{DENIED}{_USER_SAYS}")[2]


def denying_rule(model_text: str) -> str:
    """Return the saved rule that denied a call, in what the model reads of it; empty: none."""
    return model_text.partition(f"{DENIED}{_RULE_SAYS}")[2].removesuffix(".")


def _takes_long(ask: ApprovalRequest) -> bool:
    places = len(ask.coverage.places) if ask.coverage else 0
    return len(ask.subject) > _LONG_COMMAND or places > _MANY_PLACES


def _evaluate(
    rules: Iterable[PermissionRule], ask: ApprovalRequest, mode: PermissionMode
) -> tuple[PermissionDecision, bool]:
    """Return the decision, and if it asks whether the call is safe (see ApprovalRequest).

    Takes up to a second for a contrived command: for a thread.
    """
    decision = evaluate(rules, ask, mode)
    is_safe = (
        decision.effect == "ask" and not decision.rule and evaluate(rules, ask, "auto").effect == "allow"
    )
    return decision, is_safe


def _automatic_outcome(decision: PermissionDecision) -> ApprovalOutcome:
    rule = decision.rule
    if decision.effect == "deny":
        model_text = REFUSED_IN_PLAN if rule is None else f"{DENIED}{_RULE_SAYS}{rule.text}."
        return ApprovalOutcome("deny", rule.text if rule else "", decision.mode, model_text=model_text)
    if rule is None:
        return ApprovalOutcome("once", mode=decision.mode)
    return ApprovalOutcome("session" if rule.scope == "session" else "always", rule.text)


def _user_outcome(reply: ApprovalReply, request: ApprovalRequest) -> ApprovalOutcome:
    user_reason = " ".join(reply.reason.split())
    model_text = f"{DENIED}{_USER_SAYS}{user_reason}" if user_reason else DENIED
    if reply.decision in ("session", "always"):
        scope = "session" if reply.decision == "session" else "workspace"
        rule = msgspec.structs.replace(reply.rule or request.rule, scope=scope)
        return ApprovalOutcome(reply.decision, rule_to_save=rule, is_by_user=not reply.is_fixed)
    return ApprovalOutcome(
        reply.decision,
        user_reason=user_reason,
        rule_to_save=reply.rule,
        model_text=model_text,
        is_by_user=not reply.is_fixed,
    )


class FixedApprover:
    """An approver with one answer to everything: `--yes`, or its absence, on the command line."""

    def __init__(self, decision: ApprovalDecision) -> None:
        self._reply = ApprovalReply(decision, is_fixed=True)

    async def decide(self, session_id: str, request: ApprovalRequest) -> ApprovalReply:
        """Return the fixed reply."""
        return self._reply

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        """Return None: no user is there."""
        return None
