"""Languages that nobody speaks: they show what never reached the catalog or does not fit.

Each leaves placeholders as they are, because facts are not translated, and changes every letter around them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping

from texts.extract import Entry
from texts.ts_file import Translation

LONG = "en_XA"
CHINESE = "zh_XB"
"""Their codes: the longest of European languages, and one without spaces."""

_KEEP = re.compile(r"(\{[^{}]*\}|%n|&(?=\w)|\{\{|\}\})")
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ACCENTED = "àƀçđéƒĝħîĵķļɱñöþǫŕšţûṽŵẋýžÀƁÇĐÉƑĜĦÎĴĶĻṀÑÖÞǪŔŠŢÛṼŴẊÝŽ"
_ACCENTS = str.maketrans(_PLAIN, _ACCENTED)
_LONG_WORD = 11  # letters of the words that it grows by
_GROWTH = 0.5  # German and Finnish need about a third more than English, short labels up to twice as much
_CHINESE_CHARACTERS = "上下文缓存消息会话模型工作区摘要观察压缩恢复设置文件夹搜索复制打开关闭时间线预算"
_ENDINGS = {
    ".": "\N{IDEOGRAPHIC FULL STOP}",
    "…": "…",
    ":": "\N{FULLWIDTH COLON}",
    "?": "\N{FULLWIDTH QUESTION MARK}",
}
_CHINESE_SHARE = 0.6  # of the English characters: what Chinese needs, and its glyphs are about twice as wide


def pseudo_long(entry: Entry) -> Translation:
    """Return a text with accents on every letter, half as long again, in brackets that show a cut."""
    forms = [f"[{_accented(text)}{_padding(text)}]" for text in _texts(entry)]
    return Translation(tuple(forms))


def pseudo_chinese(entry: Entry) -> Translation:
    """Return a text in Chinese characters without meaning, as long as Chinese would be."""
    text = _texts(entry)[-1]  # Chinese has one form for every number
    return Translation((_replace(text, _chinese),))


LANGUAGES: Mapping[str, Callable[[Entry], Translation]] = {
    LONG: pseudo_long,
    CHINESE: pseudo_chinese,
}
"""What each of them makes of a text."""


def _texts(entry: Entry) -> list[str]:
    return [entry.singular, entry.source] if entry.singular else [entry.source]


def _accented(text: str) -> str:
    return _replace(text, lambda part: part.translate(_ACCENTS))


def _padding(text: str) -> str:
    missing = round(len(_KEEP.sub("", text)) * _GROWTH)
    full, rest = divmod(missing, _LONG_WORD + 1)
    return (" " + "~" * _LONG_WORD) * full + (" " + "~" * (rest - 1) if rest > 1 else "~" * rest)


def _chinese(part: str) -> str:
    if not any(letter.isalpha() for letter in part):
        return part
    length = max(1, round(len(part.strip()) * _CHINESE_SHARE))
    start = sum(map(ord, part)) % len(_CHINESE_CHARACTERS)
    characters = itertools.islice(itertools.cycle(_CHINESE_CHARACTERS), start, start + length)
    ending = part.rstrip()[-1:]
    return "".join(characters) + _ENDINGS.get(ending, "")


def _replace(text: str, change: Callable[[str], str]) -> str:
    """Return `text` with every part that is no placeholder changed."""
    parts = _KEEP.split(text)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))
