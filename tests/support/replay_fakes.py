"""Small replays whose figures can be worked out on paper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import DigestUnknown, ToolError
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.recording import RawMessage
from helix_desktop.replay.replayer import MechanismCounts


class UnmanagedReplay:
    """Sends everything."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.summaries: list[int] = []
        self.checkpoints: list[int] = []
        self.longest_stretch = 0
        self.counts = MechanismCounts()
        self.turns = 0
        self.closed = False

    def feed(self, message: RawMessage) -> None:
        self.messages.append(dict(message))

    def end_turn(self) -> None:
        self.turns += 1

    def prepare_request(self) -> None:
        """Make nothing: what was fed is the request."""

    def request(self) -> list[dict[str, Any]]:
        return list(self.messages)

    def recall(self, digest: str) -> bytes:
        raise DigestUnknown(verbatim(f"Nothing is stored under {digest}."))

    def call_cache_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        raise ToolError("Nothing is stored.")

    def close(self) -> None:
        self.closed = True


class MarkerReplay(UnmanagedReplay):
    """Sends the outputs of the newest step as they are, and a marker for each older one."""

    def __init__(self) -> None:
        super().__init__()
        self.contents: dict[str, bytes] = {}

    def feed(self, message: RawMessage) -> None:
        super().feed(message)
        if message["role"] == "tool":
            self.store(message["content"])

    def store(self, text: str) -> str:
        self.contents[digest_of(text.encode())] = text.encode()
        return digest_of(text.encode())

    def recall(self, digest: str) -> bytes:
        return self.contents[digest] if digest in self.contents else super().recall(digest)

    def call_cache_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return a content, or the question in quotes and the lines that match, each behind its digest."""
        if name == "search_cached_content":
            pattern = re.escape(arguments["query"])
            contents = list(self.contents.values())
        elif "pattern" in arguments:
            pattern = arguments["pattern"]
            contents = self.covered(arguments["hash"])
        else:
            return self.recall(arguments["hash"]).decode()
        hits = [
            f"{digest_of(content)}: {line}"
            for content in contents
            for line in content.decode().splitlines()
            if re.search(pattern, line)
        ]
        return "\n".join([f"Lines for {pattern!r}:", *hits])

    def covered(self, digest: str) -> list[bytes]:
        """Return what a pattern is looked for in."""
        return [self.recall(digest)]

    def request(self) -> list[dict[str, Any]]:
        newest = max(
            (at for at, message in enumerate(self.messages) if message["role"] == "assistant"), default=0
        )
        return [
            message
            if message["role"] != "tool" or at > newest
            else message | {"content": self.marker(message["content"])}
            for at, message in enumerate(self.messages)
        ]

    def marker(self, text: str) -> str:
        return bare_marker(digest_of(text.encode()))


class FoldingReplay(MarkerReplay):
    """Sends one note for all before the newest step; it names an index, each index the previous one."""

    def request(self) -> list[dict[str, Any]]:
        newest = max(
            (at for at, message in enumerate(self.messages) if message["role"] == "assistant"), default=0
        )
        index = ""
        for message in self.messages[:newest]:
            if message["role"] == "tool":
                index = self.store(f"before: {index}\n{digest_of(message['content'].encode())}")
        note = [{"role": "user", "content": f"[Folded steps] {bare_marker(index)}"}] if index else []
        return [self.messages[0], *note, *self.messages[max(newest, 1) :]]

    def covered(self, digest: str) -> list[bytes]:
        """Return all that an index leads to."""
        content = self.recall(digest)
        digests = re.findall("[0-9a-f]{64}", content.decode()) if content.startswith(b"before: ") else ()
        return [found for name in digests for found in self.covered(name)] if digests else [content]


def user_message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant_message(text: str) -> dict[str, Any]:
    """An answer without calls."""
    return {"role": "assistant", "content": text}


def tool_call_message(*calls: tuple[str, str, str], text: str = "") -> dict[str, Any]:
    """An assistant's message with calls: id, name, arguments."""
    tool_calls = [{"id": call_id, "name": name, "arguments": arguments} for call_id, name, arguments in calls]
    return {"role": "assistant", "content": text, "tool_calls": tool_calls}


def tool_message(call_id: str, content: str, name: str = "read") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id, "name": name}


def file_read_step(call_id: str, path: str, content: str) -> list[dict[str, Any]]:
    return [tool_call_message((call_id, "read", f'{{"path": "{path}"}}')), tool_message(call_id, content)]
