"""What is private in a text, and the text without it and without the user's own names.

A value that is found once is removed wherever it stands, in every encoded form: an output names a key without
the name that stood before it in a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from helix_desktop.domain.secret_forms import (
    PrivateValue,
    homes_in,
    is_name_of_words,
    merged,
    private_values,
)
from helix_desktop.domain.text_variants import encoded_variants, redact_cut_parts

REMOVED = "[removed]"
HOME_MARK = "~"
MIN_SECRET_LENGTH = 4  # characters: a shorter value would be removed from words that mean something else
_SURE_LENGTH = 12  # characters of a value that is removed also within a longer word
_NAME_LENGTH = 6  # characters of a part of a secret that is removed where it stands alone
_CUT = "…"
_NO_WORD_BEFORE = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
_OF_WORD = "[A-Za-z0-9_]"

Substitution = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class PrivateDetails:
    """What to remove: `secrets` by value, the path of the home folder, `names`, and what looks private.

    `names` maps a name or path of the user's to what stands for it: whole words, the longest first.
    """

    home: str
    secrets: Sequence[str] = field(default=(), repr=False)
    names: Mapping[str, str] = field(default_factory=dict)

    def redact(self, text: str) -> str:
        """Return the text without anything private, as `remove` and `find` do."""
        return self.remove(text, self.find(text).values())

    def find(self, text: str) -> dict[str, PrivateValue]:
        """Return what is private in a text, by its value; the names of the user are not in it."""
        own = (PrivateValue("configured", secret) for secret in self.secrets if _is_long_enough(secret))
        found = merged((*own, *private_values(text), *homes_in(text)))
        if self._own_home:
            found[self._own_home] = PrivateValue("home", self._own_home, _user_of(self._own_home))
        return found

    def remove(self, text: str, values: Iterable[PrivateValue]) -> str:
        """Return the text without these values in any form, and with other words for the user's names."""
        listed = sorted(values, key=lambda private: len(private.value), reverse=True)
        text = _without_secrets(text, listed)
        substitutions = (*self._names(), *_homes(listed))
        lines = []
        for line in text.split("\n"):  # so that a thread that does this lets others run
            redacted = line
            for pattern, replacement in substitutions:
                redacted = pattern.sub(replacement, redacted)
            lines.append(redacted)
        # What was put in could complete a secret: "~" and a name stand where something else was.
        configured = [private for private in listed if private.kind == "configured"]
        return _without_secrets("\n".join(lines), configured)

    @property
    def _own_home(self) -> str:
        """The path of the home folder; empty for a user without one, where it is the root folder."""
        home = self.home.rstrip("/\\")
        return home if len(home) >= MIN_SECRET_LENGTH else ""

    def _names(self) -> Iterator[tuple[re.Pattern[str], Substitution]]:
        if self.names:
            names = self.names
            yield (re.compile(rf"(?<!\w)(?:{_any_of(names)})(?!\w)"), lambda match: names[match[0]])


def value_pattern(private: PrivateValue) -> re.Pattern[str]:
    """Return what finds a value in a text, in any form in which it is removed."""
    if private.kind == "home":
        return _home_pattern(private.value)
    if _is_sure(private):
        return re.compile(_any_of(encoded_variants(private.value)))
    plain = [variant for variant in encoded_variants(private.value) if _is_readable(variant, private.value)]
    before = _NO_WORD_BEFORE if re.match(_OF_WORD, private.value) else ""
    after = rf"(?!{_OF_WORD})" if re.match(_OF_WORD, private.value[-1]) else ""
    return re.compile(f"{before}(?:{_any_of(plain)}){after}")


def is_part_of_secret(name: str, values: Iterable[PrivateValue]) -> bool:
    """Return True for a part of a secret, as a list of names has it, or of the name of a mailbox."""
    if len(name) < _NAME_LENGTH:
        return False
    secrets = (private for private in values if private.kind != "home")
    return any(name in _without_host(private) for private in secrets)


def _without_host(private: PrivateValue) -> str:
    return private.value.split("@")[0] if private.kind == "email" else private.value


def _without_secrets(text: str, values: Collection[PrivateValue]) -> str:
    """Return a text without the secrets among some values, the longest first."""
    secrets = [private for private in values if private.kind != "home"]
    sure = [private.value for private in secrets if _is_sure(private)]
    variants = {variant for value in sure for variant in encoded_variants(value)}
    for variant in sorted(variants, key=len, reverse=True):
        text = text.replace(variant, REMOVED)
    for private in secrets:
        if not _is_sure(private):
            text = value_pattern(private).sub(REMOVED, text)
    if _CUT not in text:
        return text
    return "\n".join(_without_cut_parts(line, sure) for line in text.split("\n"))


def _without_cut_parts(line: str, secrets: Iterable[str]) -> str:
    if _CUT not in line:
        return line
    for secret in secrets:
        line = redact_cut_parts(line, secret, REMOVED)
    return line


def _is_sure(private: PrivateValue) -> bool:
    """Return True for a value that stands in no other word by chance."""
    if private.kind == "configured":
        return True
    return len(private.value) >= _SURE_LENGTH and not is_name_of_words(private.value)


def _is_readable(variant: str, value: str) -> bool:
    """Return True for a form of a value that is not Base64."""
    return variant == value or "%" in variant or "\\" in variant


def _homes(values: Iterable[PrivateValue]) -> Iterator[tuple[re.Pattern[str], Substitution]]:
    homes = [private for private in values if private.kind == "home"]
    for private in homes:
        yield _home_pattern(private.value), HOME_MARK
    for user in dict.fromkeys(private.label for private in homes):
        # Another folder of the same user, as on a second disk.
        yield re.compile(rf"(?<=[/\\]){re.escape(user)}(?=[/\\]|$)"), "[user]"


def _home_pattern(home: str) -> re.Pattern[str]:
    """Return what finds a home folder in any form, also as agents name folders after one: `-home-ada-x`."""
    variants = sorted(encoded_variants(home), key=len, reverse=True)
    forms = [f"{_NO_WORD_BEFORE if form == home else ''}{re.escape(form)}" for form in variants]
    if home.count("/") > 1:
        forms.append(rf"{_NO_WORD_BEFORE}{re.escape(re.sub(r'[/.]', '-', home))}(?=-)")
    return re.compile(rf"(?i)(?:{'|'.join(forms)})(?![A-Za-z0-9])")


def _user_of(home: str) -> str:
    return re.split(r"[/\\]", home)[-1]


def _is_long_enough(secret: str) -> bool:
    return len(secret.strip()) >= MIN_SECRET_LENGTH


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
