"""Types of command-line arguments: each function parses one value, or raises ArgumentTypeError."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

MIN_WINDOW_TOKENS = 1_000  # tokens: less does not hold the tools' descriptions
MAX_WINDOW_TOKENS = 1_000_000_000
MAX_TOKENS = 1_000_000_000_000  # of a budget: more is a slip of the keyboard, as with the next ones
MAX_USD = 1_000_000
MAX_SECONDS = 7 * 86_400
MAX_COUNT = 1_000_000_000  # events, lines and results
MAX_YEARS = 100
MAX_PORT = 65_535

_MAX_DIGITS = 15  # of a number that is read; no limit here has as many
_MAX_QUOTED = 71  # characters of a wrong value in its error, with the ellipsis
_MAX_BYTES = 1 << 60
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_TIME = re.compile(r"(\d+)\s*([hdw])", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def path(text: str) -> Path:
    if not text.strip():  # Path("") is the current folder, which an unset variable of a script does not mean
        raise argparse.ArgumentTypeError(tr("must not be empty"))
    return Path(text)


class SinglePath(argparse.Action):
    """Stores a path; refuses another one, typed before and after a command for instance."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        earlier = getattr(namespace, self.dest, None)
        if earlier not in (None, values):
            raise argparse.ArgumentError(
                self, tr("must be one folder (got {first} and {second})", first=earlier, second=values)
            )
        setattr(namespace, self.dest, values)


def attached_file(text: str) -> tuple[Path, int, int]:
    """Parse a file and its lines, such as `app.py:10-40`; 0, 0 for the whole one."""
    if (file := path(text)).exists():
        return file, 0, 0
    from helix_desktop.domain.files.mention import parse_line_range

    name, first_line, last_line = parse_line_range(text)
    if last_line < first_line:
        reversed_lines = f"{name}:{last_line}-{first_line}"
        raise argparse.ArgumentTypeError(
            tr("its lines end before they begin; write {file}", file=escape_hidden_name(reversed_lines))
        )
    return path(name), first_line, last_line


def non_empty_text(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(tr("must not be empty"))
    return text


class NonEmptyText(argparse.Action):
    """Stores a text that is not blank; for options with an empty default, which a type would refuse."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        # From an unset variable of a script: as if it were left out, it does other things.
        if not values.strip():
            raise argparse.ArgumentError(self, tr("must not be empty"))
        setattr(namespace, self.dest, values)


def number_between(minimum: int, maximum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = _integer(text)
        if number is None or not minimum <= number <= maximum:
            raise argparse.ArgumentTypeError(
                tr(
                    "must be a number from {minimum} to {maximum} (got {value})",
                    minimum=minimum,
                    maximum=maximum,
                    value=_quoted(text),
                )
            )
        return number

    return parse


window_tokens = number_between(MIN_WINDOW_TOKENS, MAX_WINDOW_TOKENS)
"""Parse the size of a model's window, in tokens."""
token_budget = number_between(0, MAX_TOKENS)
"""Parse a number of tokens; 0 means no limit."""
count = number_between(0, MAX_COUNT)
"""Parse an integer of at least 0."""
positive_count = number_between(1, MAX_COUNT)
"""Parse an integer of at least 1."""


def seconds(text: str) -> float:
    value = _float(text)
    if not 0 <= value <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            tr(
                "must be a number of seconds, at most {maximum} (got {value})",
                maximum=MAX_SECONDS,
                value=_quoted(text),
            )
        )
    return value


def usd(text: str) -> float:
    amount = _float(text)
    if not 0 <= amount <= MAX_USD:
        raise argparse.ArgumentTypeError(
            tr(
                "must be an amount in US dollars, such as {example}, at most {maximum} (got {value})",
                example="2.50",
                maximum=MAX_USD,
                value=_quoted(text),
            )
        )
    return amount


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # lies in no range


def _integer(text: str) -> int | None:
    """Return an integer of decimal digits; None if it is none, or longer than any that makes sense."""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _quoted(text: str) -> str:
    return repr(ellipsize(text, _MAX_QUOTED))


def event_number(text: str) -> int:
    """Parse the number of an event: `39` or `e39`."""
    number = _integer(text.removeprefix("e"))
    if not number:
        raise argparse.ArgumentTypeError(
            tr("must be the number of an event such as e39 (got {value})", value=_quoted(text))
        )
    return number


def session_id(text: str) -> str:
    """Parse the id of a session, or its beginning."""
    prefix = text.strip().lower()
    if not re.fullmatch(r"[0-9a-f]{1,32}", prefix):
        raise argparse.ArgumentTypeError(
            tr("must be the ID of a session or its beginning (got {value})", value=_quoted(text))
        )
    return prefix


def port(text: str) -> int:
    """Parse a port; 0 means any free one."""
    number = _integer(text)
    if number is None or number > MAX_PORT:
        raise argparse.ArgumentTypeError(
            tr("must be a port from 0 to {maximum} (got {value})", maximum=str(MAX_PORT), value=_quoted(text))
        )
    return number


def byte_count(text: str) -> int:
    """Parse a size such as `2GB` or `500 MB` into bytes; 1 KB is 1,024 bytes."""
    match = _SIZE.fullmatch(text.strip())
    size = float(match[1]) * _FACTORS[match[2].upper()] if match is not None else 0.0
    if not 0 < size <= _MAX_BYTES:
        raise argparse.ArgumentTypeError(
            tr("must be a size such as 500MB or 2GB (got {value})", value=_quoted(text))
        )
    return max(1, round(size))


def duration_ms(text: str) -> int:
    """Parse a duration such as `12h`, `30d` or `4w` into milliseconds."""
    # Every start of the window parses its arguments; the structs of the store are not for it.
    from helix_desktop.domain.retention import DAY_MS, HOUR_MS

    match = _TIME.fullmatch(text.strip())
    number = _integer(match[1]) if match is not None else None
    if match is None or not number:
        raise argparse.ArgumentTypeError(
            tr("must be a time such as 12h, 30d or 4w (got {value})", value=_quoted(text))
        )
    duration = number * {"h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS}[match[2].lower()]
    if duration > MAX_YEARS * 365 * DAY_MS:
        raise argparse.ArgumentTypeError(
            tr("must be at most {years} years (got {value})", years=MAX_YEARS, value=_quoted(text))
        )
    return duration


def hash_prefix(text: str) -> str:
    """Parse the first digits of a hash, or all of them; return them in lower case."""
    from helix_desktop.domain.digest import is_digest_prefix

    if not is_digest_prefix(text.lower()):
        raise argparse.ArgumentTypeError(tr("must be 1 to 64 hex digits (got {value})", value=_quoted(text)))
    return text.lower()
