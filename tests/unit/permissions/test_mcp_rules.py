"""Which rules allow an MCP server's tool: only those for the server and the tool as the user saw them."""

from __future__ import annotations

from typing import Any

import msgspec

from helix_desktop.domain.tools import ANY, ApprovalRequest, PermissionRule, RuleEffect
from helix_desktop.permissions.rules import evaluate, rule_applies, rule_names, suggest_server_rules


def test_a_changed_server_asks_again() -> None:
    """The approval is for its definition, not its name (CVE-2025-54136)."""

    def request_for(definition: str, server: str = "files") -> ApprovalRequest:
        return ApprovalRequest(
            *("c", "files__read", "{}", "", "", tool), kind="mcp", server=server, definition=definition
        )

    tool, anything = suggest_server_rules("files__read", "files", "d1", {})
    for rule in (tool, anything):
        assert rule_applies(rule, request_for("d1"))
        assert not rule_applies(rule, request_for("d2"))
        assert not rule_applies(rule, request_for(""))
        assert not rule_applies(rule, request_for("d1", "other"))
        denied = msgspec.structs.replace(rule, effect="deny")
        assert rule_applies(denied, request_for("d2"))
    assert not rule_applies(PermissionRule("files__read", ANY), request_for("d1"))


def mcp_call(tool: str = "mcp__files__read", digest: str = "a", **fields: Any) -> ApprovalRequest:
    rule = PermissionRule(tool, "files", kind="server")
    server_fields = {
        "kind": "mcp",
        "server": "files",
        "definition": "d1",
        "description_digest": digest,
        **fields,
    }
    return ApprovalRequest("c", tool, "files: x", "", "", rule, **server_fields)


def test_a_tool_that_is_described_differently_asks_again() -> None:
    """The approval is for the tool as its server described it, and a rule for all tools names them."""
    digests = {"mcp__files__read": "a", "mcp__files__write": "b"}
    tool, anything = suggest_server_rules("mcp__files__read", "files", "d1", digests)
    assert (tool.described_tools, anything.described_tools) == (
        (("mcp__files__read", "a"),),
        (("mcp__files__read", "a"), ("mcp__files__write", "b")),
    )
    for rule in (tool, anything):
        assert evaluate([rule], mcp_call()).effect == "allow"
        changed = evaluate([rule], mcp_call(digest="other"))
        assert (changed.effect, changed.rule, changed.mcp_change) == ("ask", None, "tool")
        assert evaluate([rule], mcp_call(definition="d2")).mcp_change == "server"
        denied = msgspec.structs.replace(rule, effect="deny")
        assert evaluate([denied], mcp_call(digest="other")).effect == "deny", "a Never holds all the same"
    assert evaluate([anything], mcp_call("mcp__files__write", "b")).effect == "allow"
    assert evaluate([tool], mcp_call("mcp__files__write", "b")).mcp_change == "", "nobody allowed that one"
    later = evaluate([anything], mcp_call("mcp__files__later", "c"))
    assert (later.effect, later.mcp_change) == ("ask", "new")


def test_a_rule_of_an_earlier_version_allows_whatever_a_server_says() -> None:
    """It was saved without the descriptions."""
    earlier = PermissionRule("mcp__files__read", "files", kind="server", definition="d1")
    assert evaluate([earlier], mcp_call(digest="any")).effect == "allow"
    assert evaluate([earlier], mcp_call(definition="d2")).mcp_change == "server"


def test_plan_mode_lets_a_server_be_asked_that_says_it_only_reads() -> None:
    """Only after approval; its word does not lift a rule, and the others are refused."""
    reader = mcp_call(claims_read_only=True)
    assert evaluate([], reader, "plan").effect == "ask"
    assert evaluate([], mcp_call(), "plan").mode == "plan"
    assert evaluate([msgspec.structs.replace(reader.rule, effect="deny")], reader, "plan").effect == "deny"
    assert reader.may_change_files, "a claim is no proof: what it changes is recorded"


def test_a_server_rule_is_still_known_by_its_name_in_older_events() -> None:
    names: dict[RuleEffect, str] = {
        "allow": "Use mcp__files__read of the MCP server files",
        "deny": "Never: use mcp__files__read of the MCP server files",
    }
    for effect, older in names.items():
        rule = PermissionRule("mcp__files__read", "files", kind="server", effect=effect)
        assert rule_names(rule) == {rule.text, older}
        assert "mcp__" not in rule.text
