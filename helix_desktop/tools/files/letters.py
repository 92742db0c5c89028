"""Letters with marks, which Unicode writes composed (é) or decomposed (e and U+0301): both look the same.

Models write composed letters; file names and texts that come from macOS often have decomposed ones.
"""

from __future__ import annotations

import re
from unicodedata import combining, normalize


def composed(text: str) -> str:
    """Return a text in its composed form, in which two texts that look the same are equal."""
    return normalize("NFC", text)


def in_either_form(pattern: str) -> str:
    """Return a regular expression that also matches the other form of each letter in `pattern`.

    `pattern` is a regular expression without sets of characters.
    """
    parts: list[str] = []
    for cluster in _clusters(composed(pattern)):
        decomposed = normalize("NFD", cluster)
        parts.append(cluster if decomposed == cluster else f"(?:{cluster}|{decomposed})")
    return "".join(parts)


def _clusters(text: str) -> list[str]:
    """Return the characters of a text, each with the marks that follow it."""
    clusters: list[str] = []
    for sign in text:
        if clusters and combining(sign):
            clusters[-1] += sign
        else:
            clusters.append(sign)
    return clusters


def find_in_either_form(text: str, searched: str) -> list[str]:
    """Return the different spellings in which `searched` stands in a text."""
    return sorted(set(re.findall(in_either_form(re.escape(searched)), text)))


def written_like(example: str, text: str) -> str:
    """Return a text with its letters in the form of an example that has letters with marks."""
    is_decomposed = normalize("NFD", example) == example
    return normalize("NFD" if is_decomposed else "NFC", text)


def letters_note(example: str) -> str:
    """Return in a few words which form the letters of an example have."""
    if normalize("NFD", example) == example:
        return "its letters are decomposed, as e + U+0301 in place of é"
    return "its letters are composed, as é in place of e + U+0301"
