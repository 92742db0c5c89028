"""An MCP server that answers with given lines, whatever the protocol says of them.

`python lines_server.py FILE`, where FILE is JSON: a line for a method, as text in Latin-1 that is written
byte by byte; `$ID` in it stands for the request's id. A tool may have a line of its own. A method without a
line is answered as it should be.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

LINES: dict[str, str] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
OPENING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}
USUAL = {
    "initialize": OPENING,
    "tools/list": {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
    "ping": {},
}


def main() -> None:
    """Answer each request."""
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        number = json.dumps(message.get("id"))
        if message.get("params", {}).get("name") in LINES:
            method = message["params"]["name"]
        if "id" not in message:
            continue
        if method in LINES:
            answer = LINES[method].replace("$ID", number)
        elif method in USUAL:
            answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": USUAL[method]})
        else:
            error = {"code": -32601, "message": "Method not found"}
            answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})
        sys.stdout.buffer.write(answer.encode("latin-1") + b"\n")
        sys.stdout.buffer.flush()


main()
