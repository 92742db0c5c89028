"""What the user is asked: approvals, the agent's questions, and what a call changed that others run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.ports import Approver, AutoRunStore, WorkspacePermissions
from helix_desktop.context.log.mode_notes import REFUSED_IN_PLAN
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import FileChange, FileCoverage, is_folder
from helix_desktop.domain.question import CORRECTED, DENIED, Question, QuestionOption, QuestionReply
from helix_desktop.domain.tools import (
    ANY,
    ApprovalDecision,
    ApprovalReply,
    ApprovalRequest,
    AutoRunChange,
    AutoRunOutcome,
    PermissionRule,
    ToolResult,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.permissions.files_run_by_programs import auto_run_kind
from helix_desktop.permissions.rules import (
    NearRule,
    PermissionDecision,
    allowed_but_for,
    evaluate,
    may_decide,
    suggest_command_rules,
)
from helix_desktop.system.task_scope import TaskScope

text = TextContext("Tools")

_RULE_SAYS = " A saved rule says: "

# What is shorter and has fewer places is decided in some milliseconds.
_LONG_COMMAND = 200  # characters
_MANY_PLACES = 200

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
        return self._transcript.mode

    def revoke(self, rule: PermissionRule) -> None:
        self.rules = tuple(active_rule for active_rule in self.rules if active_rule != rule)


class ApprovalOutcome(msgspec.Struct, frozen=True):
    """The outcome of an approval request: see ApprovalGiven. `model_text` tells the agent of a denial.

    `is_by_user`: they saw this very request, and no rule, mode or option answered it. `is_unasked`: nothing
    had to answer it, as the call only reads.
    """

    decision: ApprovalDecision
    rule: str = ""
    mode: Literal["", "plan", "auto"] = ""
    user_reason: str = ""
    rule_to_save: PermissionRule | None = None
    model_text: str = ""
    is_by_user: bool = False
    is_unasked: bool = False


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
        self._futures[key] = future
        self._asks[key] = ask
        try:
            return await future
        finally:
            self._futures.pop(key, None)
            self._asks.pop(key, None)

    def answer(self, session_id: str, call_id: str, reply: UserReply) -> bool:
        key = (session_id, call_id)
        future = self._futures.get(key)
        ask = self._asks.get(key)
        if future is None or future.done() or isinstance(ask, Question) != isinstance(reply, QuestionReply):
            return False
        future.set_result(reply)
        return True

    def reevaluate(self, should_reevaluate: QuestionFilter) -> None:
        for key, future in self._futures.items():
            ask = self._asks[key]
            if isinstance(ask, ApprovalRequest) and not future.done() and should_reevaluate(key[0], ask):
                future.set_result(None)

    def asks(self, session_id: str) -> list[UserAsk]:
        return [ask for key, ask in self._asks.items() if key[0] == session_id]


class ApprovalService:
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
        self._permissions = permissions
        self._approver = approver
        self._session_permissions = session_permissions
        self._reevaluate = reevaluate
        self._named_places: set[str] = set()  # paths that an allowed call changes and nothing brings back

    async def decide(
        self, session_id: str, request: ApprovalRequest, on_ask: Callable[[ApprovalRequest], None]
    ) -> ApprovalOutcome:
        """Return the outcome; `on_ask` is called with the request each time the user has to answer it.

        The caller saves the outcome's rule with `save_rule`.
        """
        while True:
            rules = self._rules()
            mode = self._session_permissions.mode
            if _takes_long(request):
                decision, is_safe, coverage, near = await asyncio.to_thread(_evaluate, rules, request, mode)
            else:
                decision, is_safe, coverage, near = _evaluate(rules, request, mode)
            if (rules, mode) != (self._rules(), self._session_permissions.mode):
                continue
            if decision.effect != "ask":
                return _automatic_outcome(decision)
            coverage = self._new_places(coverage)
            offers = request.suggested_rules
            if decision.has_dangers or request.protected_paths:
                offers = tuple(rule for rule in offers if rule.kind != "pattern")
            elif near is not None and near.parts:  # a rule for what is left covers all of it
                offers = suggest_command_rules(
                    request.subject, request.confined, request.rule.subject, request.root, near.parts
                )
            question = msgspec.structs.replace(
                request,
                suggested_rules=offers,
                coverage=coverage,
                asking_rule=decision.rule.text if decision.rule else "",
                data_loss=decision.data_loss,
                auto_executed=decision.auto_executed,
                is_too_long=decision.is_too_long,
                secrets=decision.secrets,
                mcp_change=decision.mcp_change or request.mcp_change,
                is_safe=is_safe,
                offers_demo_calls=decision.rule is None  # a rule that asks still would
                and self._is_demo()
                and self._permissions.offers_demo_calls(),
                variables=near.variables if near is not None else (),
                uncovering_rule=near.rule.subject if near is not None else "",
                uncovered_parts=near.parts if near is not None else (),
            )
            on_ask(question)
            reply = await self._approver.decide(session_id, question)
            if reply is not None:
                if reply.decision != "deny" and coverage is not None:
                    self._named_places.update(place.path for place in coverage.places)
                return self._allow_demo_calls() if reply.allows_demo_calls else _user_outcome(reply, request)

    def _new_places(self, coverage: FileCoverage | None) -> FileCoverage | None:
        """Return what a call changes and can't be undone, without what an allowed call before it changes."""
        if coverage is None or not coverage.places:
            return coverage
        places = tuple(place for place in coverage.places if place.path not in self._named_places)
        known = len(coverage.places) - len(places)
        return msgspec.structs.replace(coverage, places=places, uncovered=coverage.uncovered - known)

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
        self._reevaluate(lambda _, ask: may_decide(rule, ask))


