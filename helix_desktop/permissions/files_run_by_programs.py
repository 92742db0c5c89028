"""What other programs run or obey by themselves: files and folders by their names, and git's settings.

The one list of these kinds: what mode Auto asks about before it is written, what is named after a command,
what the next step waits for, and what the trust dialog shows.
"""

from __future__ import annotations

import re

import msgspec

from helix_desktop.domain.translatable_text import TextContext, TranslatableText

_text = TextContext("Workspaces")


class AutoRunKind(msgspec.Struct, frozen=True):
    """A file or folder by its name (`a/b`: below a folder of that name), and what follows from it.

    `waits`: a program runs it without an act of the user, so that nothing else runs after a command that
    wrote it before they decide. `asks`: mode auto asks before it is written. `in_trust`: the trust dialog
    names it.
    """

    name: str
    effect: TranslatableText
    waits: bool = False
    asks: bool = True
    in_trust: bool = True
    is_folder: bool = False


_GIT_PROGRAMS = _text("programs that git runs on commits")
_EDITOR_SETTINGS = _text("settings that an editor applies")
_OTHER_AGENT = _text("hooks and servers of another agent; Helix starts none by itself")
_OTHER_AGENT_SKILLS = _text("hooks and servers of another agent; Helix uses only its skills")
_SKILLS = _text("skills that the agent follows")
_SERVERS = _text("servers that other agents start; Helix starts none by itself")
_JOBS = _text("jobs that run where the project is pushed")
_PACKAGE_MANAGER = _text("settings that a package manager follows")
_PYTHON = _text("a program that Python runs at its start")
_TESTS = _text("a program that runs with the tests")
_VERSIONS = _text("which programs a version manager runs in the folder")
_CARGO = _text("programs that cargo and editors for Rust run")
_INSTALLED = _text("a program that pip install runs")

AT_LOGIN = _text("runs when you log in, open a terminal, or start a program that reads it")
"""What follows from a start-up file of the home, where that is in a workspace."""

NOT_COPIED = _text(
    "programs follow it; Helix keeps no copy of it, because it may hold keys or is large: taking it back "
    "renames it, and restores no previous version"
)
"""What follows from a file that is not copied."""

