"""What a revert may leave at a path; no structs, every start needs it."""

from __future__ import annotations

from typing import Literal

RevertChoice = Literal["former", "present", "merged"]
"""What shall stand at a path: what was there before the change, what is there now, or both merged."""