def denying_rule(model_text: str) -> str:
    """Return the saved rule that denied a call, in what the model reads of it; empty: none."""
    return model_text.partition(f"{DENIED}{_RULE_SAYS}")[2].removesuffix(".")


def _takes_long(ask: ApprovalRequest) -> bool:
    places = len(ask.coverage.places) if ask.coverage else 0
    return len(ask.subject) > _LONG_COMMAND or places > _MANY_PLACES


def _evaluate(
    rules: Iterable[PermissionRule], ask: ApprovalRequest, mode: PermissionMode
) -> tuple[PermissionDecision, bool, FileCoverage | None, NearRule | None]:
    """Return the decision; where it asks, if the call is safe (see ApprovalRequest), what of what it changes
    can't be undone, and the rule that allows a part of it.

    Takes up to a second for a contrived command: for a thread.
    """
    decision = evaluate(rules, ask, mode)
    may_be_safe = decision.effect == "ask" and not decision.rule and not decision.has_dangers
    is_safe = may_be_safe and evaluate(rules, ask, "auto").effect == "allow"
    coverage = ask.coverage
    if decision.effect == "ask" and ask.kind == "command" and coverage is not None and not coverage.error:
        changed = set(decision.changed)
        places = dict.fromkeys(
            (*decision.data_loss, *(place for place in coverage.places if place.path in changed))
        )
        coverage = FileCoverage(places=tuple(places), uncovered=len(places), is_complete=True)
    asks_by_itself = decision.effect == "ask" and decision.rule is None
    return decision, is_safe, coverage, allowed_but_for(rules, ask) if asks_by_itself else None


def _automatic_outcome(decision: PermissionDecision) -> ApprovalOutcome:
    rule = decision.rule
    if decision.effect == "deny":
        model_text = REFUSED_IN_PLAN if rule is None else f"{DENIED}{_RULE_SAYS}{rule.text}."
        return ApprovalOutcome("deny", rule.text if rule else "", decision.mode, model_text=model_text)
    if rule is None:
        return ApprovalOutcome("once", mode=decision.mode, is_unasked=not decision.mode)
    return ApprovalOutcome("session" if rule.scope == "session" else "always", rule.text)


def _user_outcome(reply: ApprovalReply, request: ApprovalRequest) -> ApprovalOutcome:
    user_reason = reply.reason.strip()
    model_text = f"{CORRECTED}{user_reason}" if user_reason else DENIED
    if reply.decision in ("session", "always") and not request.lasting_refusal:
        scope = "session" if reply.decision == "session" else "workspace"
        rule = msgspec.structs.replace(reply.rule or request.rule, scope=scope)
        return ApprovalOutcome(reply.decision, rule_to_save=rule, is_by_user=not reply.is_fixed)
    is_kept_out = bool(request.lasting_refusal) and reply.decision != "deny"
    return ApprovalOutcome(
        "once" if is_kept_out else reply.decision,
        user_reason=user_reason,
        rule_to_save=None if is_kept_out else reply.rule,
        model_text=model_text,
        is_by_user=not reply.is_fixed,
    )


class FixedApprover:
    """An approver with one answer to everything: `--yes`, or its absence, on the command line."""

    def __init__(self, decision: ApprovalDecision) -> None:
        self._reply = ApprovalReply(decision, is_fixed=True)

    async def decide(self, session_id: str, request: ApprovalRequest) -> ApprovalReply:
        return self._reply

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        return None


KEEP = text("Keep")
TAKE_BACK = text("Take back")
_NAMED = 8  # files that the question names
_NOTES: dict[AutoRunOutcome, str] = {
    "removed": "Taken back, because other programs would run or follow it by themselves",
    "kept": "Kept, although other programs run or follow it by themselves",
    "failed": "Other programs run or follow it by themselves, and it could not be taken back",
}