AUTO_RUN_KINDS = (
    AutoRunKind(".envrc", _text("sets the environment of every shell in the folder"), waits=True),
    AutoRunKind(".githooks", _text("programs that git runs if configured"), is_folder=True),
    AutoRunKind(".husky", _GIT_PROGRAMS, waits=True, is_folder=True),
    AutoRunKind(".pre-commit-config.yaml", _GIT_PROGRAMS, waits=True),
    AutoRunKind(".vscode/tasks.json", _text("tasks that an editor runs"), waits=True),
    AutoRunKind(".vscode/settings.json", _EDITOR_SETTINGS, waits=True),
    AutoRunKind(".vscode/mcp.json", _SERVERS, waits=True),
    AutoRunKind(".vscode", _EDITOR_SETTINGS, in_trust=False, is_folder=True),
    AutoRunKind(".idea", _EDITOR_SETTINGS, waits=True, is_folder=True),
    AutoRunKind(".nvim.lua", _EDITOR_SETTINGS, waits=True),
    AutoRunKind(".exrc", _EDITOR_SETTINGS, waits=True),
    AutoRunKind(".dir-locals.el", _EDITOR_SETTINGS, waits=True),
    AutoRunKind(".zed", _EDITOR_SETTINGS, waits=True, is_folder=True),
    AutoRunKind(".devcontainer", _text("containers that an editor builds"), is_folder=True),
    AutoRunKind(".github/workflows", _JOBS, is_folder=True),
    AutoRunKind(".github", _JOBS, in_trust=False, is_folder=True),
    AutoRunKind(".gitlab-ci.yml", _JOBS, asks=False),
    AutoRunKind(".gitlab", _JOBS, in_trust=False, is_folder=True),
    AutoRunKind(".mcp.json", _SERVERS, waits=True),
    AutoRunKind("mcp.json", _SERVERS, in_trust=False),
    AutoRunKind(".cursor/mcp.json", _SERVERS, waits=True),
    AutoRunKind(".cursor", _OTHER_AGENT, waits=True, in_trust=False, is_folder=True),
    AutoRunKind(".agents", _SKILLS, waits=True, in_trust=False, is_folder=True),
    AutoRunKind(".claude", _OTHER_AGENT_SKILLS, waits=True, is_folder=True),
    AutoRunKind(".gemini", _OTHER_AGENT, waits=True, is_folder=True),
    AutoRunKind(".codex", _OTHER_AGENT, waits=True, is_folder=True),
    AutoRunKind(".windsurf", _OTHER_AGENT, waits=True, is_folder=True),
    AutoRunKind(".opencode", _OTHER_AGENT, waits=True, is_folder=True),
    AutoRunKind(".kiro", _OTHER_AGENT, waits=True, is_folder=True),
    AutoRunKind("mise.toml", _VERSIONS, waits=True),
    AutoRunKind(".mise.toml", _VERSIONS, waits=True),
    AutoRunKind(".tool-versions", _VERSIONS, in_trust=False, asks=False),
    AutoRunKind("rust-toolchain.toml", _VERSIONS, in_trust=False, asks=False),
    AutoRunKind("rust-toolchain", _VERSIONS, in_trust=False, asks=False),
    AutoRunKind(".cargo/config.toml", _CARGO, waits=True),
    AutoRunKind(".cargo/config", _CARGO, waits=True),
    AutoRunKind(".direnv", _text("sets the environment of every shell in the folder"), is_folder=True),
    AutoRunKind(".gitattributes", _text("filters of git that files go through"), in_trust=False),
    AutoRunKind(".gitmodules", _text("repositories that git fetches"), in_trust=False),
    AutoRunKind("lefthook.yml", _GIT_PROGRAMS, waits=True),
    AutoRunKind("lefthook.yaml", _GIT_PROGRAMS, waits=True),
    AutoRunKind(".lefthook.yml", _GIT_PROGRAMS, waits=True),
    AutoRunKind(".bazelrc", _text("options that bazel follows"), in_trust=False),
    AutoRunKind(".npmrc", _PACKAGE_MANAGER, in_trust=False),
    AutoRunKind(".yarnrc", _PACKAGE_MANAGER, in_trust=False),
    AutoRunKind(".yarnrc.yml", _PACKAGE_MANAGER, in_trust=False),
    AutoRunKind(".pypirc", _PACKAGE_MANAGER, in_trust=False),
    AutoRunKind("sitecustomize.py", _PYTHON),
    AutoRunKind("usercustomize.py", _PYTHON),
    AutoRunKind("conftest.py", _TESTS, asks=False),
    AutoRunKind("Makefile", _text("commands that make runs"), asks=False),
    AutoRunKind("justfile", _text("commands that just runs"), asks=False),
    AutoRunKind("Taskfile.yml", _text("commands that task runs"), asks=False),
    AutoRunKind("package.json", _text("scripts that npm runs, also on install"), asks=False),
    AutoRunKind("composer.json", _text("scripts that composer runs, also on install"), asks=False),
    AutoRunKind("setup.py", _INSTALLED, asks=False),
    AutoRunKind("pyproject.toml", _text("what pip install builds with"), asks=False, in_trust=False),
    AutoRunKind("build.rs", _text("a program that cargo build runs"), asks=False),
    AutoRunKind("CMakeLists.txt", _text("commands that cmake runs"), asks=False),
    AutoRunKind("Dockerfile", _text("commands that docker build runs"), asks=False),
)
ASKED_FOLDERS = frozenset(
    kind.name for kind in AUTO_RUN_KINDS if kind.asks and kind.is_folder and "/" not in kind.name
) | {".git"}
ASKED_FILES = frozenset(
    kind.name for kind in AUTO_RUN_KINDS if kind.asks and not kind.is_folder and "/" not in kind.name
)
WAITING_NAMES = frozenset(kind.name.partition("/")[0] for kind in AUTO_RUN_KINDS if kind.waits)
"""Where what the next step waits for begins: names of files, and of folders that hold some."""


