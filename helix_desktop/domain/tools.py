"""What a tool gives back, and what must be approved before it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.files.content import FileVersion
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import ToolCall, TurnOutcome, server_tool_name
from helix_desktop.domain.question import AskUser, QuestionReply
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

_text = TextContext("Tools")

ApprovalDecision = Literal["once", "session", "always", "deny"]
"""A call's answer: this once, by a rule of the session, by a saved rule of the workspace, or no."""
ApprovalKind = Literal["command", "edit", "read", "fetch", "mcp", "other"]
RuleKind = Literal["exact", "pattern", "path", "folder", "server", "host"]
RuleScope = Literal["workspace", "session"]
RuleEffect = Literal["allow", "ask", "deny"]
McpChange = Literal["", "server", "tool", "new"]
"""Why a saved rule does not allow an MCP call: its server or tool changed since, or the tool came later."""
LastingRefusal = Literal["", "destroys", "leaves"]
"""Why a command is allowed once only: it destroys, or it leaves the sandbox; empty: it need not be."""
PathProtection = Literal["secret", "ignored", "outside"]
"""Why no rule for a command's first words covers a path: keys, an ignore file, not in the workspace."""
ANY = "*"

"""The name of the tool that puts stored content before the user."""

OutputCallback = Callable[[str], None]
"""Receive chunks of a call's output while it runs, in order; some are dropped in a flood."""

CountTokens = Callable[[Sequence[str]], Awaitable[list[int]]]
"""Return the number of tokens of each text."""

STOPPED = "the user stopped this call"
"""The message of a cancel that ends one call alone: a tool may then answer with what it has so far."""

TURN_ENDED = "the turn ended before this call"
"""The message of a cancel that ends the calls of a turn: a tool may answer as for STOPPED."""


class ProgressText(str):
    """A chunk of output that says how far a call is: `share` of it, from 0 to 1, is done."""

    share: float

    def __new__(cls, text: str, share: float) -> ProgressText:
        self = super().__new__(cls, text)
        self.share = share
        return self


def ignore_output(text: str) -> None:
    """Ignore output."""


class SubagentUsage(msgspec.Struct, frozen=True):
    """What a subagent took: how it ended, its model calls, their tokens in and out, their US dollars.

    `estimated`: some of it by our count.
    """

    how: TurnOutcome
    steps: int
    tokens: int
    cost: float = 0.0
    estimated: bool = False


class Excerpt(msgspec.Struct, frozen=True):
    """Lines of stored content, from 1, both ends included, and their bytes, that an agent showed to the user.

    The tool for that, `show_output`, is gone; logs still have what it showed.

    `total_lines` counts those of the whole content. `tool` and `target` say where it came from, `caption` is
    the agent's word on it. An `image` has no lines. The numbers of its file are greater by
    `lines_before`: the lines above a part of it; -1 where a header stands above what a command printed.
    """

    digest: str
    start_line: int
    end_line: int
    size: int
    total_lines: int = 0
    tool: str = ""
    target: str = ""
    caption: str = ""
    image: Image | None = None
    lines_before: int = 0


AutoRunOutcome = Literal["named", "kept", "removed", "failed"]
"""What became of a change: named to the user, kept by their decision or a rule, taken out, or
left, as it could not be."""


class AutoRunChange(msgspec.Struct, frozen=True):
    """A file, or a part of git's settings, that a command changed and other programs run by themselves.

    `reasons` are for git: what it would run or read; else `effect` says it. `waits`: the next step waits for
    the user. `change_id` leads to what was taken out and can be restored; empty: nothing was.
    """

    path: str
    effect: str = ""
    reasons: tuple[str, ...] = ()
    waits: bool = False
    outcome: AutoRunOutcome = "named"
    change_id: str = msgspec.field(default="", name="kept_id")


