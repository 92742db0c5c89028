"""The names under which servers' tools are exposed to the model."""

from __future__ import annotations

import hashlib
import re

from helix_desktop.domain.messages import MCP_PREFIX

MAX_NAME_CHARS = 64  # characters that every known provider takes
_DIGITS = 8


def exposed_name(server: str, tool: str) -> str:
    """Return `mcp__SERVER__TOOL`; a changed or shortened name ends with a hash of the tool's name."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", tool)
    name = f"{MCP_PREFIX}{server}__{plain}"
    if plain == tool and tool and len(name) <= MAX_NAME_CHARS:
        return name
    mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{name[: MAX_NAME_CHARS - _DIGITS - 1]}_{mark}"
