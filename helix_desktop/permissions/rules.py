"""Permission rules: which rule or mode answers a call (the strictest wins), and which rules to offer."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Literal, NamedTuple

import msgspec

from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import UncoveredPlace
from helix_desktop.domain.tools import (
    ANY,
    ApprovalRequest,
    LastingRefusal,
    McpChange,
    PermissionRule,
    RuleEffect,
    RuleKind,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.permissions.command_match import (
    certainly_matches,
    main_words,
    match_anywhere,
    possibly_matches,
    without_settings,
)
from helix_desktop.permissions.data_loss import find_effects
from helix_desktop.permissions.files_run_by_programs import ASKED_NAMES, is_asked
from helix_desktop.permissions.git_loss import git_words, is_destroying_action
from helix_desktop.permissions.program import INTERPRETERS, Program
from helix_desktop.permissions.shell_programs import read_command
from helix_desktop.permissions.shell_tokens import (
    OTHER_RUNNERS,
    PACKAGE_RUNNERS,
    RUNNING_ACTIONS,
    SHELLS,
    WRAPPERS,
    ReadingBudget,
)

_text = TextContext("Tools")

_STRICTEST_FIRST: tuple[RuleEffect, ...] = ("deny", "ask", "allow")
_NARROWEST_FIRST = ("exact", "path", "pattern", "folder", "host", "server")
_WILDCARD = re.compile(r"[*?\[]")


class PermissionDecision(msgspec.Struct, frozen=True):
    """The decision on a call: allow, ask or deny; by a rule, by the mode, or by neither.

    Where it asks, `data_loss`, `auto_executed` and `secrets` are what the call does that its user may not
    want (see `find_effects`); `is_too_long`: that can't be said. Because of each, mode auto asks. `changed`
    are the paths that it writes.
    `mcp_change` says why no rule allows an MCP call that the user allowed before.
    """

    effect: RuleEffect
    rule: PermissionRule | None = None
    mode: Literal["", "plan", "auto"] = ""
    data_loss: tuple[UncoveredPlace, ...] = ()
    auto_executed: tuple[str, ...] = ()
    is_too_long: bool = False
    secrets: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    mcp_change: McpChange = ""

    @property
    def has_dangers(self) -> bool:
        return bool(self.data_loss or self.auto_executed or self.secrets or self.is_too_long)


def evaluate(
    rules: Iterable[PermissionRule], request: ApprovalRequest, mode: PermissionMode = "ask"
) -> PermissionDecision:
    """Return the strictest answer of the mode and all rules that apply to a call, whatever their order.

    A change of several files is evaluated file by file; each part of a command may have a rule of its own.
    """
    rules = tuple(rules)
    subjects = (request.subject, *request.other_paths)
    decisions = [
        _evaluate_with_dangers(rules, msgspec.structs.replace(request, subject=subject, other_paths=()), mode)
        for subject in subjects
    ]
    strictest = min(decisions, key=lambda decision: _STRICTEST_FIRST.index(decision.effect))
    lost = dict.fromkeys(place for decision in decisions for place in decision.data_loss)
    if strictest.effect != "ask":
        return strictest
    by_part = [_evaluate_one(rules, part, "ask") for part in _by_part(request)]
    if strictest.rule is None and by_part and all(part.effect == "allow" for part in by_part):
        return by_part[0]
    executed = dict.fromkeys(path for decision in decisions for path in decision.auto_executed)
    return msgspec.structs.replace(strictest, data_loss=tuple(lost), auto_executed=tuple(executed))


def may_decide(rule: PermissionRule, request: ApprovalRequest) -> bool:
    """Return True if the rule applies to the call, or to a part of it, as others may to the rest."""
    return any(rule_applies(rule, part) for part in (request, *_by_part(request)))


def _by_part(request: ApprovalRequest) -> list[ApprovalRequest]:
    return [msgspec.structs.replace(request, asked_parts=(part,)) for part in request.asked_parts]


class NearRule(NamedTuple):
    """The rule that would allow a command if it did no more: without these variables, parts or paths.

    With neither it may send its output elsewhere, or what it runs isn't known.
    """

    rule: PermissionRule
    variables: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


def allowed_but_for(rules: Iterable[PermissionRule], request: ApprovalRequest) -> NearRule | None:
    """Return the rule that allows a part of a command, or all but its variables; None if none does."""
    command, variables = without_settings(request.subject, request.root)
    if request.kind != "command" or not request.confined:
        return None
    plain = msgspec.structs.replace(request, subject=command)
    patterns = [rule for rule in rules if (rule.kind, rule.effect) == ("pattern", "allow")]
    if variables and (rule := next((rule for rule in patterns if rule_applies(rule, plain)), None)):
        return NearRule(rule, variables)
    near = (
        rule
        for rule in patterns
        if possibly_matches(rule.subject, command) == "yes" and not rule_applies(rule, request)
    )
    rule = next(near, None)
    if rule is None:
        return None
    if request.protected_paths:
        paths = (each.path for each in request.protected_paths)
        return NearRule(rule, parts=tuple(path for path in paths if path != "."))
    uncovered = (part for part in _by_part(request) if not any(rule_applies(each, part) for each in patterns))
    return NearRule(rule, parts=tuple(part.asked_parts[0] for part in uncovered))


def _evaluate_with_dangers(
    rules: Iterable[PermissionRule], request: ApprovalRequest, mode: PermissionMode
) -> PermissionDecision:
    decision = _evaluate_one(rules, request, mode)
    if decision.effect != "ask" or request.kind not in ("command", "edit"):
        return decision
    decision = _add_dangers(decision, request)
    is_held = request.kind == "edit" or request.confined
    if mode == "auto" and is_held and decision.rule is None and not decision.has_dangers:
        return PermissionDecision("allow", mode="auto")
    return decision


def _evaluate_one(
    rules: Iterable[PermissionRule], request: ApprovalRequest, mode: PermissionMode
) -> PermissionDecision:
    applicable = sorted((rule for rule in rules if rule_applies(rule, request)), key=_precedence)
    first = applicable[0] if applicable else None
    if first is not None and first.is_deny:
        return PermissionDecision("deny", first)
    # Refused here, not left out of the request: a switch of modes must not change how that begins.
    if mode == "plan" and request.may_change_files and not request.claims_read_only:
        return PermissionDecision("deny", mode="plan")
    is_named = first is not None and (first.kind, first.subject) == ("exact", _exact_subject(request))
    if (doubtful := _doubtful_rule(rules, request)) and not is_named:
        return PermissionDecision("ask", doubtful)
    if first is not None:
        return PermissionDecision(first.effect, first)
    if request.is_reading:
        return PermissionDecision("allow")
    return PermissionDecision("ask", mcp_change=_change_since_allowed(rules, request))


def _add_dangers(decision: PermissionDecision, request: ApprovalRequest) -> PermissionDecision:
    """Add what an edit or a command destroys for good, what others run that it writes, and keys it shows."""
    if request.kind == "command":
        folder = request.folder if request.confined else ""  # else the command itself changes into it
        effects = find_effects(
            request.subject, request.coverage, folder, request.root, request.scripts, request.links
        )
        lost = effects.lost
        changed = effects.changed
        is_whole = effects.is_whole
        secrets = effects.secrets
    else:
        changed = (request.subject,)
        lost = _lost_by_edit(request)
        is_whole = True
        secrets = ()
    executed = _auto_executed(changed, request.kind == "command")
    executed += tuple(path for path in changed if path in request.auto_executed and path not in executed)
    return msgspec.structs.replace(
        decision,
        data_loss=lost,
        auto_executed=executed,
        is_too_long=not is_whole,
        secrets=secrets,
        changed=changed,
    )


def _lost_by_edit(request: ApprovalRequest) -> tuple[UncoveredPlace, ...]:
    coverage = request.coverage
    if coverage is None:
        return ()
    if not coverage.is_complete:
        return (UncoveredPlace(request.subject, "pending"),)
    return tuple(place for place in coverage.places if place.path == request.subject)


def _doubtful_rule(rules: Iterable[PermissionRule], request: ApprovalRequest) -> PermissionRule | None:
    """Return a rule that refuses the command if it is what a variable or the like in it stands for."""
    return next(
        (
            rule
            for rule in rules
            if rule.is_deny
            and (rule.kind, request.kind) == ("pattern", "command")
            and rule.tool in (ANY, request.tool)
            and possibly_matches(rule.subject, request.subject) == "maybe"
        ),
        None,
    )


def _exact_subject(request: ApprovalRequest) -> str:
    """Return what a rule for this very call names: of a command also the folder it runs in."""
    is_in_folder = request.kind == "command" and request.folder and request.rule.kind == "exact"
    return request.rule.subject if is_in_folder else request.subject


def _precedence(rule: PermissionRule) -> tuple[int, int, str]:
    return _STRICTEST_FIRST.index(rule.effect), _NARROWEST_FIRST.index(rule.kind), rule.text


def _auto_executed(paths: tuple[str, ...], are_of_command: bool) -> tuple[str, ...]:
    """Return those of written paths that other programs act on automatically."""
    is_executed = _is_executed_by_name if are_of_command else _is_auto_executed
    executed = filter(is_executed, paths)  # where a copy may be put into a folder, the folder tells
    return tuple(path for path in executed if posixpath.dirname(path) not in paths)


def _is_executed_by_name(path: str) -> bool:
    """Return True if programs act on a file automatically; what looks like a path may be any text."""
    return _has_executed_name(tuple(filter(None, re.split(r"[/\\]", path))))


def rule_applies(rule: PermissionRule, request: ApprovalRequest) -> bool:
    """Return True if the rule applies to the call. In doubt, allow rules do not and stricter rules do."""
    allows = rule.effect == "allow"
    if allows and ((rule.confined and not request.confined) or not _is_same_definition(rule, request)):
        return False
    if rule.kind == "exact":
        subjects = (
            (ANY, _exact_subject(request)) if allows else (ANY, _exact_subject(request), request.subject)
        )
        return rule.tool == request.tool and rule.subject in subjects
    return rule.tool in (ANY, request.tool) and _applies_by_kind(rule, request, allows)


def _is_same_definition(rule: PermissionRule, request: ApprovalRequest) -> bool:
    """Return True unless an MCP tool's definition differs from the one the user saw when saving the rule."""
    if request.kind != "mcp":
        return True
    return bool(request.definition) and not mcp_change(
        rule, request.definition, {request.tool: request.description_digest}
    )


