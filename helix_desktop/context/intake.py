"""Intake: the shown form of an output that is too large to stand whole in the window."""

from __future__ import annotations

from helix_desktop.context.digest import handle

CHARS_PER_TOKEN = 3  # low estimate for code and logs, so that a preview stays under its budget
_HEAD_SHARE = 0.55
_TELLING = ("error", "exception", "traceback", "failed", "fatal", "panic:", "exit code")


def preview(text: str, digest: str, budget: int) -> str:
    """Head, telling lines (errors, exit codes) and tail in about `budget` tokens, then the marker."""
    room = max(budget, 60) * CHARS_PER_TOKEN
    if len(text) <= room:
        return text
    head = _whole_lines(text[: int(room * _HEAD_SHARE)], from_end=False)
    tail = _whole_lines(text[-int(room * (0.8 - _HEAD_SHARE)) :], from_end=True)
    middle = text[len(head) : len(text) - len(tail)]
    telling = _telling(middle, int(room * 0.2))
    gone = len(middle.removeprefix("\n").splitlines())
    parts = (head, f"[… {gone} lines not shown …]", telling, tail, handle(digest) + " the whole output")
    return "\n".join(part for part in parts if part)


def _whole_lines(text: str, from_end: bool) -> str:
    """`text` without the line that the cut went through, unless nothing else would be left."""
    whole = text.partition("\n")[2] if from_end else text.rpartition("\n")[0]
    return whole if whole.strip() else text


def _telling(text: str, room: int) -> str:
    """The first lines that speak of an error, at most `room` characters in all."""
    kept: list[str] = []
    for line in text.splitlines():
        if any(word in line.lower() for word in _TELLING):
            short = line.strip()[:200]
            room -= len(short) + 1
            if room < 0:
                break
            kept.append(short)
    return "\n".join(kept)
