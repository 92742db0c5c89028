"""The process group of a started program: the program and all that it starts, ended together.

On Windows the group is a job object, which ends with this process. Elsewhere a guard does the same: a watcher
in the group waits on a pipe whose other end is ours, and kills the group when that end is closed, also
because this process is gone, however it ended. As long as the watcher waits, the group's id cannot be reused.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

from helix_desktop.system import windows_job

Guard = Literal["none", "stdin", "inherited"]
"""Where the guard's pipe is: nowhere, at standard input (then empty for the program), at another number."""

_WATCH_THEN_RUN = (
    "exec 3<{pipe}; ( ( read -r _ <&3; kill -9 -$$ ) </dev/null >/dev/null 2>&1 & ); exec 3<&-; "
    '[ -z "$1" ] || export "$1"; shift; exec "$@"'
)
"""A shell script that leaves the watcher in the group and then becomes the program.

The watcher is nobody's child, so that no program waits for it.
"""

if sys.platform == "win32":

    class ProcessGroup:
        """The group of a program: `attach` it when it is started, and `close` the group at the end."""

        def __init__(self, guard: Guard = "none") -> None:
            self._job = windows_job.Job()
            self._transport: asyncio.SubprocessTransport | None = None

        def argv(self, argv: Sequence[str], variable: str = "") -> tuple[str, ...]:
            """Return `argv`: the job is the guard."""
            return tuple(argv)

        @property
        def start_options(self) -> dict[str, Any]:
            """The options that `subprocess_exec` needs."""
            return {"creationflags": windows_job.NO_WINDOW | windows_job.SUSPENDED}

        def attach(self, transport: asyncio.SubprocessTransport) -> None:
            """Add the started program to the group, and resume it."""
            self._transport = transport
            self._job.take(int(transport.get_extra_info("subprocess")._handle))

        @property
        def names(self) -> tuple[str, ...]:
            """The names of the programs that run in the group, as far as the system tells."""
            return self._job.names

        def terminate(self) -> None:
            """Kill the group: there is no polite way."""
            self.kill()

        def kill(self) -> None:
            """Kill all processes of the group."""
            self._job.end()
            if self._transport is not None and self._transport.get_returncode() is None:
                self._transport.kill()  # no job could take it

        def close(self) -> None:
            """Kill what is left of the group, and release it."""
            self._job.close()

else:

    class ProcessGroup:
        """The group of a program: `attach` it when it is started, and `close` the group at the end."""

        def __init__(self, guard: Guard = "none") -> None:
            self._guard = guard
            self._read_fd, self._write_fd = os.pipe() if guard != "none" else (-1, -1)
            self._id = 0

        def argv(self, argv: Sequence[str], variable: str = "") -> tuple[str, ...]:
            """Return what to start for `argv`; the watcher does not get `variable`, a NAME=VALUE."""
            if self._guard == "none":
                return tuple(argv)
            pipe = "&0 </dev/null" if self._guard == "stdin" else f"/dev/fd/{self._read_fd}"
            return ("/bin/sh", "-c", _WATCH_THEN_RUN.format(pipe=pipe), "sh", variable, *argv)

        @property
        def start_options(self) -> dict[str, Any]:
            """The options that `subprocess_exec` needs; with a guard at `stdin` that is among them."""
            options: dict[str, Any] = {"start_new_session": True}
            if self._guard == "stdin":
                options["stdin"] = self._read_fd
            elif self._guard == "inherited":
                options["pass_fds"] = (self._read_fd,)
            return options

        def attach(self, transport: asyncio.SubprocessTransport) -> None:
            """Set the started program: its id is that of the group."""
            self._id = transport.get_pid()

        @property
        def names(self) -> tuple[str, ...]:
            """The names of the programs that run in the group, as far as the system tells: it does not."""
            return ()

        def terminate(self) -> None:
            """Ask all processes of the group to end."""
            self._signal(signal.SIGTERM)

        def kill(self) -> None:
            """Kill all processes of the group."""
            self._signal(signal.SIGKILL)

        def close(self) -> None:
            """Release the group; a guard kills what is left of it."""
            for descriptor in {self._read_fd, self._write_fd} - {-1}:
                os.close(descriptor)
            self._read_fd = self._write_fd = -1
            self._id = 0  # may be another group's from now on

        def _signal(self, number: signal.Signals) -> None:
            if self._id:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._id, number)