def mcp_change(rule: PermissionRule, definition: str, digests: Mapping[str, str]) -> McpChange:
    """Return what differs in an MCP server and these tools of it from what the rule was saved for.

    `digests` are those of the tools' descriptions now, by tool.
    """
    if rule.definition != definition:
        return "server"
    described = dict(rule.described_tools)
    if not described:
        return ""
    changed = [tool for tool, digest in digests.items() if described.get(tool, digest) != digest]
    if changed:
        return "tool"
    return "new" if digests.keys() - described else ""


def _change_since_allowed(rules: Iterable[PermissionRule], request: ApprovalRequest) -> McpChange:
    """Return why an MCP call is asked about that a rule would allow had nothing changed; empty: no rule."""
    if request.kind != "mcp":
        return ""
    digests = {request.tool: request.description_digest}
    changes = [
        mcp_change(rule, request.definition, digests)
        for rule in rules
        if rule.effect == "allow"
        and (rule.kind, rule.subject) == ("server", request.server)
        and rule.tool in (ANY, request.tool)
    ]
    return next((change for change in ("tool", "server", "new") if change in changes), "")


def _applies_by_kind(rule: PermissionRule, request: ApprovalRequest, allows: bool) -> bool:
    match rule.kind, request.kind:
        case "pattern", "command":
            if not allows:
                answers = ("yes",) if rule.is_deny else ("yes", "maybe")  # in doubt it asks
                return possibly_matches(rule.subject, request.subject) in answers
            # Outside a sandbox without network an allowed first word can carry anything away, and whoever
            # allowed `cat *` did not mean keys.
            return (
                request.confined
                and not request.protected_paths
                and all(
                    certainly_matches(rule.subject, part, request.root)
                    for part in request.asked_parts or (request.subject,)
                )
            )
        case "path", "edit":
            return _matches_path(rule.subject, request.subject, allows)
        case "folder", "edit":
            return _is_in_folder(rule.subject, request.subject, allows)
        case "server", "mcp":
            return bool(rule.subject) and rule.subject == request.server
        case "host", "fetch":
            return _matches_host(rule.subject.lower(), request.host.lower(), allows)
    return False


