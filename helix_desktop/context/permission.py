"""Permission: which rule or mode answers a call, and which rules its card may offer. The strictest wins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Literal

import msgspec

from helix_desktop.context.command_words import fits, may_fit, pattern_of
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.tool import ANY, ApprovalAsk, Effect, Mode, Rule, RuleKind

_STRICTEST_FIRST: tuple[Effect, ...] = ("deny", "ask", "allow")
_NARROWEST_FIRST = ("exact", "path", "pattern", "folder", "host", "server")
_OBEYED_FOLDERS = frozenset({
    ".claude", ".cursor", ".devcontainer", ".direnv", ".git", ".githooks", ".github", ".gitlab", ".husky",
    ".idea", ".vscode",
})  # fmt: skip
_OBEYED_FILES = frozenset({
    ".bazelrc", ".envrc", ".gitattributes", ".gitmodules", ".mcp.json", ".npmrc", ".pre-commit-config.yaml",
    ".pypirc", ".yarnrc", ".yarnrc.yml", "lefthook.yml", "mcp.json", "sitecustomize.py",
})  # fmt: skip


class Judgement(msgspec.Struct, frozen=True):
    """What becomes of a call: it runs, the person is asked, or not; by a rule, by the mode, or by neither."""

    effect: Effect
    rule: Rule | None = None
    mode: Literal["", "plan", "auto"] = ""


def judge(rules: Iterable[Rule], ask: ApprovalAsk, mode: Mode = "ask") -> Judgement:
    """The strictest answer of all rules that cover a call, and of the mode; whatever their order.

    A change of several files is judged file by file.
    """
    rules = tuple(rules)
    subjects = (ask.subject, *ask.also)
    each = [_judge(rules, msgspec.structs.replace(ask, subject=one, also=()), mode) for one in subjects]
    return min(each, key=lambda one: _STRICTEST_FIRST.index(one.effect))


def _judge(rules: Iterable[Rule], ask: ApprovalAsk, mode: Mode) -> Judgement:
    found = sorted((rule for rule in rules if covers(rule, ask)), key=_order)
    first = found[0] if found else None
    if first is not None and first.deny:
        return Judgement("deny", first)
    if mode == "plan" and ask.kind != "fetch":
        return Judgement("deny", mode="plan")
    if first is not None:
        return Judgement(first.effect, first)
    if mode == "auto" and runs_in_auto(ask):
        return Judgement("allow", mode="auto")
    return Judgement("ask")


def _order(rule: Rule) -> tuple[int, int, str]:
    return _STRICTEST_FIRST.index(rule.effect), _NARROWEST_FIRST.index(rule.kind), rule.text


def runs_in_auto(ask: ApprovalAsk) -> bool:
    """Whether mode auto lets a call run unasked: edits of ordinary files, and confined commands."""
    if ask.kind == "edit":
        return not is_obeyed(ask.subject)
    return ask.kind == "command" and ask.confined


def covers(rule: Rule, ask: ApprovalAsk) -> bool:
    """Whether a rule is about a call. In doubt one that allows is not, and one that is stricter is."""
    allows = rule.effect == "allow"
    if allows and ((rule.confined and not ask.confined) or not _same_definition(rule, ask)):
        return False
    if rule.kind == "exact":
        return rule.tool == ask.tool and rule.subject in (ANY, ask.subject)
    return rule.tool in (ANY, ask.tool) and _by_kind(rule, ask, allows)


def _same_definition(rule: Rule, ask: ApprovalAsk) -> bool:
    """A rule for an MCP tool holds for the definition that the person saw and for no other."""
    return ask.kind != "mcp" or (bool(ask.definition) and rule.definition == ask.definition)


def _by_kind(rule: Rule, ask: ApprovalAsk, allows: bool) -> bool:
    match rule.kind, ask.kind:
        case "pattern", "command":
            # Outside a sandbox without network an allowed first word can carry anything away.
            return (
                ask.confined and fits(rule.subject, ask.subject)
                if allows
                else may_fit(rule.subject, ask.subject)
            )
        case "path", "edit":
            return _same_path(rule.subject, ask.subject, allows)
        case "folder", "edit":
            return _in_folder(rule.subject, ask.subject, allows)
        case "server", "mcp":
            return bool(rule.subject) and rule.subject == ask.server
        case "host", "fetch":
            return _at_host(rule.subject.lower(), ask.host.lower(), allows)
    return False


def _parts(path: str) -> tuple[str, ...] | None:
    """The names on a relative path; None for one that may lead out of its folder."""
    if path.startswith("/") or "\\" in path or path[1:2] == ":":
        return None
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    return None if ".." in names else names


def _same_path(wanted: str, path: str, allows: bool) -> bool:
    left, right = _parts(wanted), _parts(path)
    if left is None or right is None:
        return not allows
    return bool(right) and (left == right if allows else _folded(left) == _folded(right))


def _in_folder(folder: str, path: str, allows: bool) -> bool:
    left, right = _parts(folder), _parts(path)
    if left is None or right is None:
        return not allows
    if not allows:
        return _folded(right)[: len(left)] == _folded(left)
    return (
        right[: len(left)] == left and len(right) > len(left) and not is_obeyed("/".join(right[len(left) :]))
    )


def _folded(names: tuple[str, ...]) -> tuple[str, ...]:
    """As disks compare names that do not tell capitals from small letters."""
    return tuple(name.casefold() for name in names)


def _at_host(wanted: str, host: str, allows: bool) -> bool:
    same = bool(host) and wanted == host
    return same or (not allows and (not host or host.endswith(f".{wanted}")))


def is_obeyed(path: str) -> bool:
    """Whether other programs act on a file unasked, or it may not lie where it seems to."""
    names = _parts(path)
    if names is None:
        return True
    folded = _folded(names)
    return bool(_OBEYED_FOLDERS & set(folded)) or bool(_OBEYED_FILES & set(folded[-1:]))


def names_of(rule: Rule) -> frozenset[str]:
    """The names by which events, also of earlier versions, say that a rule answered."""
    former = f"{rule.tool}: any" if rule.subject == ANY else f"{rule.tool}: {rule.subject}"
    return frozenset({rule.text, former} if rule.kind == "exact" else {rule.text})


def typed_rule(effect: Effect, kind: RuleKind, text: str) -> Rule:
    """The rule that a person wrote: of commands, of files in a folder, or of a host. Raises InputUnusable."""
    words = " ".join(text.split())
    match kind:
        case "pattern":
            if not words or words.split()[0] == ANY:
                raise InputUnusable(
                    "This names no command.", fix="Write its first words, such as: git push *"
                )
            return Rule(ANY, words, kind=kind, effect=effect, confined=effect == "allow")
        case "folder":
            names = _parts(text.strip())
            if names is None:
                raise InputUnusable(
                    "This is no folder of the workspace.", fix="Write a path such as: src/app"
                )
            return Rule(ANY, "/".join(names), kind=kind, effect=effect)
        case "host":
            host = words.lower().rstrip(".")
            if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", host):
                raise InputUnusable("This is no host.", fix="Write a name such as: docs.python.org")
            return Rule(ANY, host, kind=kind, effect=effect)
    raise InputUnusable(f"A rule of kind {kind} cannot be written by hand.")


def command_offers(command: str, confined: bool, tool: str = "run_command") -> tuple[Rule, ...]:
    """What may be saved for a command: it, and in a sandbox those like it."""
    exact = Rule(tool, command, confined=confined)
    pattern = pattern_of(command) if confined else ""
    return (exact, Rule(tool, pattern, kind="pattern", confined=True)) if pattern else (exact,)


def edit_offers(path: str, *also: str) -> tuple[Rule, ...]:
    """What may be saved for a change of files, whichever tool makes it: the file, their folder, all files."""
    file = Rule(ANY, path, kind="path")
    if any(map(is_obeyed, (path, *also))):
        return (file,)
    folder = _common_folder(path, *also)
    folders = (folder, "") if folder else ("",)
    return (*((file,) if not also else ()), *(Rule(ANY, one, kind="folder") for one in folders))


def _common_folder(*paths: str) -> str:
    """The deepest folder that all files lie in; empty for the workspace itself."""
    names = [path.split("/")[:-1] for path in paths]
    same = takewhile(lambda level: len(set(level)) == 1, zip(*names, strict=False))
    return "/".join(level[0] for level in same)


def fetch_offers(tool: str, address: str, host: str) -> tuple[Rule, ...]:
    """What may be saved for a fetch: the address, and its host."""
    return (Rule(tool, address), Rule(ANY, host.lower(), kind="host")) if host else (Rule(tool, address),)


def server_offers(tool: str, server: str, definition: str) -> tuple[Rule, ...]:
    """What may be saved for a call of an MCP tool: this tool, and all tools of its server."""
    return tuple(Rule(one, server, kind="server", definition=definition) for one in (tool, ANY))
