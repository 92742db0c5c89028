"""The words of the shell, and programs that run others, by name."""

from __future__ import annotations

SHELLS = frozenset({"ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"})
"""They run a script."""

WRAPPERS = frozenset({
    "builtin", "busybox", "chrt", "command", "doas", "dotenv", "entr", "env", "exec", "fakeroot", "flock",
    "gosu", "ionice", "ltrace", "nice", "nohup", "nsenter", "numactl", "prlimit", "runuser", "setarch",
    "setpriv", "setsid", "stdbuf", "strace", "sudo", "systemd-run", "taskset", "time", "timeout", "unshare",
    "valgrind", "xargs", "xvfb-run",
})  # fmt: skip
"""They run on this machine what their arguments name, once their own options are read."""

OTHER_RUNNERS = frozenset({"chroot", "eval", "parallel", "source", "ssh", "watch"})
"""They run what their arguments say, each in a way of its own."""

BEHIND_OPERAND = frozenset({"chroot", "chrt", "flock", "gosu", "setarch", "taskset"})
"""Wrappers whose first operand is not yet the program."""

PACKAGE_RUNNERS = frozenset({"npx", "bunx"})
RUNNING_ACTIONS = {
    "uv": ("run",), "poetry": ("run",), "pdm": ("run",), "hatch": ("run",), "pipx": ("run",),
    "bundle": ("exec",), "npm": ("exec", "x"), "pnpm": ("exec", "dlx"), "yarn": ("exec", "dlx"),
    "bun": ("x",),
}  # fmt: skip
"""What programs that install others run, by the words behind which it stands."""

RUNNERS = WRAPPERS | OTHER_RUNNERS - {"eval", "source"}
TEXT_RUNNERS = frozenset({"sed", "env"})
"""They run a part of a word."""
RUN_BY_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
RUN_BY_FD = frozenset({"-x", "--exec", "-X", "--exec-batch"})

MAKES, MAKEFILES = frozenset({"make", "gmake"}), frozenset({"Makefile", "makefile", "GNUmakefile"})
_PACKAGE = ("package.json",)
SCRIPTS_OF = {
    "make": tuple(sorted(MAKEFILES)), "gmake": tuple(sorted(MAKEFILES)), "just": ("justfile",),
    "npm": _PACKAGE, "pnpm": _PACKAGE, "yarn": _PACKAGE, "bun": _PACKAGE,
}  # fmt: skip
"""The files whose commands a program runs."""
LANGUAGES = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"})
"""Endings of scripts that no shell runs."""

KEYWORDS = frozenset({
    "then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "done", "fi", "coproc",
})  # fmt: skip
"""Words of the shell behind which a command may stand."""
BLOCK_STARTS = frozenset({"case", "for", "if", "select", "until", "while", "{"})
BLOCK_ENDS = frozenset({"done", "esac", "fi", "}"})
CLOSING = frozenset({"}", "done", "fi", ""})
REPLACING = frozenset({">", ">|", "&>", ">&", "<>"})
"""Operators that replace what is in a file."""
