"""Notes by which the model learns of its permission mode, each once.

The mode is never told by another system prompt: the provider would read the whole request again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.events.conversation import UserSpoke

SENT_DURING_TURN = "[Sent while you worked: what you were asked before still holds unless this changes it]"
"""The note on a message that steers a turn: it stands behind an output, and would read as the only task."""

UNKNOWN_MODE = ""
"""The announced mode when the note that announced it left the window."""
_NOTES: Mapping[PermissionMode, str] = {
    "plan": (
        "[Mode: plan] Only read and search from now on: every call that would change something or run a "
        "command is refused. Find out what there is to know, then answer with a plan of what you would "
        "change and how you would check it."
    ),
    "auto": (
        "[Mode: auto] From now on edits of files in the workspace, and commands in the sandbox, run without "
        "the user being asked, unless they destroy what can't be undone. Whatever else needs approval still "
        "waits for it."
    ),
    "ask": "[Mode: ask] Changes and commands are possible from now on; the user is asked about each.",
}
REFUSED_IN_PLAN = (
    "Refused: the session is in mode plan, in which nothing is changed and no command is run. Do not try it "
    "in another way. Say what you would do here as a part of your plan, and go on reading if you need to."
)


def mode_note(announced_mode: PermissionMode | str, mode: PermissionMode) -> str:
    """Return the note on the mode for the next message; empty if the model knows this mode."""
    return "" if announced_mode == mode else _NOTES[mode]


def newest_mode_note(items: Sequence[LogItem]) -> str:
    """Return the newest note on a mode with one of these messages; empty if there is none.

    What replaces the messages in the window repeats it: it is in force until another one says otherwise.
    """
    for item in reversed(items):
        event = item.event
        if isinstance(event, UserSpoke) and announces_mode(event.note, event.mode):
            return event.note.partition("\n")[0]
    return ""


def announces_mode(note: str, mode: PermissionMode) -> bool:
    return note.startswith(f"[Mode: {mode}]")
