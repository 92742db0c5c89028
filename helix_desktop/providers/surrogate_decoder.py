"""Characters that a server cut in two: it counts in halves of UTF-16, and sends each in another piece."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

_Path = tuple[str | int, ...]


class SurrogateDecoder:
    """Reads the pieces of one stream; half a character at an end waits for the piece that goes on there."""

    def __init__(self) -> None:
        self._waiting: dict[_Path, str] = {}

    def decode(self, text: str) -> Any:
        """The value of one piece of JSON. Raises ValueError for what is none."""
        try:
            return self._decode(text)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    def _decode(self, text: str) -> Any:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            # This one takes half a character, which msgspec refuses.
            return self._join_halves(json.loads(text, parse_constant=_reject_constant), ())
        return self._join_halves(value, ()) if self._waiting else value

    def _join_halves(self, value: Any, path: _Path) -> Any:
        if isinstance(value, dict):
            return {key: self._join_halves(part, (*path, key)) for key, part in value.items()}
        if isinstance(value, list):
            return [self._join_halves(part, (*path, at)) for at, part in enumerate(value)]
        return self._join_text(value, path) if isinstance(value, str) else value

    def _join_text(self, text: str, path: _Path) -> str:
        text = self._waiting.pop(path, "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._waiting[path] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
