"""What a user said in a message, without what programs put into it: commands, and what they print."""

from __future__ import annotations

import re

_PUT_IN = re.compile(
    r"<(local-command-[a-z]{1,20}|command-(?:name|message|args|contents)|bash-(?:input|stdout|stderr)"
    r"|system-reminder)>.{0,4000}?</\1>",
    re.DOTALL,
)
_COMMAND = re.compile(r"\s*/[\w-]{1,40}\s*")


def typed_text(text: str) -> str:
    """Return a message's own words; empty for a message that is a command such as `/exit`."""
    words = _PUT_IN.sub("", text).strip() if "</" in text else text
    return "" if _COMMAND.fullmatch(words) else words
