"""How a command ended, in the words that stand above its output."""

from __future__ import annotations

import signal

from helix_desktop.tools.process import Ran

_SHELL_SIGNAL = 128  # a shell, and bubblewrap, end with this and the signal's number
_MOST_NAMED = 8


def said(ran: Ran, timeout_s: int, walls: str, aside: str) -> str:
    """What happened beside the output; `walls` says what held it back, `aside` where all of it stands."""
    lines = [f"{_end(ran, timeout_s)} ({walls})", *_left(ran), *_cut(ran, aside)]
    return "\n".join(lines) + "\n" + ("" if ran.output else "(no output)\n")


def _end(ran: Ran, timeout_s: int) -> str:
    if ran.how == "late":
        return f"no exit code: ended with all it had started after {timeout_s} s, its time limit"
    if ran.how == "stopped":
        return "no exit code: the user stopped it and all it had started; this is its output until then"
    code = ran.exit_code or 0
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


def _left(ran: Ran) -> list[str]:
    if not ran.left:
        return []
    more = f" and {len(ran.left) - _MOST_NAMED} more" if len(ran.left) > _MOST_NAMED else ""
    return [f"(left in the background, and ended: {'; '.join(ran.left[:_MOST_NAMED])}{more})"]


def _cut(ran: Ran, aside: str) -> list[str]:
    if not ran.dropped:
        return []
    cut = f"({ran.dropped:,} bytes in the middle of the output are not shown"
    if not ran.aside:
        return [f"{cut}, and could not be kept)"]
    part = "all" if ran.aside_whole else f"the first {ran.aside:,} bytes"
    return [f"{cut}; {part} of it is in {aside} until this workspace is closed)"]
