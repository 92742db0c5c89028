"""A model by its dialect."""

from __future__ import annotations

from helix_desktop.context.message import ModelInfo
from helix_desktop.providers.dialect import DialectName
from helix_desktop.providers.http import Http
from helix_desktop.providers.openai_chat import OpenAIChat
from helix_desktop.providers.streaming import StreamedModel


def model_behind(
    dialect: DialectName, info: ModelInfo, base_url: str, key: str, *, http: Http
) -> StreamedModel:
    """A model behind a server that speaks this dialect. `http` is closed by who made it."""
    return OpenAIChat(info, base_url, key, http=http)