def _path_parts(path: str) -> tuple[str, ...] | None:
    """Return the names in a relative path; None if it may lead out of its folder."""
    if path.startswith("/") or "\\" in path or path[1:2] == ":":
        return None
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    return None if ".." in names else names


def _matches_path(rule_path: str, path: str, allows: bool) -> bool:
    left = _path_parts(rule_path)
    right = _path_parts(path)
    if left is None or right is None:
        return not allows
    return bool(right) and (left == right if allows else _casefolded(left) == _casefolded(right))


def _is_in_folder(folder: str, path: str, allows: bool) -> bool:
    left = _path_parts(folder)
    right = _path_parts(path)
    if left is None or right is None:
        return not allows
    if not allows:
        return _casefolded(right)[: len(left)] == _casefolded(left)
    return (
        right[: len(left)] == left
        and len(right) > len(left)
        and not _is_auto_executed("/".join(right[len(left) :]))
    )


def _casefolded(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.casefold() for name in names)


def _matches_host(rule_host: str, host: str, allows: bool) -> bool:
    same = bool(host) and rule_host == host
    return same or (not allows and (not host or host.endswith(f".{rule_host}")))


def _is_auto_executed(path: str) -> bool:
    """Return True if other programs act on a file automatically, or its real location is in doubt."""
    names = _path_parts(path)
    return names is None or _has_executed_name(names)


