"""The arguments of recall_cached_content."""

from __future__ import annotations

from typing import Annotated

import msgspec

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.arguments import Arguments, Line
from helix_desktop.tools.cache.line_matches import is_any_case
from helix_desktop.tools.cache.recall_limits import MAX_CONTEXT, MAX_TOKENS, MIN_TOKENS

_MAX_QUOTE = 80  # characters of a pattern that are quoted


class RecallArguments(Arguments, frozen=True):
    """A hash or entry numbers, and what of it: lines count from 1, start_char in start_line from 0.

    `max_tokens` and `context`, the lines around a match, depend on what is recalled if they are left out.
    """

    hash: str
    start_line: Line | None = None
    end_line: Line | None = None
    pattern: str = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=MIN_TOKENS, le=MAX_TOKENS)] | None = None
    start_char: Annotated[int, msgspec.Meta(ge=0)] = 0
    context: Annotated[int, msgspec.Meta(ge=0, le=MAX_CONTEXT)] | None = None

    @property
    def quoted_pattern(self) -> str:
        """Return the pattern as it was written, in one line."""
        return f"'{ellipsize(escape_hidden_name(self.pattern), _MAX_QUOTE)}'"

    @property
    def missed_pattern(self) -> str:
        """Return the quoted pattern, with a word on its case if that may be why nothing matches."""
        return self.quoted_pattern + ("" if is_any_case(self.pattern) else " (this case only)")
