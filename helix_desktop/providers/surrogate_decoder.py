"""Join surrogate pairs that a server split over two chunks, because it counts in UTF-16 units."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_Path = tuple[str | int, ...]


class SurrogateDecoder:
    """Decodes the chunks of one stream; a high surrogate at the end of a text waits for its continuation."""

    def __init__(self) -> None:
        self._waiting: dict[_Path, str] = {}

    def decode(self, text: str) -> Any:
        """Decode one chunk of JSON. Raises ValueError if it is invalid."""
        try:
            return self._decode(text)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    def _decode(self, text: str) -> Any:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            # json.loads accepts lone surrogates, which msgspec refuses, and NaN, which servers write.
            return self._join_halves(json.loads(text, parse_constant=lambda _: None), ())
        return self._join_halves(value, ()) if self._waiting else value

    def _join_halves(self, value: Any, path: _Path) -> Any:
        if isinstance(value, dict):
            return {key: self._join_halves(part, (*path, key)) for key, part in value.items()}
        if isinstance(value, list):
            return [self._join_halves(part, (*path, index)) for index, part in enumerate(value)]
        return self._join_text(value, path) if isinstance(value, str) else value

    def _join_text(self, text: str, path: _Path) -> str:
        text = self._waiting.pop(path, "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._waiting[path] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
