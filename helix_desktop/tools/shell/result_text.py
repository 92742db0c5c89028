"""The header of a command's output: how it ended."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Sequence
from itertools import islice

from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.process.runner import ProcessResult

_SHELL_SIGNAL = 128  # a shell, and bubblewrap, end with this and the signal's number
_MAX_NAMED = 8
MAX_TIMEOUT_S = 1_800
_PATH = re.compile(r"""(?<![\w.~/:])(?:~|\.\.)?/[^\s:'"`,;()<>\[\]{}|*?\\\0]+""")
_SEARCHED_BYTES = 64 * 1024  # at the end of an output
_MAX_PATHS = 200


def describe_result(
    result: ProcessResult, timeout_s: int, sandbox_note: str, spill_path: str, hidden: Sequence[str] = ()
) -> str:
    """Return the header of an output; `spill_path` is the file with all of it.

    `hidden` are the paths in it that are there, but not for sandboxed commands.
    """
    end = f"{_end(result, timeout_s)} ({sandbox_note})"
    lines = [end, *_left(result), *_cut(result, spill_path), *_hidden(hidden)]
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


def paths_in(output: bytes, folder: str, home: str) -> Iterator[str]:
    """Yield the absolute paths that an output names, those below `~` and `..` completed; at most 200."""
    text = output[-_SEARCHED_BYTES:].decode(errors="surrogateescape")
    for name in dict.fromkeys(islice((match[0] for match in _PATH.finditer(text)), _MAX_PATHS)):
        path = home + name[1:] if name.startswith("~") else name
        yield os.path.normpath(os.path.join(folder, path.rstrip(".")))


def _hidden(paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    names = ", ".join(escape_hidden_name(path) for path in paths[:_MAX_NAMED])
    advice = "the user can show more of the home folder in Settings > Permissions"
    return [f"(hidden by the sandbox: {names}{more}; {advice})"]


def _cut(result: ProcessResult, spill_path: str) -> list[str]:
    if not result.dropped_bytes:
        return []
    cut = f"({result.dropped_bytes:,} bytes in the middle of the output are not shown"
    if not result.spilled_bytes:
        return [f"{cut}, and could not be kept)"]
    part = "all" if result.is_spill_complete else f"the first {result.spilled_bytes:,} bytes"
    return [f"{cut}; {part} of it is in {spill_path} until this workspace is closed)"]
