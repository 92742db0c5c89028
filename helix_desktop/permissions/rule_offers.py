"""Which rule to offer for a command: the narrowest that covers what people repeat, or none."""

from __future__ import annotations

import posixpath
import re

from helix_desktop.domain.tools import ANY, LastingRefusal, PermissionRule
from helix_desktop.permissions.command_match import main_words, match_anywhere
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
    return " ".join((*prefix, *((ANY,) if is_open else ()))) if is_plain else ""


def _repeated_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Return the first words of a command for its pattern, and if any may follow; none if it is too broad."""
    name, second, third = (*words, "", "")[:3]
    if second == "-m" or second in (*_SCRIPTS.get(name, ()), *RUNNING_ACTIONS.get(name, ())):
        is_named = bool(third) and not third.startswith("-") and third not in _RUNNERS
        return (words[:3] if is_named else ()), is_named
    if name in PACKAGE_RUNNERS or INTERPRETERS.fullmatch(name):
        is_named = bool(second) and not second.startswith("-")
        return (words[:2] if is_named else ()), is_named
    if name not in _WITHOUT_SUBCOMMAND and _SUBCOMMAND.fullmatch(second):
        return words[:2], True
    if name in _WITH_SUBCOMMAND:
        return (words if len(words) == 1 else ()), False
    return words[:1], True


def runs_project_code(command: str, root: str) -> bool:
    """Return True for tests and scripts of the project: what a rule for them allows is anything anyway."""
    name, second, third = (*(main_words(command, root) or ()), "", "", "")[:3]
    if name in _WITH_SUBCOMMAND:
        return name != "git" and second in ("test", "run", "run-script")
    is_module = bool(INTERPRETERS.fullmatch(name)) and second == "-m"
    return name in _TEST_RUNNERS or (is_module and third in ("pytest", "unittest"))


def suggest_command_rules(
    command: str,
    confined: bool,
    exact: str = "",
    root: str = "",
    asked_part: str = "",
) -> tuple[PermissionRule, ...]:
    """Return the rules for a command: itself (`exact`: with its folder), in a sandbox also a pattern.

    `asked_part` is the part of the command that may do more than read, if it is only one.
    """
    rule = PermissionRule("run_command", exact or command, confined=confined)
    pattern = suggest_pattern(asked_part or command, root) if confined else ""
    if not pattern:
        return (rule,)
    return rule, PermissionRule("run_command", pattern, kind="pattern", confined=True)
