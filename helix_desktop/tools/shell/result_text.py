"""The header of a command's output: how it ended."""

from __future__ import annotations

import signal

from helix_desktop.tools.process.runner import ProcessResult

_SHELL_SIGNAL = 128  # a shell, and bubblewrap, end with this and the signal's number
_MAX_NAMED = 8
MAX_TIMEOUT_S = 1_800


def describe_result(result: ProcessResult, timeout_s: int, sandbox_note: str, spill_path: str) -> str:
    """Return the header of an output; `spill_path` is the file with all of it."""
    lines = [f"{_end(result, timeout_s)} ({sandbox_note})", *_left(result), *_cut(result, spill_path)]
    return "\n".join(lines) + "\n" + ("" if result.output else "(no output)\n")


def _end(result: ProcessResult, timeout_s: int) -> str:
    if result.ending == "late":
        more = f"timeout_s can be up to {MAX_TIMEOUT_S}"
        return f"no exit code: its time limit of {timeout_s} s ended it and all it had started; {more}"
    if result.ending == "stopped":
        return "no exit code: the user stopped it and all it had started; this is its output until then"
    if result.ending == "cut off":
        return "no exit code: its turn ended, and all it had started with it; this is its output until then"
    code = result.exit_code or 0
    if code < 0:
        return f"exit code {code}, ended by {_signal(-code)}"
    if code > _SHELL_SIGNAL and _signal(code - _SHELL_SIGNAL):
        return f"exit code {code}, as after {_signal(code - _SHELL_SIGNAL)}"
    return f"exit code {code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _left(result: ProcessResult) -> list[str]:
    if not result.orphan_names:
        return []
    more = (
        f" and {len(result.orphan_names) - _MAX_NAMED} more" if len(result.orphan_names) > _MAX_NAMED else ""
    )
    return [f"(left in the background, and ended: {'; '.join(result.orphan_names[:_MAX_NAMED])}{more})"]


def _cut(result: ProcessResult, spill_path: str) -> list[str]:
    if not result.dropped_bytes:
        return []
    cut = f"({result.dropped_bytes:,} bytes in the middle of the output are not shown"
    if not result.spilled_bytes:
        return [f"{cut}, and could not be kept)"]
    part = "all" if result.is_spill_complete else f"the first {result.spilled_bytes:,} bytes"
    return [f"{cut}; {part} of it is in {spill_path} until this workspace is closed)"]
