"""What a tool gives back, and what must be approved before it runs."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.context.image import Image
from helix_desktop.context.message import Ended

Decision = Literal["once", "always", "deny"]
ANY = "*"


class Delegated(msgspec.Struct, frozen=True):
    """What a subagent took: how it ended, its model calls, their tokens in and out, their US dollars."""

    how: Ended
    steps: int
    tokens: int
    cost: float = 0.0


class ToolResult(msgspec.Struct, frozen=True):
    """A tool's answer: the whole output in bytes, and what it was about.

    `shown` is the form for the window when the tool itself pages or shortens; empty means the whole output.
    `recalled` names the digest that was recalled, so that recalled content is never stored or counted as new.
    `subagent` is the session of the subagent whose result this is, `delegated` what it took. `image` says
    that the content is one; `shown` then says in words what it is.
    """

    content: bytes
    ok: bool = True
    exit_code: int | None = None
    target: str = ""
    shown: str = ""
    recalled: str = ""
    subagent: str = ""
    image: Image | None = None
    delegated: Delegated | None = None


class Rule(msgspec.Struct, frozen=True):
    """A saved approval: this tool on exactly this subject, or on any subject (`*`).

    `saved` says when, in milliseconds since 1970 (0: not saved yet, or not known).
    """

    tool: str
    subject: str
    saved: int = 0

    def covers(self, ask: ApprovalAsk) -> bool:
        """Whether the rule answers the question with yes."""
        return self.tool == ask.tool and self.subject in (ANY, ask.subject)

    @property
    def text(self) -> str:
        """The rule as a person reads it."""
        return f"{self.tool}: any" if self.subject == ANY else f"{self.tool}: {self.subject}"


class ApprovalAsk(msgspec.Struct, frozen=True):
    """A question to the person: may this call run?

    `subject` is what a rule is bound to (the exact command, or the path of a file edit); `detail` shows
    exactly what would happen (the command, or the diff); `rule` is what "always" would save.
    """

    call_id: str
    tool: str
    subject: str
    summary: str
    detail: str
    rule: Rule
