"""A store at one moment, for work that takes long, and what may be staged into its next write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec
from helix_desktop.store.content import Contents
from helix_desktop.store.handle import View

Stage = Callable[[Batch, Codec, Contents], None]
"""Puts rows into a batch, or raises and leaves nothing."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A snapshot and what reads it; whoever works on it ends soon once `stop` is set."""

    view: View
    codec: Codec
    contents: Contents
    stop: threading.Event
