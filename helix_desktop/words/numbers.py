"""Tokens, sizes, money and shares as text: one form everywhere, so that one number looks like one."""

from __future__ import annotations

import re

from helix_desktop.words.translation import Translator, current_language

tr = Translator("Numbers")

_NO_BREAK_AT = re.compile(r"(?<=\d) (?=%|[KMG]?B\b|m?s\b|min\b)|(?<=≈) (?=\$?\d)| (?=· )")
_OPTION = re.compile(r"(?<!\S)--\w[\w-]{0,28}(?![\w-])")  # a longer one would need more room than there is
_NO_BREAK = "\N{NO-BREAK SPACE}"
_THOUSAND = 1_000
_MILLION = 1_000_000
_BILLION = 1_000_000_000
_KILO = 1024


def format_integer(number: int) -> str:
    return current_language().show_fact(number)


def format_tokens(tokens: int, *, in_column: bool = False) -> str:
    """Return a number of tokens as people write it: `812`, `14.6k`, `128k`, `1.24M`, `12.30B`.

    `in_column` keeps the decimal of `5.0k`, so that those of a column stand below each other.
    """
    if tokens < 0:
        return "\N{MINUS SIGN}" + format_tokens(-tokens, in_column=in_column)
    if tokens < _THOUSAND:
        return str(tokens)
    if tokens < 99_950:  # noqa: PLR2004 - from here one decimal would read 100.0k
        thousands = tokens / _THOUSAND
        return tr("{number}k", number=_localized(f"{thousands:.1f}") if in_column else _shortened(thousands))
    if tokens < 999_500:  # noqa: PLR2004 - from here whole thousands would read 1000k
        return tr("{number}k", number=f"{tokens / _THOUSAND:.0f}")
    if tokens < 999_995_000:  # noqa: PLR2004 - from here two decimals would read 1000.00M
        return tr("{number}M", number=_localized(f"{tokens / _MILLION:.2f}"))
    return tr("{number}B", number=_localized(f"{tokens / _BILLION:.2f}"))


def format_window(tokens: int) -> str:
    """Return the size of a context window: `32k`, `200k`, `1M`, `1.05M`."""
    if tokens < 999_500:  # noqa: PLR2004 - from here whole thousands would read 1000k
        return format_tokens(tokens)
    millions = f"{tokens / _MILLION:.2f}".rstrip("0").rstrip(".")
    return tr("{number}M", number=_localized(millions))


def format_token_count(tokens: int) -> str:
    """Return a number of tokens with its word: `1 token`, `14.6k tokens`."""
    number = format_tokens(tokens)
    return tr("{tokens} token", tokens=number) if abs(tokens) == 1 else tr("{tokens} tokens", tokens=number)


def format_token_difference(tokens: int, *, in_column: bool = False) -> str:
    """Return a difference in tokens, with its sign: `+312`."""
    number = format_tokens(tokens, in_column=in_column)
    return f"+{number}" if tokens > 0 else number


def format_token_change(before: int, after: int) -> str:
    """Return what became of a number of tokens: `104k → 31.4k tokens`."""
    return tr("{before} → {after} tokens", before=format_tokens(before), after=format_tokens(after))


def format_percent(share: float) -> str:
    """Return a share of 1 in percent: `85 %`, `37.5 %`."""
    return tr("{number} %", number=_localized(f"{share * 100:.4g}"))


def format_whole_percent(share: float, *, is_estimated: bool = False) -> str:
    """Return a share of 1, not below 0, in whole percent: `85 %`, `≈ 85 %`; `< 1 %` for a small one."""
    percent = round(share * 100)
    if share > 0 and not percent:
        return tr("< {number} %", number="1")
    text = tr("{number} %", number=format_integer(percent))
    return f"≈ {text}" if is_estimated else text


def format_size(size: int) -> str:
    """Return a size in bytes as people write it: `812 B`, `18 KB`, `2.4 MB`, `2 GB`."""
    if size < _KILO:
        return tr("{number} B", number=str(size))
    if size < (_KILO - 0.5) * _KILO:  # from here it would read 1024 KB
        return tr("{number} KB", number=str(max(1, round(size / _KILO))))
    if size < (_KILO - 0.05) * _KILO**2:
        return tr("{number} MB", number=_shortened(size / _KILO**2))
    return tr("{number} GB", number=_shortened(size / _KILO**3))


def format_usd(amount: float) -> str:
    """Return US dollars: `$12.30`, and with four decimals below ten cents: `$0.0042`."""
    show = current_language().show_decimal
    if 0 < amount < 0.0001:  # noqa: PLR2004 - a figure of zeros says nothing
        return tr("< ${amount}", amount=show(0.0001, 4))
    is_small = 0 < amount < 0.09995  # noqa: PLR2004 - ten cents, as four decimals round
    return tr("${amount}", amount=show(amount, 4 if is_small else 2))


def keep_units(text: str) -> str:
    """Return a text for lines in which no number is parted from its unit; none of them begins with a dot."""
    return _NO_BREAK_AT.sub(_NO_BREAK, text)


def keep_options(text: str) -> str:
    """Return a text for lines in which no option of a command is parted at its hyphens."""
    return _OPTION.sub(lambda option: option[0].replace("-", "\N{NON-BREAKING HYPHEN}"), text)


def _shortened(number: float) -> str:
    """Return a number with one decimal, or none where that would be a zero."""
    return _localized(f"{number:.1f}".removesuffix(".0"))


def _localized(number: str) -> str:
    """Return a number written in English as the user's language writes it."""
    _, _, decimals = number.partition(".")
    return current_language().show_decimal(float(number), len(decimals)) if decimals else number
