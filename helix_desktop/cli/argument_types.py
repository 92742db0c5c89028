"""Types of command-line arguments: each function parses one value, or raises ArgumentTypeError."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path

from helix_desktop.domain.digest import is_digest_prefix
from helix_desktop.domain.files.mention import parse_lines
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

MIN_WINDOW_TOKENS = 1_000  # tokens: less does not hold the tools' descriptions
MAX_JOBS = 64
MAX_PORT = 65_535
MAX_PIXELS = 8_192

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_TIME = re.compile(r"(\d+)\s*([hdw])", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def path(text: str) -> Path:
    """Parse a path."""
    if not text.strip():  # Path("") is the current folder, which an unset variable of a script does not mean
        raise argparse.ArgumentTypeError(tr("must not be empty"))
    return Path(text)


def attached_file(text: str) -> tuple[Path, int, int]:
    """Parse a file and its lines, such as `app.py:10-40`; 0, 0 for the whole one."""
    if (file := path(text)).exists():
        return file, 0, 0
    name, first_line, last_line = parse_lines(text)
    return path(name), first_line, last_line


def non_empty_text(text: str) -> str:
    """Parse a text that is not blank."""
    if not text.strip():
        raise argparse.ArgumentTypeError(tr("must not be empty"))
    return text


def window_tokens(text: str) -> int:
    """Parse the size of a model's window, in tokens."""
    if not text.isdecimal() or int(text) < MIN_WINDOW_TOKENS:
        raise argparse.ArgumentTypeError(_expected_number(MIN_WINDOW_TOKENS, text))
    return int(text)


def token_budget(text: str) -> int:
    """Parse a number of tokens; 0 means no limit."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(
            tr(
                "must be a number of tokens, such as {example} (got {value})",
                example="200000",
                value=repr(text),
            )
        )
    return int(text)


def pixels(text: str) -> tuple[int, int]:
    """Parse a size in pixels, such as `1024x680`."""
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal() and 1 <= int(width) <= MAX_PIXELS >= int(height) >= 1):
        raise argparse.ArgumentTypeError(
            tr("must be a size, such as {example} (got {value})", example="1024x680", value=repr(text))
        )
    return int(width), int(height)


def seconds(text: str) -> float:
    """Parse a duration in seconds."""
    value = _float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(tr("must be a number of seconds (got {value})", value=repr(text)))
    return value


def usd(text: str) -> float:
    """Parse an amount of US dollars."""
    amount = _float(text)
    if not 0 <= amount < math.inf:
        raise argparse.ArgumentTypeError(
            tr(
                "must be an amount in US dollars, such as {example} (got {value})",
                example="2.50",
                value=repr(text),
            )
        )
    return amount


def fraction(text: str) -> float:
    """Parse a share from 0 to 1."""
    value = _float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(tr("must be a number from 0 to 1 (got {value})", value=repr(text)))
    return value


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # lies in no range


def number_between(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return what parses an integer of a range."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not minimum <= int(text) <= maximum:
            raise argparse.ArgumentTypeError(
                tr(
                    "must be a number from {minimum} to {maximum} (got {value})",
                    minimum=minimum,
                    maximum=maximum,
                    value=repr(text),
                )
            )
        return int(text)

    return parse


def count(text: str) -> int:
    """Parse an integer of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(_expected_number(0, text))
    return int(text)


def event_number(text: str) -> int:
    """Parse the number of an event: `39` or `e39`."""
    digits = text.removeprefix("e")
    if not digits.isdecimal() or not int(digits):
        raise argparse.ArgumentTypeError(
            tr("must be the number of an event such as e39 (got {value})", value=repr(text))
        )
    return int(digits)


def positive_count(text: str) -> int:
    """Parse an integer of at least 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(_expected_number(1, text))
    return int(text)


def _expected_number(minimum: int, text: str) -> str:
    return tr("must be a number ≥ {minimum} (got {value})", minimum=minimum, value=repr(text))


def port(text: str) -> int:
    """Parse a port; 0 means any free one."""
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(
            tr("must be a port from 0 to {maximum} (got {value})", maximum=str(MAX_PORT), value=repr(text))
        )
    return int(text)


def byte_count(text: str) -> int:
    """Parse a size such as `2GB` or `500 MB` into bytes; 1 KB is 1,024 bytes."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(
            tr("must be a size such as 500MB or 2GB (got {value})", value=repr(text))
        )
    return max(1, round(float(match[1]) * _FACTORS[match[2].upper()]))


def duration_ms(text: str) -> int:
    """Parse a duration such as `12h`, `30d` or `4w` into milliseconds."""
    match = _TIME.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise argparse.ArgumentTypeError(
            tr("must be a time such as 12h, 30d or 4w (got {value})", value=repr(text))
        )
    # Every start of the window parses its arguments; the structs of the store are not for it.
    from helix_desktop.domain.store.retention import DAY_MS, HOUR_MS

    return int(match[1]) * {"h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS}[match[2].lower()]


def hash_prefix(text: str) -> str:
    """Parse the first digits of a hash, or all of them; return them in lower case."""
    if not is_digest_prefix(text.lower()):
        raise argparse.ArgumentTypeError(
            tr("must be 1 to 64 hex digits (got {value})", value=repr(text[:70]))
        )
    return text.lower()