def auto_run_kind(path: str) -> AutoRunKind | None:
    """Return the kind of a path in a workspace; a stricter one first, as a path may have two."""
    parts = [part.casefold() for part in path.split("/")]
    found = [kind for kind in AUTO_RUN_KINDS if _is_of(kind, parts)]
    return max(found, key=lambda kind: (kind.waits, len(kind.name)), default=None)


def _is_of(kind: AutoRunKind, parts: list[str]) -> bool:
    names = [name.casefold() for name in kind.name.split("/")]
    size = len(names)
    last = len(parts) - size
    starts = range(last + 1) if kind.is_folder else range(max(0, last), last + 1)
    return any(parts[start : start + size] == names for start in starts)


_ANY_KEY = "*"
_PROGRAM_KEYS: dict[str, frozenset[str]] = {
    section: frozenset(keys.split())
    for section, keys in {
        "core": "fsmonitor hookspath pager editor sshcommand gitproxy askpass alternaterefscommand",
        "pager": _ANY_KEY,
        "include": "path",
        "includeif": "path",
        "diff": "external command textconv",
        "filter": "clean smudge process",
        "merge": "driver",
        "mergetool": "cmd path",
        "difftool": "cmd path",
        "man": "cmd path viewer",
        "browser": "cmd path",
        "web": "browser",
        "init": "templatedir",
        "instaweb": "httpd browser",
        "gpg": "program defaultkeycommand",
        "interactive": "difffilter",
        "protocol": "allow",
        "remote": "uploadpack receivepack vcs",
        "sendemail": "smtpserver tocmd cccmd headercmd sendmailcmd",
        "hook": "command",
        "lfs": "path clean smudge",
    }.items()
}
# A setting of this kind names a program in every section: those that are not listed, and those to come.
_PROGRAM_SUFFIXES = (
    "askpass", "browser", "cmd", "command", "driver", "editor", "helper", "hook", "hookspath", "pager",
    "program", "textconv", "tunnel",
)  # fmt: skip
_SWITCHES = frozenset({"0", "1", "false", "no", "off", "on", "true", "yes"})
_STRATEGIES = frozenset({"mergeoptions", "octopus", "strategy", "twohead"})
_REMOTE_HELPER = re.compile(r"\s*[\w./+-]+::")
_ALIAS_PROGRAM = re.compile(
    r"\s*(?:!|-|(?:config|daemon|filter-branch|send-email|web--browse)\b|clone\b.*\s-u)|(?:^|\s)(?:-[Ox]|--(?:exec|extcmd|open-files|receive-pack|upload-pack)|foreach\b|run\b)"
)


def runs_program(section: str, subsection: str, key: str, value: str | None) -> bool:
    """Return True if a setting of git names a program, or another configuration; `section` in lower case.

    A `value` of None stands for a switch that is on.
    """
    value = "true" if value is None else value.strip()
    keys = _PROGRAM_KEYS.get(section, frozenset())
    if key == "hookspath":
        return value != "/dev/null"
    if section == "alias":
        return bool(_ALIAS_PROGRAM.search(value))
    if section == "url" and key.endswith("insteadof"):
        return bool(_REMOTE_HELPER.match(subsection))
    if section == "remote" and key in ("url", "pushurl"):
        return bool(_REMOTE_HELPER.match(value))
    if section == "submodule" and key == "update":
        return value.startswith("!")
    if key in _STRATEGIES:
        return "/" in value
    if not value or (
        (key.endswith(("fsmonitor", "pager")) or section == "pager") and value.lower() in _SWITCHES
    ):
        return False
    return key in keys or _ANY_KEY in keys or key.endswith(_PROGRAM_SUFFIXES)
