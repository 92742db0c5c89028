"""What a call changed that other programs run by themselves: kept or taken back before anything else runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec.structs import replace

from helix_desktop.agent.ports.tools import AutoRunStore
from helix_desktop.agent.tool_calls.approvals import ApprovalOutcome, ApprovalService
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import FileChange, is_folder
from helix_desktop.domain.permissions.auto_run import auto_run_kind
from helix_desktop.domain.question import Question, QuestionOption, QuestionReply
from helix_desktop.domain.tools import AutoRunChange, AutoRunOutcome, ToolResult
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.task_scope import TaskScope

text = TextContext("Tools")

KEEP, TAKE_BACK = text("Keep"), text("Take back")
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
        self._approvals, self._store, self._ask = approvals, store, ask
        self._session_id, self._scope, self._is_unattended = session_id, scope, is_unattended

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
            [change.kept_id for change in applied], [change.kept_id for change in allowed if change.kept_id]
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
        if change.outcome == "failed" or not change.kept_id:
            return replace(change, outcome="failed" if outcome == "removed" else "kept")
        try:
            if is_out != (outcome == "removed"):
                await self._store.put(change.kept_id, found=outcome == "kept")
        except HelixError:
            return replace(change, outcome="failed")
        return replace(change, outcome="named" if decision == "named" else outcome)


def named_changes(changes: Iterable[FileChange], known: Iterable[AutoRunChange]) -> list[AutoRunChange]:
    """Return the files that a call made or changed and other programs run, of those that are not known."""
    paths = {change.path for change in known}
    named = []
    for change in changes:
        kind = auto_run_kind(change.path) if change.after is not None else None
        if kind is not None and not is_folder(change.after) and change.path not in paths:
            named.append(AutoRunChange(change.path, kind.effect))
    return named


def question_text(changes: list[AutoRunChange]) -> str:
    """Return what the user is asked, with the files and what follows from each."""
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
