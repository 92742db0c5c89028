"""A scripted model that does what its prompt says."""

from __future__ import annotations

import json
from typing import Any

from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, text_reply


class CallingModel:
    """Makes the calls of its prompt, a JSON list, one a step; then it is done."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
        done = sum(message["role"] == "tool" for message in messages[newest:])
        calls = json.loads(messages[newest]["content"].rpartition("\n\n")[2])  # a note may stand before
        if done == len(calls):
            return text_reply("Done.")
        self.calls += 1
        name, arguments = calls[done]
        return StreamedReply(Call(name, json.dumps(arguments), id=f"call_{self.calls}"))
