"""A model by its dialect."""

from __future__ import annotations

from collections.abc import Mapping

from helix_desktop.context.message import ModelInfo
from helix_desktop.providers.anthropic import Anthropic
from helix_desktop.providers.dialect import DialectName
from helix_desktop.providers.http import Http
from helix_desktop.providers.openai_chat import OpenAIChat
from helix_desktop.providers.openai_responses import OpenAIResponses

_SPEAKERS: Mapping[DialectName, type[OpenAIChat] | type[OpenAIResponses] | type[Anthropic]] = {
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "anthropic": Anthropic,
}


def model_behind(
    dialect: DialectName, info: ModelInfo, base_url: str, key: str, *, http: Http
) -> OpenAIChat | OpenAIResponses | Anthropic:
    """A model behind a server that speaks this dialect. `http` is closed by who made it."""
    return _SPEAKERS[dialect](info, base_url, key, http=http)
