"""What to do about a key or a secret header that is missing or refused: where to enter it, what to set."""

from __future__ import annotations

from helix_desktop.config.settings import key_variable
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

_text = TextContext("Models")


def advice_on_key(provider: str, *, is_for_form: bool) -> TranslatableText:
    variable = key_variable(provider)
    if is_for_form:
        return _text("Enter a valid key, or set {variable}.", variable=variable)
    return _text("Enter the key in Settings → Providers, or set {variable}.", variable=variable)


def advice_on_variables(variables: tuple[str, ...]) -> TranslatableText:
    return _text("Set {variables} to a valid key.", variables=any_of(variables))


def advice_on_header(provider: str, name: str, *, is_for_form: bool) -> TranslatableText:
    variable = key_variable(f"{provider}/{name}")
    if is_for_form:
        return _text("Enter its value under Extra headers and fields, or set {variable}.", variable=variable)
    return _text(
        "Enter its value in Settings → Providers, under Extra headers and fields, or set {variable}.",
        variable=variable,
    )


def any_of(variables: tuple[str, ...]) -> str:
    if len(variables) == 1:
        return variables[0]
    first, other = variables
    return _text("{first} or {other}", first=first, other=other)
