"""The programs that run other programs, by name."""

from __future__ import annotations

SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})
"""They run a script."""

WRAPPERS = frozenset({
    "builtin", "busybox", "command", "doas", "env", "exec", "flock", "ionice", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "time", "timeout", "xargs",
})  # fmt: skip
"""They run on this machine what their arguments name, once their own options are read."""

OTHER_RUNNERS = frozenset({"chroot", "eval", "parallel", "source", "ssh", "watch"})
"""They run what their arguments say, each in a way of its own."""