def _has_executed_name(names: tuple[str, ...]) -> bool:
    folded = _casefolded(names)
    if is_asked("/".join(folded)):
        return True
    patterns = [name for name in folded if name.startswith(".") and _WILDCARD.search(name)]
    return any(fnmatchcase(name, part) for part in patterns for name in ASKED_NAMES)


def parse_rule(effect: RuleEffect, kind: RuleKind, text: str) -> PermissionRule:
    """Parse a rule the user wrote: for commands, a file, files in a folder, or a host. Raise InvalidInput."""
    line = " ".join(text.split())
    match kind:
        case "pattern":
            if not line or line.split()[0] == ANY:
                raise InvalidInput(
                    _text("The command is missing."), fix=_text("Enter its first words, such as: git push *")
                )
            return PermissionRule(ANY, line, kind=kind, effect=effect, confined=effect == "allow")
        case "path":
            names = _path_parts(text.strip())
            if not names:
                raise InvalidInput(
                    _text("The file must be inside the workspace."), fix=_text("Enter a path such as: .envrc")
                )
            return PermissionRule(ANY, "/".join(names), kind=kind, effect=effect)
        case "folder":
            names = _path_parts(text.strip())
            if names is None:
                raise InvalidInput(
                    _text("The folder must be inside the workspace."),
                    fix=_text("Enter a path such as: src/app"),
                )
            return PermissionRule(ANY, "/".join(names), kind=kind, effect=effect)
        case "host":
            host = line.lower().rstrip(".")
            if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", host):
                raise InvalidInput(
                    _text("The host name is invalid."), fix=_text("Enter a name such as: docs.python.org")
                )
            return PermissionRule(ANY, host, kind=kind, effect=effect)
    raise InvalidInput(_text("A rule of this kind can't be typed."))


def suggest_edit_rules(path: str, *other_paths: str) -> tuple[PermissionRule, ...]:
    """Return the rules to offer for a change of files by any tool: the file, their folder, all files."""
    file = PermissionRule(ANY, path, kind="path")
    if any(map(_is_auto_executed, (path, *other_paths))):
        return (file,)
    folder = _common_folder(path, *other_paths)
    folders = (folder, "") if folder else ("",)
    return (
        *((file,) if not other_paths else ()),
        *(PermissionRule(ANY, folder, kind="folder") for folder in folders),
    )


