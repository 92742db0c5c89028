"""Ports: who decides approval requests, and a workspace's saved approvals."""

from __future__ import annotations

from typing import Protocol

from helix_desktop.domain.question import Question, QuestionReply
from helix_desktop.domain.tools import (
    ApprovalReply,
    ApprovalRequest,
    PermissionRule,
)


class Approver(Protocol):
    """Decides approval requests and answers questions, usually by asking the user."""

    async def decide(self, session_id: str, request: ApprovalRequest) -> ApprovalReply | None:
        """Wait for the reply to one approval request; None if it must be evaluated again."""
        ...

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        """Wait for the reply to a question; None if no user is there to answer."""
        ...


class WorkspacePermissions(Protocol):
    """A workspace's saved approvals."""

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        """Return the active rules, in order; `demo` is True if the offline demo model makes the call."""
        ...

    def offers_demo_calls(self) -> bool:
        """Return True if one answer may allow all calls of the offline demo model here."""
        ...

    def allow_demo_calls(self) -> bool:
        """Allow all calls of the offline demo model here. Return False if that could not be saved."""
        ...

    async def add(self, rule: PermissionRule) -> None:
        """Save a rule."""
        ...
