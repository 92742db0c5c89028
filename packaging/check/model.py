"""A minimal model server: each turn it has the agent run one command; it records the result."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Model:
    """Implements OpenAI Chat Completions. It answers a user by run_command, then ends the turn."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.requests: list[dict[str, Any]] = []
        self.address = ""

    def outputs(self) -> list[str]:
        """Return the tools' outputs, as the agent sent them."""
        last = self.requests[-1]["messages"] if self.requests else []
        return [str(message.get("content")) for message in last if message.get("role") == "tool"]

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self.requests.append(request)
        if request["messages"][-1]["role"] != "user" or not request.get("tools"):
            yield {"delta": {"role": "assistant", "content": "Done."}}
            yield {"delta": {}, "finish_reason": "stop"}
            return
        function = {"name": "run_command", "arguments": json.dumps({"command": self.command})}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        yield {"delta": {"role": "assistant", "tool_calls": [call]}}
        yield {"delta": {}, "finish_reason": "tool_calls"}


@contextmanager
def serving(command: str) -> Iterator[Model]:
    """Serve while the block runs; the port is a free one of this machine's own address."""
    model = Model(command)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send("application/json", json.dumps({"object": "list", "data": [{"id": "small"}]}))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "small"}
            pieces = [
                head | {"choices": [{"index": 0} | choice]} for choice in model.answer(json.loads(body))
            ]
            lines = [f"data: {json.dumps(piece)}\n\n" for piece in pieces]
            self._send("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]))

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
            pass

        def _send(self, kind: str, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
