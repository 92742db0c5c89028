"""The columns that cache entries are sorted by; no structs, every start needs them."""

from __future__ import annotations

from typing import Literal

SortColumn = Literal[
    "created", "used", "size", "stored", "tokens", "tool", "target", "line", "recalls", "references", "digest"
]
