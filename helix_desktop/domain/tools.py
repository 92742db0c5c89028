"""What a tool gives back, and what must be approved before it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

import msgspec

from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import TurnOutcome

ApprovalDecision = Literal["once", "session", "always", "deny"]
"""A call's answer: this once, by a rule of the session, by a saved rule of the workspace, or no."""
PermissionMode = Literal["ask", "plan", "auto"]
"""How freely a session's agent acts: asks first, only reads and plans, or edits and runs confined unasked."""
ApprovalKind = Literal["command", "edit", "fetch", "mcp", "other"]
RuleKind = Literal["exact", "pattern", "path", "folder", "server", "host"]
RuleScope = Literal["workspace", "session"]
RuleEffect = Literal["allow", "ask", "deny"]
ANY = "*"

_ANY_USE_TEXTS: Mapping[str, str] = {
    "run_command": "run any command",
    "write_file": "write any file",
    "edit_file": "edit any file",
    "multi_edit": "edit any files",
}

OutputCallback = Callable[[str], None]
"""Receive chunks of a call's output while it runs, in order; some are dropped in a flood."""

CountTokens = Callable[[Sequence[str]], Awaitable[list[int]]]
"""Return the number of tokens of each text."""

STOPPED = "the person stopped this call"
"""The message of a cancel that ends one call alone: a tool may then answer with what it has so far."""


def ignore_output(text: str) -> None:
    """Ignore output."""


class SubagentUsage(msgspec.Struct, frozen=True):
    """What a subagent took: how it ended, its model calls, their tokens in and out, their US dollars."""

    how: TurnOutcome
    steps: int
    tokens: int
    cost: float = 0.0


class ToolResult(msgspec.Struct, frozen=True):
    """A tool's answer: the whole output in bytes, and what it was about.

    `model_text` is the form for the window when the tool itself pages or shortens; empty: the whole output.
    `recalled` names the digest that was recalled, so that recalled content is never stored or counted as new.
    `subagent` is the session of the subagent whose result this is, `delegated` what it took. `image` says
    that the content is one; `model_text` then describes it. `image_data` are the bytes of images that
    accompany a text. `stopped`: the user ended the call, and this is what there was.
    """

    content: bytes
    ok: bool = True
    exit_code: int | None = None
    target: str = ""
    model_text: str = ""
    recalled: str = ""
    subagent: str = ""
    image: Image | None = None
    image_data: tuple[bytes, ...] = ()
    delegated: SubagentUsage | None = None
    stopped: bool = False


class PermissionRule(msgspec.Struct, frozen=True):
    """An answer given beforehand, to one tool (`*`: to any that `kind` is about). See `permission.covers`.

    `subject` is, by kind: the exact subject or `*` for any; a command's first words, a last `*` for any more;
    a file's path; a folder's; an MCP server's name; a host. `saved` says when, in milliseconds since 1970 (0:
    not saved yet, or not known). `confined`: it allows only what stays in the sandbox. `definition` is the
    hash of the MCP server's definition that was approved.
    """

    tool: str
    subject: str
    saved: int = 0
    kind: RuleKind = "exact"
    scope: RuleScope = "workspace"
    effect: RuleEffect = "allow"
    confined: bool = False
    definition: str = ""

    @property
    def is_deny(self) -> bool:
        """True if it refuses calls."""
        return self.effect == "deny"

    @property
    def text(self) -> str:
        """The rule as a sentence for people, and the name that events know it by."""
        done = self._action_text()
        confined = ", in the sandbox" if self.confined else ""
        match self.effect:
            case "allow":
                return f"{done[:1].upper()}{done[1:]}{confined}"
            case "ask":
                return f"Always ask before: {done}"
            case "deny":
                return f"Never: {done}"

    def _action_text(self) -> str:
        match self.kind:
            case "exact":
                return self._exact_action_text()
            case "pattern":
                return f"run commands like: {self.subject}"
            case "path":
                return f"change the file {self.subject}"
            case "folder":
                return f"change any file in {self.subject}" if self.subject else "change any file"
            case "server":
                what = "any tool" if self.tool == ANY else self.tool
                return f"use {what} of the MCP server {self.subject}"
            case "host":
                return f"fetch from {self.subject}"

    def _exact_action_text(self) -> str:
        if self.subject == ANY:
            return _ANY_USE_TEXTS.get(self.tool, f"use {self.tool}, whatever it is asked")
        return f"run: {self.subject}" if self.tool == "run_command" else f"use {self.tool}: {self.subject}"


class ApprovalRequest(msgspec.Struct, frozen=True):
    """A question to the user: may this call run?

    `subject` is what an exact rule is bound to (the exact command, the path of a file edit, an address);
    `detail` shows exactly what would happen (the command, or the diff). `confined`: whatever it does stays in
    the workspace and off the network. `rule` is the narrowest rule that may be saved, `suggested_rules` all,
    narrowest first (see `permissions.rules`). `host` is where a fetch goes; `server` and `definition`
    (the hash of its definition) say whose MCP tool it is. `asking_rule` names the rule that requires
    asking, if any.
    `other_paths` are further files of the same change: a rule must allow each, and any may be refused.
    `subagent_title` is the title of the subagent that makes the call, if any.
    """

    call_id: str
    tool: str
    subject: str
    summary: str
    detail: str
    rule: PermissionRule
    kind: ApprovalKind = "other"
    confined: bool = False
    suggested_rules: tuple[PermissionRule, ...] = ()
    host: str = ""
    server: str = ""
    definition: str = ""
    asking_rule: str = ""
    other_paths: tuple[str, ...] = ()
    subagent_title: str = ""


class ApprovalReply(msgspec.Struct, frozen=True):
    """The user's answer to a question; `rule` is what it saves, `reason` is for the agent on a denial."""

    decision: ApprovalDecision
    rule: PermissionRule | None = None
    reason: str = ""
