"""Tokens and shares as text: one form everywhere, so that one number looks like one."""

from __future__ import annotations

_THOUSAND, _MILLION = 1_000, 1_000_000


def format_tokens(tokens: int) -> str:
    """Return a number of tokens as people write it: `812`, `14.6k`, `128k`, `1.24M`."""
    sign, size = ("\N{MINUS SIGN}" if tokens < 0 else ""), abs(tokens)
    if size < _THOUSAND:
        return f"{sign}{size}"
    if size < 99_950:  # noqa: PLR2004 - from here one decimal would read 100.0k
        return f"{sign}{size / _THOUSAND:.1f}".removesuffix(".0") + "k"
    if size < 999_500:  # noqa: PLR2004 - from here whole thousands would read 1000k
        return f"{sign}{size / _THOUSAND:.0f}k"
    return f"{sign}{size / _MILLION:.2f}M"


def format_token_difference(tokens: int) -> str:
    """Return a difference in tokens, with its sign: `+312`."""
    return f"+{format_tokens(tokens)}" if tokens > 0 else format_tokens(tokens)


def format_percent(share: float) -> str:
    """Return a share of 1 in percent: `85 %`, `37.5 %`."""
    return f"{share * 100:.4g} %"


def format_whole_percent(share: float) -> str:
    """Return a share of 1 in whole percent: `85 %`."""
    return f"{share * 100:.0f} %"
