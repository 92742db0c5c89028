"""Variants of a Chat Completions request: compatible servers differ in what they accept and require."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class RequestVariant(msgspec.Struct, frozen=True):
    """How a request is encoded.

    `asks_usage`: with the field that requests usage. `sends_server_fields`: with the extra fields of the
    server's own messages. `fills_reasoning`: with empty reasoning where there is none. `signs_calls`: with a
    signature for calls that have none. `uses_short_ids`: with call ids of nine characters.
    """

    asks_usage: bool = True
    sends_server_fields: bool = True
    fills_reasoning: bool = False
    signs_calls: bool = False
    uses_short_ids: bool = False


DEFAULT_VARIANT = RequestVariant()
"""The variant that is tried first."""

_UNSUPPORTED_WORDS = (
    "not permitted",
    "unsupported",
    "not supported",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra",
)
_SERVER_FIELDS = ("reasoning", "annotations", "audio", "extra_content")


def variant_for_error(variant: RequestVariant, error_text: str) -> RequestVariant | None:
    """Return the variant that an error text asks for; None if it asks for none that we know."""
    low = error_text.lower()
    for matches, change in _REMEDIES:
        changed_variant = change(variant)
        if changed_variant != variant and matches(low):
            return changed_variant
    return None


def _names_unknown_field(error_text: str, *fields: str) -> bool:
    return any(field in error_text for field in fields) and any(
        word in error_text for word in _UNSUPPORTED_WORDS
    )


_REMEDIES: tuple[tuple[Callable[[str], bool], Callable[[RequestVariant], RequestVariant]], ...] = (
    (
        lambda low: "stream_options" in low or "include_usage" in low,
        lambda form: msgspec.structs.replace(form, asks_usage=False),
    ),
    (
        # Mistral: "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."
        lambda low: "tool call id" in low and "length of 9" in low,
        lambda form: msgspec.structs.replace(form, uses_short_ids=True),
    ),
    (
        # Gemini: "Function call is missing a thought_signature in functionCall parts."
        lambda low: "thought_signature" in low and "missing" in low,
        lambda form: msgspec.structs.replace(form, signs_calls=True),
    ),
    (
        # DeepSeek: "Missing `reasoning_content` field in the assistant message", "must be passed back".
        lambda low: "reasoning_content" in low and ("missing" in low or "must be passed" in low),
        lambda form: msgspec.structs.replace(form, fills_reasoning=True),
    ),
    (
        lambda low: _names_unknown_field(low, *_SERVER_FIELDS),
        lambda form: msgspec.structs.replace(form, sends_server_fields=False, fills_reasoning=False),
    ),
)
"""Matchers of error texts, and the changes that resolve them."""
