"""The model servers that were found on this machine, and their models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from helix_desktop.domain.model_spec import ModelSpec

ServerKind = Literal["ollama", "lm-studio", "llama.cpp", "vllm", "other"]
_TITLES: Mapping[ServerKind, str] = {
    "ollama": "Ollama",
    "lm-studio": "LM Studio",
    "llama.cpp": "llama.cpp",
    "vllm": "vLLM",
    "other": "Server",
}


class LocalModel(msgspec.Struct, frozen=True):
    """A model of a server, and its reported spec; `is_loaded` is None if the server does not say."""

    name: str
    spec: ModelSpec
    source: str
    is_loaded: bool | None = None


class LocalServer(msgspec.Struct, frozen=True):
    """A server that answered."""

    kind: ServerKind
    base_url: str
    models: tuple[LocalModel, ...]

    @property
    def title(self) -> str:
        """Return the display name."""
        return _TITLES[self.kind]
