"""The limits of what one recall returns, for the tool and the command alike."""

from __future__ import annotations

MIN_TOKENS, MAX_TOKENS = 100, 16_000
"""The least and most tokens of an answer."""
MAX_CONTEXT = 20
"""The most lines around a match."""
