"""An MCP server with 50 tools of one product, without any package: `many_tools.py PRODUCT`; there are ten.

Names, texts and schemas are made like those of servers that people use: five verbs on ten kinds of things. A
call returns its arguments.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PRODUCTS = {
    "forge": "repository issue pull_request branch release workflow_run label milestone review secret",
    "tracker": "ticket sprint epic board component version worklog watcher transition attachment",
    "wiki": "page space template comment attachment label watcher permission revision page_tree",
    "mail": "message thread draft folder filter signature contact_group mailing_list rule attachment",
    "calendar": "event invitation reminder room calendar attendee working_hour holiday time_slot recurrence",
    "drive": "file folder share_link permission comment revision shortcut drive trash_item upload",
    "chat": "channel message thread user_group reaction pin bookmark scheduled_message call canvas",
    "crm": "account contact lead opportunity campaign quote contract activity pipeline territory",
    "billing": "invoice subscription customer payment refund coupon tax_rate dispute payout price",
    "monitor": "alert dashboard incident monitor log_query metric slo downtime notebook service",
}
VERBS = {
    "list": "List {many} of the {product}. Returns a page, the newest first; the next with `cursor`.",
    "get": "Get one {one} of the {product} by its id, with all its fields and who changed it last.",
    "create": "Create a {one} in the {product}. Everybody who may see its project is notified of it.",
    "update": "Change fields of a {one} in the {product}. Fields that are left out stay as they are.",
    "delete": "Delete a {one} from the {product} for good. This cannot be undone, and needs the right to.",
}
ID = {"type": "string", "description": "The id, as the list returns it, such as `a1b2c3`."}
PROJECT = {"type": "string", "description": "Key or path of the project, team or repository that it is in."}
FIELDS: dict[str, Any] = {
    "title": {"type": "string", "description": "A short title, at most 200 characters.", "maxLength": 200},
    "body": {"type": "string", "description": "The whole text, in Markdown."},
    "labels": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Names of labels. They have to exist; others are refused.",
    },
    "assignee": {"type": "string", "description": "The login of who is responsible for it."},
    "priority": {
        "type": "string",
        "enum": ["low", "normal", "high", "urgent"],
        "description": "How urgent it is.",
    },
}
ARGUMENTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "list": (
        {
            "project": PROJECT,
            "query": {"type": "string", "description": "Words that have to be in the title or the text."},
            "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
            "since": {
                "type": "string",
                "format": "date-time",
                "description": "Only what changed after this time.",
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Most of a page."},
            "cursor": {"type": "string", "description": "Where the page begins, as the one before says."},
        },
        ["project"],
    ),
    "get": ({"project": PROJECT, "id": ID}, ["project", "id"]),
    "create": ({"project": PROJECT, **FIELDS}, ["project", "title"]),
    "update": ({"project": PROJECT, "id": ID, **FIELDS}, ["project", "id"]),
    "delete": ({"project": PROJECT, "id": ID}, ["project", "id"]),
}


def tools_of(product: str) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{verb}_{noun}",
            "description": text.format(one=noun.replace("_", " "), many=_many(noun), product=product),
            "inputSchema": {"type": "object", "properties": properties, "required": required},
        }
        for noun in PRODUCTS[product].split()
        for verb, text in VERBS.items()
        for properties, required in [ARGUMENTS[verb]]
    ]


def _many(noun: str) -> str:
    words = noun.replace("_", " ")
    return f"{words}es" if words.endswith("ch") else f"{words}s"


def _answer(method: str, params: dict[str, Any], product: str) -> dict[str, Any]:
    match method:
        case "initialize":
            server = {"name": product, "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": tools_of(product)}
        case "tools/call":
            text = json.dumps({"done": params["name"], **params.get("arguments", {})})
            return {"content": [{"type": "text", "text": text}]}
    return {}


def _serve(product: str) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = _answer(message["method"], message.get("params") or {}, product)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _serve(sys.argv[1])