class AutoRunDecisions:
    """The decisions of one session; without a store nothing waits, and nothing is taken back."""

    def __init__(
        self,
        approvals: ApprovalService,
        store: AutoRunStore | None,
        ask: Callable[[Question], None],
        session_id: str,
        scope: TaskScope,
        *,
        is_unattended: bool,
    ) -> None:
        """`ask` shows a question; with `is_unattended` no user is there, and the rules alone decide."""
        self._replies: set[asyncio.Task[QuestionReply | None]] = set()
        self._approvals = approvals
        self._store = store
        self._ask = ask
        self._session_id = session_id
        self._scope = scope
        self._is_unattended = is_unattended

    async def decide(self, call_id: str, outcome: ApprovalOutcome, result: ToolResult) -> ToolResult:
        """Return a result with what became of its changes, and with a note of that for the model.

        What a call did that the user allowed by a click stays. Else a rule decides, then the user; what they
        do not keep is taken back, also when they `give_up`.
        """
        if not result.auto_run or self._store is None:
            return result
        changes = [change for change in result.auto_run if change.waits]
        earlier = [change for change in result.auto_run if not change.waits]  # taken back after other calls
        if outcome.is_by_user:
            decisions = {change.path: "named" for change in changes}
        else:
            decisions = {change.path: self._approvals.auto_run_decision(change.path) for change in changes}
        waiting = [change for change in changes if decisions[change.path] == ""]
        if waiting:
            answer = await self._answer(call_id, waiting)
            decisions |= {change.path: answer for change in waiting}
        applied = [await self._apply(change, decisions[change.path]) for change in changes]
        allowed = [change for change in applied if change.outcome in ("kept", "named")]
        await self._store.settle(
            [change.change_id for change in applied],
            [change.change_id for change in allowed if change.change_id],
        )
        decided_changes = [*earlier, *applied]
        return replace(
            result,
            auto_run=tuple(decided_changes),
            content=result.content + _note(decided_changes).encode("utf-8", "surrogateescape"),
        )

    def give_up(self) -> None:
        """Wait for the user no longer: the turn is being stopped."""
        for task in self._replies:
            task.cancel()

    async def _answer(self, call_id: str, changes: list[AutoRunChange]) -> Literal["kept", "removed"]:
        """Return what the user decides; what nobody can decide is taken back."""
        if self._is_unattended:
            return "removed"
        question = Question(call_id, question_text(changes), _options(changes), is_from_app=True)
        task = self._scope.start(self._approvals.reply(self._session_id, question), f"ask about {call_id}")
        self._replies.add(task)
        self._ask(question)
        try:
            reply = await task
        except asyncio.CancelledError:  # `give_up`: this itself is run to its end
            return "removed"
        finally:
            self._replies.discard(task)
        return "kept" if reply is not None and KEEP in reply.options else "removed"

    async def _apply(self, change: AutoRunChange, decision: str) -> AutoRunChange:
        """Make a change be what was decided; one that nobody decided on is as it was."""
        assert self._store is not None  # `decide` has seen to it
        outcome: AutoRunOutcome = "removed" if decision == "removed" else "kept"
        is_out = change.outcome == "removed"
        if change.outcome == "failed" or not change.change_id:
            return replace(change, outcome="failed" if outcome == "removed" else "kept")
        try:
            if is_out != (outcome == "removed"):
                await self._store.put(change.change_id, restore=outcome == "kept")
        except HelixError:
            return replace(change, outcome="failed")
        return replace(change, outcome="named" if decision == "named" else outcome)


def named_changes(changes: Iterable[FileChange], known: Iterable[AutoRunChange]) -> list[AutoRunChange]:
    """Return the files that a call made or changed and other programs run, of those that are not known."""
    paths = {change.path for change in known}
    named = []
    for change in changes:
        after = change.after
        if after is None or is_folder(after) or change.path in paths:
            continue
        kind = auto_run_kind(change.path, is_folder=after.kind == "link")
        if kind is not None:
            named.append(AutoRunChange(change.path, kind.effect))
    return named


def question_text(changes: list[AutoRunChange]) -> str:
    lines = [
        f"{escape_hidden_name(change.path)}: "
        f"{'; '.join(map(escape_hidden_name, change.reasons)) or change.effect}"
        for change in changes[:_NAMED]
    ]
    if len(changes) > _NAMED:
        lines.append(f"… {len(changes) - _NAMED}")
    return text(
        "The command changed what other programs run or follow by themselves:\n{files}",
        files="\n".join(lines),
    )


def _options(changes: list[AutoRunChange]) -> tuple[QuestionOption, ...]:
    is_out = any(change.outcome == "removed" for change in changes)
    return (
        QuestionOption(
            TAKE_BACK,
            text("What was taken out stays out. You can restore it later.")
            if is_out
            else text("The files become what they were. You can restore them later."),
        ),
        QuestionOption(KEEP, text("Programs outside the sandbox will run or follow it.")),
    )


def _note(changes: list[AutoRunChange]) -> str:
    """Return what the model is told; empty if nothing was decided."""
    lines = []
    for outcome, words in _NOTES.items():
        paths = [escape_hidden_name(change.path) for change in changes if change.outcome == outcome]
        if paths:
            lines.append(f"[{words}: {', '.join(paths)}]")
    return "\n".join(("", *lines, "")) if lines else ""
