"""The programs that run other programs, by name."""

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