def _common_folder(*paths: str) -> str:
    """Return the deepest folder that contains all files; empty for the workspace itself."""
    names = [path.split("/")[:-1] for path in paths]
    same = takewhile(lambda level: len(set(level)) == 1, zip(*names, strict=False))
    return "/".join(level[0] for level in same)


def suggest_fetch_rules(tool: str, address: str, host: str) -> tuple[PermissionRule, ...]:
    """Return the rules to offer for a fetch: the address, and its host."""
    return (
        (PermissionRule(tool, address), PermissionRule(ANY, host.lower(), kind="host"))
        if host
        else (PermissionRule(tool, address),)
    )


def suggest_server_rules(
    tool: str, server: str, definition: str, digests: Mapping[str, str]
) -> tuple[PermissionRule, ...]:
    """Return the rules to offer for an MCP call: this tool, and all tools of its server.

    `digests` are those of the descriptions of all tools of the server, by tool.
    """
    own = {tool: digests[tool]} if tool in digests else {}
    return tuple(
        PermissionRule(
            *(name, server),
            kind="server",
            definition=definition,
            described_tools=tuple(sorted(described.items())),
        )
        for name, described in ((tool, own), (ANY, digests))
    )


_LONGEST = 4_000  # characters of a command for which a pattern is offered
_RUNNERS = SHELLS | WRAPPERS | OTHER_RUNNERS
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_SCRIPTS = {
    "npm": ("run", "run-script"), "pnpm": ("run",), "yarn": ("run",), "bun": ("run",), "deno": ("task",),
    "composer": ("run", "run-script"),
}  # fmt: skip
"""Programs that run a script of the project, by the words behind which its name stands."""
_WITHOUT_SUBCOMMAND = frozenset({
    "black", "cat", "clang-tidy", "cmp", "ctest", "diff", "egrep", "eslint", "find", "flake8", "grep", "head",
    "isort", "jest", "ls", "mocha", "mypy", "phpunit", "prettier", "py.test", "pylint", "pyright", "pytest",
    "rg", "rspec", "rubocop", "shellcheck", "tail", "tox", "tsc", "wc",
})  # fmt: skip
"""Programs whose first word is a file, or the like."""
_WITH_SUBCOMMAND = frozenset({
    "bazel", "bun", "bundle", "cargo", "cmake", "composer", "deno", "dotnet", "git", "go", "gradle", "just",
    "make", "mix", "mvn", "npm", "pip", "pnpm", "poetry", "rake", "ruff", "swift", "task", "uv", "yarn",
})  # fmt: skip
"""Programs that do what their first word says, so that all of them would be too much."""
_TEST_RUNNERS = frozenset({
    "ctest", "jest", "mocha", "phpunit", "py.test", "pytest", "rspec", "tox",
})  # fmt: skip
_TEST_MODULES = frozenset({"pytest", "unittest"})
_RUNNING_NO_CODE = frozenset({"git", "ruff"})
_DESTROYING = frozenset({
    "rm", "rmdir", "unlink", "shred", "truncate", "dd", "srm", "rimraf", "trash", "mkfs", "kill", "killall",
    "pkill",
})  # fmt: skip
_LEAVING = frozenset({
    "su", "pkexec", "scp", "sftp", "rsync", "curl", "wget", "nc", "ncat", "socat",
    "telnet", "ftp", "systemctl", "systemd-run", "crontab", "at", "docker", "podman", "nsenter", "chroot",
    "unshare", "kubectl", "helm", "terraform", "aws", "az", "gcloud", "gh", "glab", "mount", "umount",
})  # fmt: skip
_LEAVING_WRAPPERS = ("sudo", "doas", "ssh", "chroot", "nsenter", "systemd-run")
_LEAVING_GIT = frozenset({"clone", "fetch", "ls-remote", "pull", "push", "send-email", "send-pack"})


