"""A provider as it is filled in, and the rules that it must keep to be saved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from helix_desktop.config.secrets import KeySource, SecretHeaders
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.request_extras import NO_EXTRAS, RequestExtras
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_HOST = re.compile(r"(?P<host>[\w.-]+)(?P<port>:\d+)?(?:/\S*)?")  # and a path, without a scheme
_DEFAULT_NAME = "server"


class IncompleteExtras(msgspec.Struct, frozen=True):
    """Extra headers and body fields as they are typed, while they can't be sent."""

    headers: tuple[tuple[str, str, bool], ...]
    """Name, value and whether it is secret."""
    body: str


class ProviderDraft(msgspec.Struct, frozen=True):
    """One provider as filled in; `key` is only what was typed now: a kept key is never shown again.

    So is `secret_headers`. With `removes_key` the saved key is deleted. `default_model` is the model that
    answers when none is named; `extras` go along with the requests to all of its models. What is typed of
    extras and can't be sent is in `incomplete_extras`; figures that can't be used are in `invalid_figures`
    as they are typed, by model and name.
    """

    id: str  # empty while it is new
    name: str
    base_url: str
    dialect: DialectName = "openai-chat"
    models: tuple[ModelEntry, ...] = ()
    default_model: str = ""
    key: str = ""
    demo: bool = False
    extras: RequestExtras = NO_EXTRAS
    secret_headers: SecretHeaders = msgspec.field(default_factory=dict)
    removes_key: bool = False
    incomplete_extras: IncompleteExtras | None = None
    invalid_figures: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, provider: Provider) -> ProviderDraft:
        default = provider.default_model or next((entry.name for entry in provider.models), "")
        entries = provider.models
        if default and default not in {entry.name for entry in entries}:
            entries = (ModelEntry(name=default), *entries)
        name, url, extras = provider.name, provider.base_url, provider.extras()
        return cls(name, name, url, provider.dialect, entries, default, extras=extras)

    def provider(self) -> Provider:
        """Return the provider to be saved; name and models may still be missing. Raises HelixError."""
        faults = validate_provider(self)
        wrong = [words for field, words in faults.items() if field not in ("name", "models")]
        if wrong:
            raise HelixError(text("The provider isn't complete yet."), join_sentences(*wrong))
        return Provider(
            name=provider_name(self.name),
            base_url=self.base_url.strip(),
            models=self.models,
            default_model=self.default_model,
            dialect=self.dialect,
            headers=self.extras.headers,
            secret_headers=self.extras.secret_headers,
            body=self.extras.body,
        )

    def without_tests(self) -> ProviderDraft:
        """Return it without what tests have shown: that is saved by itself."""
        models = tuple(msgspec.structs.replace(model, tested_tools=None) for model in self.models)
        return msgspec.structs.replace(self, models=models)


class ProviderStatus(msgspec.Struct, frozen=True):
    """What is known about a provider: whether it is in use, and where its key is kept.

    `saved_headers` are the names of its secret headers that have a value.
    """

    id: str
    in_use: bool
    key_source: KeySource
    key_note: str = ""  # where its key is, or would be kept
    new_key_note: str = ""  # where a new provider's key would be kept
    saved_headers: frozenset[str] = frozenset()


EMPTY_DRAFT = ProviderDraft("", "", "")
"""A provider of which nothing is filled in."""


def provider_name(typed: str) -> str:
    """Return the name under which a provider is saved that was typed so: models are PROVIDER/MODEL."""
    return re.sub(r"[\s/]+", "-", typed.strip()).lower() or _DEFAULT_NAME


def web_address(typed: str) -> str:
    """Return a typed address, with its scheme where it lacks one: http for this machine and a port."""
    address = typed.strip()
    match = _HOST.fullmatch(address)
    if match is None:
        return address
    host = match["host"]
    if host == "localhost" or match["port"] or host.replace(".", "").isdigit():
        return f"http://{address}"
    return f"https://{address}" if "." in host else address


def validate_provider(form: ProviderDraft) -> dict[str, str]:
    """Return what keeps a provider from being saved: field name and what to do; empty when all is well."""
    faults: dict[str, str] = {}
    if not form.name.strip():
        faults["name"] = tr("Enter a name.")
    if not _is_web_address(form.base_url):
        faults["base_url"] = tr("Enter a web address such as {example}.", example="http://localhost:11434/v1")
    if not form.models:
        faults["models"] = tr("Add a model: list the server's models, or enter a name.")
    owners = (("", form.extras), *((model.name, model.extras) for model in form.models))
    wrong = [(name, fault) for name, extras in owners if (fault := extras.fault(form.dialect))]
    if wrong:
        name, fault = wrong[0]
        faults["extras"] = f"{name}: {translate(fault)}" if name else translate(fault)
    return faults


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text.strip())
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        return False
