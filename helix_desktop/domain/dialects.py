"""The dialects of model servers: what differs between them beside the form of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

DialectName = Literal["openai-chat", "openai-responses", "anthropic"]
"""The API of a server; a new one has a module in `providers`, listed in its `model_factory`."""


class DialectTraits(msgspec.Struct, frozen=True):
    """One dialect: its `title`, and how its servers are asked for anything.

    `models_path` lists the models. `fields` of a body are Helix's own in this dialect alone. `headers` go
    along with every request. `key_header` carries the key as it is, beside a bearer token for servers that
    only speak the dialect; on the `host` of those who made it, it stands alone. `version` ends a base URL
    that names none.
    """

    title: str
    models_path: str = "/models"
    fields: frozenset[str] = frozenset()
    headers: dict[str, str] = {}
    key_header: str = ""
    host: str = ""
    version: str = ""


DIALECTS: Mapping[str, DialectTraits] = {
    "openai-chat": DialectTraits("OpenAI Chat Completions"),
    "openai-responses": DialectTraits("OpenAI Responses"),
    "anthropic": DialectTraits(
        "Anthropic Messages",
        models_path="/models?limit=1000",  # a page has 20 entries by default, at most 1,000
        fields=frozenset({"max_tokens"}),
        headers={"anthropic-version": "2023-06-01"},
        key_header="x-api-key",
        host="anthropic.com",
        version="/v1",
    ),
}
