"""Characters that a server cut in two: it counts in halves of UTF-16, and sends each in another piece."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

_Path = tuple[str | int, ...]


class Halves:
    """Reads the pieces of one stream; half a character at an end waits for the piece that goes on there."""

    def __init__(self) -> None:
        self._waiting: dict[_Path, str] = {}

    def read(self, text: str) -> Any:
        """The value of one piece of JSON. Raises ValueError for what is none."""
        try:
            return self._read(text)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    def _read(self, text: str) -> Any:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            # This one takes half a character, which msgspec refuses.
            return self._mended(json.loads(text, parse_constant=_refuse), ())
        return self._mended(value, ()) if self._waiting else value

    def _mended(self, value: Any, path: _Path) -> Any:
        if isinstance(value, dict):
            return {key: self._mended(part, (*path, key)) for key, part in value.items()}
        if isinstance(value, list):
            return [self._mended(part, (*path, at)) for at, part in enumerate(value)]
        return self._joined(value, path) if isinstance(value, str) else value

    def _joined(self, text: str, path: _Path) -> str:
        text = self._waiting.pop(path, "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._waiting[path] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
