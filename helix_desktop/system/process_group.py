"""The process group of a started program: it and all that it starts, ended together; job objects on Windows.

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
from pathlib import PureWindowsPath
from typing import Any, Literal

NO_WINDOW = 0x08000000
"""CREATE_NO_WINDOW: otherwise each console program started from a window would open a console."""

SUSPENDED = 0x00000004
"""CREATE_SUSPENDED: runs only after `Job.take`, so that it cannot start anything outside of the job."""

_SYSTEMS_OWN = frozenset({"conhost.exe"})  # the console host that Windows starts with a program

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    # Kinds of information about a job.
    _EXTENDED = 9
    _PIDS = 3
    _KILL_ON_CLOSE = 0x2000
    _MAX_PIDS = 4096
    _MAY_ASK = 0x1000  # PROCESS_QUERY_LIMITED_INFORMATION
    _LONGEST_PATH = 32768

    class _Limits(ctypes.Structure):
        """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

        _fields_ = (
            ("times", ctypes.c_int64 * 2),
            ("flags", wintypes.DWORD),
            ("working_set", ctypes.c_size_t * 2),
            ("processes", wintypes.DWORD),
            ("affinity", ctypes.c_size_t),
            ("priority", wintypes.DWORD),
            ("scheduling", wintypes.DWORD),
            ("counters", ctypes.c_uint64 * 6),
            ("memory", ctypes.c_size_t * 4),
        )

    class _Pids(ctypes.Structure):
        """JOBOBJECT_BASIC_PROCESS_ID_LIST."""

        _fields_ = (
            ("assigned", wintypes.DWORD),
            ("listed", wintypes.DWORD),
            ("pids", ctypes.c_size_t * _MAX_PIDS),
        )

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _ntdll = ctypes.WinDLL("ntdll")
    _kernel.CreateJobObjectW.restype = wintypes.HANDLE
    _kernel.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
    _kernel.SetInformationJobObject.argtypes = (
        wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD,
    )  # fmt: skip
    _kernel.QueryInformationJobObject.argtypes = (
        wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD, wintypes.LPVOID,
    )  # fmt: skip
    _kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    _kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
    _kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
    _kernel.OpenProcess.restype = wintypes.HANDLE
    _kernel.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    _kernel.QueryFullProcessImageNameW.argtypes = (
        wintypes.HANDLE, wintypes.DWORD, wintypes.LPWSTR, ctypes.POINTER(wintypes.DWORD),
    )  # fmt: skip
    _ntdll.NtResumeProcess.argtypes = (wintypes.HANDLE,)

    class Job:
        """A job with a process that was started suspended, and all its descendants."""

        def __init__(self) -> None:
            self._handle: int | None = _kernel.CreateJobObjectW(None, None)
            if not self._handle:
                raise ctypes.WinError(ctypes.get_last_error())
            limits = _Limits(flags=_KILL_ON_CLOSE)
            _kernel.SetInformationJobObject(
                self._handle, _EXTENDED, ctypes.byref(limits), ctypes.sizeof(limits)
            )

        def take(self, process: int) -> None:
            """Assign a suspended process, by its handle, to the job and resume it.

            A process that is gone, or that an older Windows refuses in a second job, runs outside.
            """
            if self._handle:
                _kernel.AssignProcessToJobObject(self._handle, process)
            _ntdll.NtResumeProcess(process)

        @property
        def names(self) -> tuple[str, ...]:
            if not self._handle:
                return ()
            pid_list = _Pids()
            _kernel.QueryInformationJobObject(
                self._handle, _PIDS, ctypes.byref(pid_list), ctypes.sizeof(pid_list), None
            )
            names = (_name(pid) for pid in pid_list.pids[: pid_list.listed])
            return tuple(name for name in names if name.lower() not in _SYSTEMS_OWN)

        def end(self) -> None:
            if self._handle:
                _kernel.TerminateJobObject(self._handle, 1)

        def close(self) -> None:
            """End all processes of the job, and close it."""
            handle = self._handle
            self._handle = None
            if handle:
                _kernel.TerminateJobObject(handle, 1)
                _kernel.CloseHandle(handle)

        def __del__(self) -> None:
            self.close()

    def _name(pid: int) -> str:
        process = _kernel.OpenProcess(_MAY_ASK, False, pid)
        if not process:
            return f"process {pid}"
        try:
            path = ctypes.create_unicode_buffer(_LONGEST_PATH)
            size = wintypes.DWORD(_LONGEST_PATH)
            succeeded = _kernel.QueryFullProcessImageNameW(process, 0, path, ctypes.byref(size))
            return PureWindowsPath(path.value).name if succeeded else f"process {pid}"
        finally:
            _kernel.CloseHandle(process)


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
            self._job = Job()
            self._transport: asyncio.SubprocessTransport | None = None

        def argv(self, argv: Sequence[str], variable: str = "") -> tuple[str, ...]:
            """Return `argv`: the job is the guard."""
            return tuple(argv)

        @property
        def start_options(self) -> dict[str, Any]:
            return {"creationflags": NO_WINDOW | SUSPENDED}

        def attach(self, transport: asyncio.SubprocessTransport) -> None:
            """Add the started program to the group, and resume it."""
            self._transport = transport
            self._job.take(int(transport.get_extra_info("subprocess")._handle))

        @property
        def names(self) -> tuple[str, ...]:
            return self._job.names

        def terminate(self) -> None:
            """Kill the group: there is no polite way."""
            self.kill()

        def kill(self) -> None:
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
