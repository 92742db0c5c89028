"""Kinds of remedies that the app offers for an error: these are stored; their texts are made where shown."""

from __future__ import annotations

from typing import Literal

Remedy = Literal[
    "choose_model",
    "compact",
    "enter_key",
    "new_session",
    "open_log",
    "policy_settings",
    "provider_settings",
    "send_as_message",
    "send_without_images",
    "set_budget",
    "trust_folder",
    "undo_compaction",
]
