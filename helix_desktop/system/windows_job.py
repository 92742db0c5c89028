"""Windows job objects: processes that are ended together, also when the owner of the job dies."""

from __future__ import annotations

import sys
from pathlib import PureWindowsPath

NO_WINDOW = 0x08000000
"""CREATE_NO_WINDOW: otherwise each console program started from a window would open a console."""

SUSPENDED = 0x00000004
"""CREATE_SUSPENDED: runs only after `Job.take`, so that it cannot start anything outside of the job."""

_SYSTEMS_OWN = frozenset({"conhost.exe"})  # the console host that Windows starts with a program

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _EXTENDED, _PIDS = 9, 3  # kinds of information about a job
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
            """The names of the programs that run in the job."""
            if not self._handle:
                return ()
            pid_list = _Pids()
            _kernel.QueryInformationJobObject(
                self._handle, _PIDS, ctypes.byref(pid_list), ctypes.sizeof(pid_list), None
            )
            names = (_name(pid) for pid in pid_list.pids[: pid_list.listed])
            return tuple(name for name in names if name.lower() not in _SYSTEMS_OWN)

        def end(self) -> None:
            """End all processes of the job."""
            if self._handle:
                _kernel.TerminateJobObject(self._handle, 1)

        def close(self) -> None:
            """End all processes of the job, and close it."""
            handle, self._handle = self._handle, None
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
            path, size = ctypes.create_unicode_buffer(_LONGEST_PATH), wintypes.DWORD(_LONGEST_PATH)
            succeeded = _kernel.QueryFullProcessImageNameW(process, 0, path, ctypes.byref(size))
            return PureWindowsPath(path.value).name if succeeded else f"process {pid}"
        finally:
            _kernel.CloseHandle(process)
