"""What looks like a key, a login or an address, and a text without it and without the user's own names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from helix_desktop.domain.text_variants import encoded_variants

REMOVED = "[removed]"
MIN_SECRET_LENGTH = 4  # characters: a shorter value would be removed from words that mean something else
_NAMED_SECRET = re.compile(
    r"(?i)\b((?:api[_-]?|access[_-]?|secret[_-]?)?(?:key|token|secret|password|passwd)|authorization|bearer)"
    r"(['\"]?\s*[=:\s]\s*['\"]?(?:bearer\s+)?)([^\s'\",;&]{6,})"
)
_ASSIGNED_SECRET = re.compile(  # in a variable of a longer name: DB_PASSWORD, OPENAI_API_KEY, clientSecret
    r"(?i)\b(\w*(?:secret|password|passwd|(?:_|api|access|auth)(?:key|token)))"
    r"(['\"]?\s*[=:]\s*['\"]?)([^\s'\",;&]{6,})"
)
_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_KEY = re.compile(r"\b(?:sk|pk|ghp|gho|glpat|xox[a-z]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}")
_LONG_TOKEN = re.compile(r"\b(?=[A-Za-z0-9_-]{0,80}\d)(?=[A-Za-z0-9_-]{0,80}[G-Zg-z])[A-Za-z0-9_-]{32,}\b")
_SHA = re.compile(r"[0-9a-f]{32,64}")
_NAME_OF_WORDS = re.compile(r"(?:[A-Za-z]{1,16}|\d{1,4})(?:[_-]+(?:[A-Za-z]{1,16}|\d{1,4})){3,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EMAIL = re.compile(r"[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")


Substitution = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class PrivateDetails:
    """What to remove: `secrets` by value in every encoded form, the path of the home folder, and `names`.

    `names` maps a name or path of the user's to what stands for it: whole words, the longest first.
    """

    home: str
    secrets: Sequence[str] = field(default=(), repr=False)
    names: Mapping[str, str] = field(default_factory=dict)

    def redact(self, text: str) -> str:
        """Return the text without any of it, and without what has the form of a key or an address.

        Works line by line, so that a thread that does this lets others run.
        """
        substitutions = tuple(self._substitutions())
        lines = []
        for line in self._without_secrets(text).split("\n"):
            redacted = line
            for pattern, replacement in substitutions:
                redacted = pattern.sub(replacement, redacted)
            lines.append(redacted)
        # What was put in could complete a secret: "~" and a name stand where something else was.
        return self._without_secrets("\n".join(lines))

    def _without_secrets(self, text: str) -> str:
        values = (value for value in self.secrets if len(value.strip()) >= MIN_SECRET_LENGTH)
        variants = {variant for value in values for variant in encoded_variants(value)}
        for variant in sorted(variants, key=len, reverse=True):
            text = text.replace(variant, REMOVED)
        return text

    def _substitutions(self) -> Iterator[tuple[re.Pattern[str], Substitution]]:
        yield from _FORMS
        if self.names:
            yield (re.compile(rf"(?<!\w)(?:{_any_of(self.names)})(?!\w)"), lambda match: self.names[match[0]])
        home = self.home.rstrip("/\\")
        if len(home) >= MIN_SECRET_LENGTH:  # of a user without one it is the root folder
            user = re.split(r"[/\\]", home)[-1]
            yield re.compile(_any_of(encoded_variants(home)), re.IGNORECASE), "~"
            # Another folder of the same user, as on a second disk.
            yield re.compile(rf"(?<=[/\\]){re.escape(user)}(?=[/\\]|$)"), "[user]"


def has_form_of_secret(text: str) -> bool:
    """Return True if something in a text has the form of a key, a token or a login."""
    return any(form.sub(mark, text) != text for form, mark in _SECRETS)


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))


def _token_mark(match: re.Match[str]) -> str:
    """Keep names of several words, and digests and ids of ours: those lead to nothing elsewhere."""
    token = match[0]
    if _SHA.fullmatch(token) or _UUID.fullmatch(token) or _NAME_OF_WORDS.fullmatch(token):
        return token
    return REMOVED


def _named_mark(match: re.Match[str]) -> str:
    """Keep what code sorts by: `key=lambda`, `key=str.lower`."""
    is_code = match[1] == "key" and match[2] == "=" and re.fullmatch(r"[a-z_.]+", match[3])
    return match[0] if is_code else f"{match[1]}{match[2]}{REMOVED}"


_SECRETS: tuple[tuple[re.Pattern[str], Substitution], ...] = (
    (_NAMED_SECRET, _named_mark),
    (_ASSIGNED_SECRET, rf"\1\2{REMOVED}"),
    (_LOGIN, f"{REMOVED}@"),
    (_KEY, REMOVED),
    (_LONG_TOKEN, _token_mark),
)
_FORMS = (*_SECRETS, (_EMAIL, REMOVED))