class ToolResult(msgspec.Struct, frozen=True):
    """A tool's answer: the whole output in bytes, and what it was about.

    `model_text` is the form for the window when the tool itself pages or shortens; empty: the whole output.
    `recalled` names the digest that was recalled, so that recalled content is never stored or counted as new.
    `subagent` is the session of the subagent whose result this is, `delegated` what it took. `image` says
    that the content is one; `model_text` then describes it. `image_data` are the bytes of images that
    accompany a text. `stopped`: the user ended the call, and this is what there was. `files` are those that
    the call read or wrote, as they were then. `reply` is the user's, where the call asked a question.
    `auto_run` is what the call changed that other programs run by themselves. `about` says in a few words
    what the form for the window holds, where the tool knows that better than its text says it. `keep_whole`:
    the call asked for all of a large output.
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
    files: tuple[FileVersion, ...] = ()
    reply: QuestionReply | None = None
    about: str = ""
    auto_run: tuple[AutoRunChange, ...] = ()
    keep_whole: bool = False


class AllowedCall(ToolCall, frozen=True):
    """A call that was allowed as what it was then: `digest` is that of an MCP tool's description.

    `is_reading`: a command that may only read, since nobody was asked. `ask` puts what the call's
    server asks to the user.
    """

    digest: str = ""
    is_reading: bool = False
    ask: AskUser | None = None


class PermissionRule(msgspec.Struct, frozen=True):
    """An answer given beforehand, to one tool (`*`: to any that `kind` is about). See `rule_applies`.

    `subject` is, by kind: the exact subject or `*` for any; a command's first words, a last `*` for any more;
    a file's path; a folder's; an MCP server's name; a host. `saved` says when, in milliseconds since 1970 (0:
    not saved yet, or not known). `confined`: it allows only what stays in the sandbox. `definition` is the
    hash of the MCP server's definition that was approved; `described_tools` are those it is about, each with
    the digest of its description then.
    """

    tool: str
    subject: str
    saved: int = 0
    kind: RuleKind = "exact"
    scope: RuleScope = "workspace"
    effect: RuleEffect = "allow"
    confined: bool = False
    definition: str = ""
    described_tools: tuple[tuple[str, str], ...] = ()

    @property
    def is_deny(self) -> bool:
        return self.effect == "deny"

    @property
    def text(self) -> TranslatableText:
        """The rule as a sentence for the user; its English words are the name that events know it by."""
        allowed, action = self._exact_texts() if self.kind == "exact" else self._texts()
        match self.effect:
            case "allow":
                return _text("{rule}, in the sandbox", rule=allowed) if self.confined else allowed
            case "ask":
                return _text("Always ask before: {action}", action=action)
            case "deny":
                return _text("Never: {action}", action=action)

    def _texts(self) -> tuple[TranslatableText, TranslatableText]:
        """Return what it allows, alone and after a colon."""
        subject = self.subject
        match self.kind:
            case "pattern":
                return (
                    _text("Run commands like: {command}", command=subject),
                    _text("run commands like: {command}", command=subject),
                )
            case "path":
                return _text("Change the file {file}", file=subject), _text(
                    "change the file {file}", file=subject
                )
            case "folder" if subject:
                return (
                    _text("Change any file in {folder}", folder=subject),
                    _text("change any file in {folder}", folder=subject),
                )
            case "server":
                return self._server_texts()
            case "host":
                return _text("Fetch from {host}", host=subject), _text("fetch from {host}", host=subject)
        return _text("Change any file"), _text("change any file")

    def _server_texts(self) -> tuple[TranslatableText, TranslatableText]:
        if self.tool == ANY:
            return (
                _text("Use any tool of the MCP server {server}", server=self.subject),
                _text("use any tool of the MCP server {server}", server=self.subject),
            )
        tool = server_tool_name(self.tool)
        return (
            _text("Use {tool} of the MCP server {server}", tool=tool, server=self.subject),
            _text("use {tool} of the MCP server {server}", tool=tool, server=self.subject),
        )

    def _exact_texts(self) -> tuple[TranslatableText, TranslatableText]:
        tool = self.tool
        subject = self.subject
        builtin = BUILTIN_TOOLS.get(self.tool)
        if subject == ANY:
            if builtin is not None and builtin.any_use is not None:
                return builtin.any_use
            return (
                _text("Use {tool}, whatever it is asked", tool=tool),
                _text("use {tool}, whatever it is asked", tool=tool),
            )
        if builtin is not None and builtin.exact is not None:
            return builtin.exact(subject)
        return (
            _text("Use {tool}: {subject}", tool=tool, subject=subject),
            _text("use {tool}: {subject}", tool=tool, subject=subject),
        )


class EditedFile(msgspec.Struct, frozen=True):
    """What an edit would change in one file: all that would be written is among the lines, if it is text."""

    path: str
    diff: FileDiff


class ProtectedPath(msgspec.Struct, frozen=True):
    """A path that a command may use, `.` for the workspace, and why a rule has to name the whole command."""

    path: str
    protection: PathProtection


class ApprovalRequest(msgspec.Struct, frozen=True):
    """A question to the user: may this call run?

    `subject` is what an exact rule is bound to (the exact command, the path of a file edit, an address);
    `detail` shows exactly what would happen (the command), of an edit `edits` do. `confined`: whatever it
    does stays in the workspace and off the network. `rule` is the narrowest rule that may be saved,
    `suggested_rules` all, narrowest first (see `permissions.rules`). `host` is where a fetch goes; `server`
    and `definition` (the hash of its definition) say whose MCP tool it is, `description` what the server says
    of the tool, `description_digest` is its digest, and `claims_read_only` the server's claim that it changes
    nothing.
    `mcp_change` says why a rule does not allow it. `asking_rule` names the rule that requires asking, if any.
    `other_paths` are further files of the same change: a rule must allow each, and any may be refused.
    `subagent_title` is the title of the subagent that makes the call, if any. `coverage` says where in the
    workspace its changes could be undone, and where not; of a file change, only of these files.
    `folder` is where in the workspace a command runs, `root` the workspace's path. `data_loss` are the places
    that the call destroys, and nothing can bring back. `auto_executed` are the files that it writes and other
    programs run on their own (before the decision those of an edit that settings of git name);
    `secrets` are those with keys or passwords that the call shows. Mode auto asks because of each.
    `protected_paths` are those because of which no rule for a command's first words covers it.
    `is_sandboxed` says that some sandbox holds a command, `has_network` that it may use the network.
    `is_too_long`: mode auto asks, as the command takes too long to be read. `is_safe`: mode auto would
    run it without asking. `scripts` are the scripts that a command runs of those that the session's calls
    changed: paths and texts. `links` are paths that a command writes, with the paths in the workspace where
    links lead them. `offers_demo_calls`: one answer may let the demo model make all calls of its script.
    `asked_parts` are the parts of a command that may do more than read, where all others only read; each may
    be allowed by a rule of its own.
    `is_reading`: the command only reads, and whoever allows it, it runs so that it can do nothing else.
    `effect` says in a line what it may do (empty: `summary` does), `effect_details` what else there is to it,
    which no answer depends on, `lasting_refusal` why it is allowed once only, if so. `uncovering_rule` allows
    a part of it, but not `uncovered_parts`; if only because of variables that it sets, these are `variables`.
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
    description: str = ""
    description_digest: str = ""
    claims_read_only: bool = False
    mcp_change: McpChange = ""
    asking_rule: str = ""
    other_paths: tuple[str, ...] = ()
    edits: tuple[EditedFile, ...] = ()
    subagent_title: str = ""
    coverage: FileCoverage | None = None
    folder: str = ""
    root: str = ""
    data_loss: tuple[UncoveredPlace, ...] = ()
    auto_executed: tuple[str, ...] = ()
    is_sandboxed: bool = False
    has_network: bool = False
    is_too_long: bool = False
    is_safe: bool = False
    scripts: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    protected_paths: tuple[ProtectedPath, ...] = ()
    offers_demo_calls: bool = False
    is_reading: bool = False
    asked_parts: tuple[str, ...] = ()
    effect: str = ""
    effect_details: tuple[str, ...] = ()
    lasting_refusal: LastingRefusal = ""
    variables: tuple[str, ...] = ()
    uncovering_rule: str = ""
    uncovered_parts: tuple[str, ...] = ()

    @property
    def offered_rules(self) -> tuple[PermissionRule, ...]:
        """Return the rules that an answer may save, narrowest first: it names one by its place among them."""
        return self.suggested_rules or (self.rule,)

    @property
    def may_change_files(self) -> bool:
        return self.kind not in ("read", "fetch") and not self.is_reading


class ApprovalReply(msgspec.Struct, frozen=True):
    """The user's answer to a question; `rule` is what it saves, `reason` is for the agent on a denial.

    `allows_demo_calls`: from now on the demo model's calls in this sample run without asking. `is_fixed`: an
    option of the command line gave it, whatever the question.
    """

    decision: ApprovalDecision
    rule: PermissionRule | None = None
    reason: str = ""
    allows_demo_calls: bool = False
    is_fixed: bool = False


ALLOW_DEMO_CALLS = ApprovalReply("always", allows_demo_calls=True)
"""The answer that lets the demo model make all calls of its script in a sample."""