def lasting_refusal(command: str, network: bool) -> LastingRefusal:
    """Return why a command is allowed once only: `network` says that it asks for that.

    What may be read of it counts, however it is wrapped.
    """
    reading = read_command(command[:_LONGEST], "", ReadingBudget())
    kinds = {_kind(program) for program in reading.programs}
    if "destroys" in kinds:
        return "destroys"
    is_wrapped = any(match_anywhere((name,), command) == "yes" for name in _LEAVING_WRAPPERS)
    return "leaves" if network or is_wrapped or "leaves" in kinds else ""


def _kind(program: Program) -> LastingRefusal:
    name = posixpath.basename(program.name)
    if name == "git":
        words = git_words(program.words)[1]
        if words and words[0] in _LEAVING_GIT:
            return "leaves"
        return "destroys" if words and is_destroying_action(words[0]) else ""
    is_removal = name == "find" and "-delete" in program.words
    if name in _DESTROYING or is_removal:
        return "destroys"
    return "leaves" if name in _LEAVING else ""


def suggest_pattern(command: str, root: str = "") -> str:
    """Return the pattern to offer for a command: what is repeated of it; empty if any would be too broad.

    `root` is the workspace's path.
    """
    words = main_words(command, root) if len(command) <= _LONGEST else None
    if words is None or words[0] in _RUNNERS:
        return ""
    prefix, is_open = _repeated_words(words)
    is_plain = all(word and not set(word) & {ANY, " ", "\t"} for word in prefix)
    if not is_plain:
        return ""
    pattern = (*prefix, ANY) if is_open else prefix
    return " ".join(pattern)


def _repeated_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Return the first words of a command for its pattern, and if any may follow; none if it is too broad."""
    name, second, third = (*words, "", "")[:3]
    if second == "-m" or second in (*_SCRIPTS.get(name, ()), *RUNNING_ACTIONS.get(name, ())):
        is_named = _is_named(third) and third not in _RUNNERS
        return (words[:3] if is_named else ()), is_named
    if name in PACKAGE_RUNNERS or INTERPRETERS.fullmatch(name):
        is_named = _is_named(second)
        return (words[:2] if is_named else ()), is_named
    if name not in _WITHOUT_SUBCOMMAND and _SUBCOMMAND.fullmatch(second):
        return words[:2], True
    if name in _WITH_SUBCOMMAND:
        return (words if len(words) == 1 else ()), False
    return words[:1], True


def _is_named(word: str) -> bool:
    return bool(word) and not word.startswith("-")


def runs_project_code(command: str, root: str) -> bool:
    """Return True for tests and scripts of the project: what a rule for them allows is anything anyway."""
    name, second, third = (*(main_words(command, root) or ()), "", "", "")[:3]
    if name in _WITH_SUBCOMMAND:
        return name != "git" and second in ("test", "run", "run-script")
    is_module = bool(INTERPRETERS.fullmatch(name)) and second == "-m"
    return name in _TEST_RUNNERS or (is_module and third in _TEST_MODULES)


def runs_any_code(words: Sequence[str]) -> bool:
    """Return True for programs that run code of the project: it may read all that their sandbox shows."""
    name, second, third = (*words, "", "", "")[:3]
    if INTERPRETERS.fullmatch(name):
        return third in _TEST_MODULES if second == "-m" else _is_named(second)
    return name in _TEST_RUNNERS | PACKAGE_RUNNERS | (_WITH_SUBCOMMAND - _RUNNING_NO_CODE)


def suggest_command_rules(
    command: str,
    confined: bool,
    exact: str = "",
    root: str = "",
    asked_parts: Sequence[str] = (),
) -> tuple[PermissionRule, ...]:
    """Return the rules for a command: itself (`exact`: with its folder), in a sandbox also a pattern.

    `asked_parts` are the parts of the command that may do more than read, if that is known.
    """
    rule = PermissionRule("run_command", exact or command, confined=confined)
    parts = asked_parts or (command,)
    pattern = suggest_pattern(parts[0], root) if confined else ""
    if not pattern or not all(certainly_matches(pattern, part, root) for part in parts):
        return (rule,)
    return rule, PermissionRule("run_command", pattern, kind="pattern", confined=True)
