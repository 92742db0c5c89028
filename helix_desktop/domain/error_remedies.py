"""What the app can do about an error, as kinds: these are stored; the words are made where they show."""

from __future__ import annotations

from typing import Literal

Remedy = Literal[
    "choose_model",
    "compact",
    "new_session",
    "open_log",
    "policy_settings",
    "provider_settings",
    "send_without_images",
    "set_budget",
    "trust_folder",
    "undo_compaction",
]
