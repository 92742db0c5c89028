"""The words on the buttons of actions, and which remedies of an error have one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.translation import translate

text = TextContext("Actions")

ActionName: TypeAlias = (
    Remedy
    | Literal[
        "compact_again",
        "continue",
        "observe_again",
        "open_changes",
        "open_parent",
        "open_source",
        "redo",
        "retry",
        "stop",
        "timeline",
        "try_now",
        "undo",
    ]
)

_RETRY = text("Retry")
_LABELS: dict[ActionName, TranslatableText] = {
    "choose_model": text("Choose model…"),
    "compact": text("Compact conversation…"),
    "compact_again": _RETRY,
    "continue": text("Continue"),
    "enter_key": text("Enter API key…"),
    "new_session": text("New session"),
    "observe_again": _RETRY,
    "open_changes": text("Open in Changes"),
    "open_parent": text("Open parent session"),
    "open_source": text("Open source session"),
    "open_log": text("Open log folder"),
    "policy_settings": text("Open policy settings"),
    "provider_settings": text("Open provider settings"),
    "redo": text("Redo"),
    "retry": _RETRY,
    "send_as_message": text("Send as message"),
    "send_without_images": text("Send without images"),
    "send_without_output": text("Send without the output"),
    "set_budget": text("Set session budget…"),
    "stop": text("Stop"),
    "timeline": text("Details"),
    "trust_folder": text("Trust folder…"),
    "try_now": text("Retry now"),
    "undo": text("Undo"),
    "undo_compaction": text("Undo context change"),
}


def action_label(action: ActionName) -> str:
    return translate(_LABELS[action])


def supported_remedies(remedies: Iterable[str]) -> tuple[Remedy, ...]:
    """Return the remedies that this version can do: a log may name those of a later one."""
    supported: dict[str, Remedy] = {remedy: remedy for remedy in get_args(Remedy)}
    return tuple(supported[remedy] for remedy in remedies if remedy in supported)
