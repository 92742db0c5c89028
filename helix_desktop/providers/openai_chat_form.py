"""Forms of a Chat Completions request: compatible servers differ in what they know and insist on."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Form(msgspec.Struct, frozen=True):
    """How a request is written.

    `asks_usage`: with the field that asks for usage. `own_fields`: with what the server itself put beside
    its messages. `fills_reasoning`: with empty reasoning where there is none. `signs_calls`: with a signature
    for calls that have none. `short_ids`: with ids of calls that have nine signs.
    """

    asks_usage: bool = True
    own_fields: bool = True
    fills_reasoning: bool = False
    signs_calls: bool = False
    short_ids: bool = False


USUAL = Form()
"""What every server is asked with first."""

_NOT_KNOWN = (
    "not permitted",
    "unsupported",
    "not supported",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra",
)
_OWN_FIELDS = ("reasoning", "annotations", "audio", "extra_content")


def another_form(form: Form, words: str) -> Form | None:
    """The form that a server's refusal asks for; None when it asks for none that we know."""
    low = words.lower()
    for fits, changed in _REMEDIES:
        found = changed(form)
        if found != form and fits(low):
            return found
    return None


def _unknown(low: str, *fields: str) -> bool:
    return any(field in low for field in fields) and any(word in low for word in _NOT_KNOWN)


_REMEDIES: tuple[tuple[Callable[[str], bool], Callable[[Form], Form]], ...] = (
    (
        lambda low: "stream_options" in low or "include_usage" in low,
        lambda form: msgspec.structs.replace(form, asks_usage=False),
    ),
    (
        # Mistral: "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."
        lambda low: "tool call id" in low and "length of 9" in low,
        lambda form: msgspec.structs.replace(form, short_ids=True),
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
        lambda low: _unknown(low, *_OWN_FIELDS),
        lambda form: msgspec.structs.replace(form, own_fields=False, fills_reasoning=False),
    ),
)
"""What refusals are recognised by, and what helps."""
