"""What other programs run or obey by themselves: files and folders by their names, and git's settings.

The one table of these kinds: what the next step waits for, what mode auto asks about before it is written,
what is named after a command, and what the trust dialog shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from helix_desktop.domain.translatable_text import TextContext, TranslatableText

_text = TextContext("Workspaces")

_Level = Literal["waits", "asks", "named"]


class AutoRunKind(msgspec.Struct, frozen=True):
    """Files that programs run or obey, by their names, and what follows from a change of one.

    `waits`: a program runs it without an act of the user, so that nothing else runs after a command that
    wrote it before they decide. What waits or `asks` is asked about in mode auto before it is written; else
    it is only `named` after a command.
    `names`: separated by spaces. `*` is any part of a name, `a/b` is `b` in a folder `a`, and `a/` is a
    folder with all in it, but for `ordinary`, what its own program writes there and nothing runs. Case is
    ignored, as by some file systems. `in_trust`: the trust dialog shows it.
    """

    level: _Level
    names: str
    effect: TranslatableText
    in_trust: bool = True
    ordinary: str = ""

    @property
    def waits(self) -> bool:
        return self.level == "waits"


_COMMITS = _text("programs that git runs on commits")
_EDITOR_SETTINGS = _text("settings that an editor applies")
_OTHER_AGENT = _text("hooks and servers of another agent; Helix starts none by itself")
_SHELLS = _text("sets the environment of every shell in the folder")
_VERSION_CONTROL = _text("programs that version control runs on every command")
_JOBS = _text("jobs that run where the project is pushed")
_PACKAGE_MANAGER = _text("settings that a package manager follows")
_BUILD_TOOL = _text("commands that a build tool runs, also when an editor opens the folder")
_TESTS = _text("a program that runs with the tests")
_VERSIONS = _text("which programs a version manager runs in the folder")
_INSTALLED = _text("a program that pip install runs")

AT_LOGIN = _text("runs when you log in, open a terminal, or start a program that reads it")
"""What follows from a start-up file of the home, where that is in a workspace."""

NOT_COPIED = _text(
    "programs follow it; Helix keeps no copy of it, because it may hold keys or is large: taking it back "
    "renames it, and restores no previous version"
)
"""What follows from a file that is not copied."""

# The first row that fits says what a file does, of those with the strictest level.
AUTO_RUN_KINDS = (
    # Shells
    AutoRunKind("waits", ".envrc* .direnv/*.rc .direnv/bin/ .rvmrc .autoenv*", _SHELLS),
    AutoRunKind("asks", ".direnv/", _SHELLS),
    AutoRunKind(
        "waits",
        "mise.toml mise.*.toml .mise.toml .mise.*.toml .miserc.toml .rtx.toml .config/miserc.toml "
        "mise/config.toml mise/config.*.toml mise/conf.d/ mise/mise.toml "
        ".mise/config.toml .mise/config.*.toml .mise/conf.d/ .mise/mise.toml",
        _VERSIONS,
    ),
    AutoRunKind("named", ".tool-versions rust-toolchain.toml rust-toolchain", _VERSIONS, in_trust=False),
    AutoRunKind("named", ".env .env.local", _text("variables that programs load"), in_trust=False),
    # Version control
    AutoRunKind(
        "waits",
        ".husky/ .huskyrc* .pre-commit-config.y*ml prek.toml lefthook.y*ml .lefthook.y*ml lefthook.toml "
        ".lefthook.toml lefthook.json* .lefthook.json* lefthook-local.* .lefthook-local.* .lefthook/ "
        ".lefthook-local/ .overcommit.yml captainhook.json grumphp.y*ml grumphp.yml.dist .lintstagedrc* "
        "lint-staged.config.*",
        _COMMITS,
    ),
    AutoRunKind("asks", ".githooks/", _text("programs that git runs if configured")),
    AutoRunKind("asks", ".gitattributes", _text("filters of git that files go through"), in_trust=False),
    AutoRunKind("asks", ".gitmodules", _text("repositories that git fetches"), in_trust=False),
    AutoRunKind(
        "waits",
        ".hg/ .sl/",
        _VERSION_CONTROL,
        ordinary="00changelog.i bisect.state bookmarks* branch cache/ dirstate* fsmonitor.state git/ git-* "
        "graftstate journal.* largefiles/ last-message.txt lfs/ localtags merge/ rebasestate requires "
        "shelved/ shelvedstate store/ strip-backup/ topic* treestate/ undo.* updatestate wcache/ wlock",
    ),
    AutoRunKind(
        "waits",
        ".jj/",
        _VERSION_CONTROL,
        ordinary=".gitignore repo/index/ repo/op_heads/ repo/op_store/ repo/store/extra/ repo/store/git/ "
        "repo/store/type repo/submodule_store/ working_copy/",
    ),
    AutoRunKind("waits", ".pijul/config _darcs/prefs/ .bzr/branch/branch.conf", _VERSION_CONTROL),
    # Editors
    AutoRunKind("waits", ".vscode/tasks.json *.code-workspace", _text("tasks that an editor runs")),
    AutoRunKind(
        "waits",
        ".vscode/settings.json .idea/ .zed/ .helix/ .nvim.lua .nvimrc .vimrc _vimrc .gvimrc _gvimrc .exrc "
        "_exrc .lvimrc .vim/coc-settings.json .dir-locals*.el _dir-locals*.el",
        _EDITOR_SETTINGS,
    ),
    AutoRunKind("waits", ".devcontainer/ .devcontainer.json", _text("containers that an editor builds")),
    AutoRunKind("asks", ".vscode/ .vs/ .fleet/ *.sublime-project", _EDITOR_SETTINGS, in_trust=False),
    # Agents
    AutoRunKind(
        "waits",
        ".mcp.json .vscode/mcp.json .cursor/mcp.json",
        _text("servers that other agents start; Helix starts none by itself"),
    ),
    AutoRunKind(
        "waits",
        "mcp.json mcp_config.json mcp_settings.json",
        _text("servers that other agents start; Helix starts none by itself"),
        in_trust=False,
    ),
    AutoRunKind("waits", ".agents/", _text("skills that the agent follows"), in_trust=False),
    AutoRunKind("waits", ".claude/", _text("hooks and servers of another agent; Helix uses only its skills")),
    AutoRunKind("waits", ".cursor/", _OTHER_AGENT, in_trust=False),
    AutoRunKind(
        "waits",
        ".aider.conf.yml .aider.model.* .amazonq/ .amp/ .augment/ .cline/ .clinerules/ .codebuddy/ .codex/ "
        ".continue/ .continuerc.json .copilot/ .crush/ .crush.json crush.json .factory/ .gemini/ .goose/ "
        ".iflow/ .junie/ .kilo/ .kilocode/ .kilocodemodes .kimi/ .kiro/ .opencode/ opencode.json* "
        ".openhands/ .pi/ .qoder/ .qwen/ .roo/ .roomodes .rovodev/ .trae/ .vibe/ .warp/ .windsurf/",
        _OTHER_AGENT,
    ),
    AutoRunKind(
        "waits",
        "AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md CRUSH.md GEMINI.md QWEN.md WARP.md "
        ".augment-guidelines .clinerules .cursorrules .goosehints .roorules* .rules .windsurfrules "
        ".github/agents/ .github/copilot-instructions.md .github/hooks/ .github/instructions/ "
        ".github/prompts/",
        _text("instructions that agents follow"),
        in_trust=False,
    ),
    # Where the project is pushed
    AutoRunKind("asks", ".github/workflows/", _JOBS),
    AutoRunKind("asks", ".github/ .gitlab/", _JOBS, in_trust=False),
    AutoRunKind(
        "named",
        ".gitlab-ci.yml .circleci/ .travis.yml .buildkite/ .forgejo/ .gitea/ .woodpecker* .drone.yml "
        "azure-pipelines.yml bitbucket-pipelines.yml Jenkinsfile .gitpod.yml",
        _JOBS,
    ),
    # Languages and their tools
    AutoRunKind(
        "waits", ".cargo/config.toml .cargo/config", _text("programs that cargo and editors for Rust run")
    ),
    AutoRunKind("asks", ".bazelrc", _text("options that bazel follows"), in_trust=False),
    AutoRunKind("asks", ".npmrc .yarnrc .yarnrc.yml .pypirc .pnpmfile.cjs", _PACKAGE_MANAGER, in_trust=False),
    AutoRunKind(
        "asks", "sitecustomize.py usercustomize.py", _text("a program that Python runs at its start")
    ),
    AutoRunKind(
        "asks",
        ".gdbinit .ghci .iex.exs .irbrc .lldbinit .ocamlinit .octaverc .pdbrc .pryrc .RData .Renviron "
        ".Rprofile",
        _text("a program that an interpreter or a debugger runs at its start"),
    ),
    AutoRunKind("named", "conftest.py", _TESTS),
    AutoRunKind("named", "Makefile GNUmakefile", _text("commands that make runs")),
    AutoRunKind("named", "justfile .justfile", _text("commands that just runs")),
    AutoRunKind("named", "Taskfile.y*ml", _text("commands that task runs")),
    AutoRunKind("named", "package.json", _text("scripts that npm runs, also on install")),
    AutoRunKind("named", "composer.json", _text("scripts that composer runs, also on install")),
    AutoRunKind("named", "setup.py", _INSTALLED),
    AutoRunKind("named", "pyproject.toml", _text("what pip install builds with"), in_trust=False),
    AutoRunKind("named", "build.rs", _text("a program that cargo build runs")),
    AutoRunKind("named", "CMakeLists.txt", _text("commands that cmake runs")),
    AutoRunKind("named", "Dockerfile", _text("commands that docker build runs")),
    AutoRunKind(
        "named",
        "build.gradle* settings.gradle* gradle.properties gradlew .mvn/ pom.xml build.sbt meson.build",
        _BUILD_TOOL,
        in_trust=False,
    ),
    AutoRunKind(
        "named",
        "flake.nix shell.nix default.nix devenv.nix devenv.yaml devbox.json",
        _text("what a shell of nix, devenv or devbox runs"),
        in_trust=False,
    ),
    AutoRunKind(
        "named",
        ".eslintrc* eslint.config.* .prettierrc* prettier.config.*",
        _text("a program that an editor runs to check files"),
        in_trust=False,
    ),
)


def _regex(names: Iterable[str]) -> str:
    """Return what matches paths of such names, which have the form of `AutoRunKind.names`."""
    return "|".join(
        re.escape(name.rstrip("/").casefold()).replace(r"\*", "[^/]*") + "(?:/.*)?" * name.endswith("/")
        for name in names
    )


def _below(regex: str) -> re.Pattern[str]:
    """Return what matches such paths in every folder, and nothing if there are none."""
    return re.compile(rf"(?:.*/)?(?:{regex or '(?!)'})", re.DOTALL)


def _of_kind(kind: AutoRunKind) -> re.Pattern[str]:
    names = kind.names.split()
    if not kind.ordinary:
        return _below(_regex(names))
    folders = _regex(name.rstrip("/") for name in names)
    return _below(rf"(?:{folders})(?:/(?!(?:{_regex(kind.ordinary.split())})\Z).*)?")


def _around(kind: AutoRunKind) -> re.Pattern[str]:
    """Return what matches the folders that files of a kind lie in by their names: `a` of `a/b`."""
    inner = (name.rstrip("/").split("/") for name in kind.names.split())
    return _below(_regex("/".join(parts[:count]) for parts in inner for count in range(1, len(parts))))


_KINDS = [
    (kind, _of_kind(kind), _around(kind))
    for level in ("waits", "asks", "named")
    for kind in AUTO_RUN_KINDS
    if kind.level == level
]
_ASKED = [name for kind in AUTO_RUN_KINDS if kind.level != "named" for name in kind.names.split()] + [".git/"]
_WAITING = [name for kind in AUTO_RUN_KINDS if kind.waits for name in kind.names.split()]
_ASKED_PATH = _below(_regex(_ASKED))
_WAITING_START = re.compile(_regex(name.partition("/")[0] for name in _WAITING))

ASKED_NAMES = tuple(sorted({name.partition("/")[0].replace("*", "").casefold() for name in _ASKED}))
"""What the paths begin with that mode auto asks about, for words of a command that are patterns."""


def auto_run_kind(path: str, *, is_folder: bool = False) -> AutoRunKind | None:
    """Return the kind of a path in a workspace; a stricter one first, as a path may have several.

    A folder, and a link that may lead to one, counts as what may lie in it by its name.
    """
    folded = path.casefold()
    return next(
        (
            kind
            for kind, pattern, around in _KINDS
            if pattern.fullmatch(folded) or (is_folder and around.fullmatch(folded))
        ),
        None,
    )


def is_asked(path: str) -> bool:
    """Return True if mode auto asks before a path is written, whatever its case."""
    return _ASKED_PATH.fullmatch(path.casefold()) is not None


def may_begin_waiting(name: str) -> bool:
    """Return True if the next step may wait for a file of this name, or for one in a folder of it."""
    return _WAITING_START.fullmatch(name.casefold()) is not None


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
