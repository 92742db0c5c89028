"""The mode of a session: what the agent may do without asking; no structs, every start needs it."""

from __future__ import annotations

from typing import Literal

PermissionMode = Literal["ask", "plan", "auto"]
"""How freely a session's agent acts: asks first, only reads and plans, or edits and runs confined."""
