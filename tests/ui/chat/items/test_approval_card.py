"""What the approval card says about its keys, the sandbox and the rules that may be saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.domain.tools import ApprovalRequest, EditedFile, LastingRefusal, McpChange, ProtectedPath
from helix_desktop.permissions.rules import suggest_command_rules, suggest_server_rules
from helix_desktop.tools.shell.sandbox_scope import SandboxKind, describe_sandbox
from helix_desktop.ui.chat.actions import Decide
from helix_desktop.ui.chat.items.approval import ApprovalItem
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.presenter import AskRows
from helix_desktop.ui.chat.rows.changed_file_rows import edited_file_lines
from helix_desktop.ui.chat.rows.row_texts import bar_target
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ChatModel
from helix_desktop.ui.chat.viewport.interactions import fill_rule_menu
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import LIGHT
from tests.support.window.chat_geometry import tool_row
from tests.support.window.chips import sample_chip

_RULES = suggest_command_rules("git push", confined=True)
_CONFINED = ApprovalRequest(
    *("p", "run_command", "git push", "Run it", "git push", _RULES[0], "command"),
    confined=True,
    suggested_rules=_RULES,
    is_sandboxed=True,
)


@pytest.fixture
def view(qtbot: QtBot) -> Iterator[ChatView]:
    chat_view = ChatView(ChatModel(), LIGHT)
    qtbot.addWidget(chat_view)
    chat_view.show_answer_tips(frozenset({("once", "Ctrl+1"), ("deny", "Ctrl+2")}))
    yield chat_view
    chat_view.highlighter.finish()


def _shown(view: ChatView, request: ApprovalRequest, width: float = 900) -> tuple[ApprovalRow, ApprovalItem]:
    """Show a card alone; return it."""
    view.chat_viewport.model.reset([])
    AskRows(view.chat_viewport.model).show(request)
    row = view.chat_viewport.model.raw_rows()[0]
    item = view.chat_viewport.item(0)
    assert isinstance(row, ApprovalRow)
    assert isinstance(item, ApprovalItem)
    item.layout(width)
    return row, item


def _words(view: ChatView, **facts: object) -> str:
    """Return what stands below the command of a card."""
    return _shown(view, replace(_CONFINED, **facts))[1].texts[1].text()


def _more(view: ChatView, request: ApprovalRequest) -> str:
    """Return what a click on “More” shows."""
    row, item = _shown(view, request)
    before = {text.text() for text in item.texts}
    view.toggle(row.key, "more")
    return "".join(text.text() for text in view.chat_viewport.item(0).texts if text.text() not in before)


def _keys(item: ApprovalItem) -> list[str]:
    """Return what the tooltips of its answers say."""
    return [area.tip for area in item.hit_areas if area.name in ("decide:once", "decide:deny")]


def test_it_says_which_button_allows_one_call_of_the_demo_and_which_all(view: ChatView) -> None:
    demo = replace(_CONFINED, offers_demo_calls=True)
    _, item = _shown(view, demo)
    answers = [area.label for area in item.hit_areas if area.name.startswith("decide:")]
    assert answers == ["Run all demo calls", "Allow", "Deny", "Always allow “git push” in this workspace"]
    assert item.backward_entry == "decide:demo"
    assert _keys(item) == ["Ctrl+1", "Ctrl+2"], "the keys never allow more than a call"
    _, plain = _shown(view, _CONFINED)
    assert plain.hit_areas[0].label == "Allow"


@pytest.mark.parametrize(
    ("refusal", "why"), [("destroys", "Can destroy files or commits."), ("leaves", "Run it")]
)
def test_what_destroys_or_leaves_the_sandbox_is_never_allowed_always(
    view: ChatView, qtbot: QtBot, refusal: LastingRefusal, why: str
) -> None:
    row, item = _shown(view, replace(_CONFINED, lasting_refusal=refusal))
    assert not any(area.name == "decide:always" for area in item.hit_areas)
    assert item.texts[1].text().startswith(why), "not only where a click shows it"
    menu = QMenu()
    qtbot.addWidget(menu)
    fill_rule_menu(menu, row, lambda _: None)
    names = [action.objectName() for inner in menu.findChildren(QMenu) for action in inner.actions()]
    assert names == ["never:0", "never:1"]


def test_it_calls_a_sandbox_with_network_what_it_is(view: ChatView) -> None:
    assert _shown(view, _CONFINED)[1].sandbox_text == "Sandboxed"
    networked = replace(_CONFINED, confined=False, has_network=True)
    assert _shown(view, networked)[1].sandbox_text == "Sandboxed, with network"
    said = replace(_CONFINED, effect="Sandboxed: no network.")
    assert _shown(view, said)[1].sandbox_text == "", "once"
    free = replace(networked, is_sandboxed=False)
    assert _shown(view, free)[1].sandbox_text == "Not sandboxed"


@pytest.mark.parametrize(
    ("kind", "network"), [("bubblewrap", False), ("bubblewrap", True), ("landlock", False), ("none", True)]
)
def test_what_may_reach_the_network_says_one_thing_of_its_sandbox(
    view: ChatView, kind: SandboxKind, network: bool
) -> None:
    """The card of curl said “Reaches outside the sandbox. Sandboxed: … no network.”"""
    effect = describe_sandbox(kind, network, network_reach="other computers")
    request = replace(
        _CONFINED, effect=effect, lasting_refusal="leaves", confined=kind == "bubblewrap" and not network,
        is_sandboxed=kind != "none", has_network=network,
    )  # fmt: skip
    assert [text.text() for text in _shown(view, request)[1].texts] == ["git push", effect]
    assert _more(view, request) == "Always allow isn't offered for what may reach outside the sandbox."


def test_it_names_protected_paths_but_for_those_that_it_surely_shows(view: ChatView) -> None:
    paths = (
        ProtectedPath(".env", "secret"), ProtectedPath("a.pem", "secret"),
        ProtectedPath("/etc\u202e", "outside"), ProtectedPath(".", "ignored"),
    )  # fmt: skip
    assert _words(view, secrets=(".env",), protected_paths=paths).startswith(
        "May show keys or passwords to the model: .env. May use files with keys or passwords: a.pem. "
        "May use files outside the workspace: /etc\\u202e. "
        "May use files that all tools leave out: anywhere in the workspace. "
    )


def test_it_names_what_a_call_destroys_and_not_what_it_leaves(view: ChatView) -> None:
    places = tuple(UncoveredPlace(f"{number}.log", "ignored") for number in range(7))
    coverage = FileCoverage(places=places, uncovered=7, is_complete=True)
    few = replace(_CONFINED, coverage=coverage, data_loss=places[:2])
    row, item = _shown(view, few)
    assert item.texts[1].text() == "Destroys what can't be undone: 0.log, 1.log. Run it"
    assert row.uncovered == ""
    many = replace(few, data_loss=places[:6])
    assert ": 0.log, 1.log, 2.log, 3.log, 4.log and 1 more place." in _shown(view, many)[1].texts[1].text()
    assert all(f"{number}.log · " in _more(view, many) for number in range(6))
    _, item = _shown(view, replace(few, data_loss=()))
    assert item.texts[1].text() == "Can't be undone in 0.log, 1.log, 2.log and 4 more places. Run it"


def test_what_it_may_do_is_one_line_with_the_gravest_first(view: ChatView) -> None:
    """Why it is asked, and why no rule is offered, is behind “More”."""
    coverage = FileCoverage(places=(UncoveredPlace(".git\u202e", "git"),), uncovered=1, is_complete=True)
    effect = "Sandboxed: writes only in the workspace and a temporary folder; no network."
    request = replace(
        _CONFINED, effect=effect, coverage=coverage, lasting_refusal="destroys", asking_rule="Ask: rm *",
        secrets=(".env",), effect_details=("It can read what .agentignore excludes.",),
    )  # fmt: skip
    _, item = _shown(view, request)
    assert [text.text() for text in item.texts] == [
        "git push",
        "Can destroy files or commits. May show keys or passwords to the model: .env. "
        f"Can't be undone in .git\\u202e. {effect}",
    ]
    assert _more(view, request).splitlines() == [
        "Approval required by rule: Ask: rm *",
        "Always allow isn't offered for what can destroy files or commits.",
        "It can read what .agentignore excludes.",
        ".git\\u202e · Belongs to git",
    ]
    free = replace(request, effect="Not sandboxed.", confined=False, is_sandboxed=False)
    words = _shown(view, free)[1].texts[1].text()
    assert words.startswith("Can destroy files or commits. Not sandboxed. May show"), "it is a warning itself"
    plain = replace(_CONFINED, effect=effect)
    _, item = _shown(view, plain)
    assert item.texts[1].text() == effect
    assert not _more(view, plain)


def test_the_first_of_several_cards_alone_names_the_keys(view: ChatView) -> None:
    rows = AskRows(view.chat_viewport.model)
    for call_id in "pq":
        rows.show(replace(_CONFINED, call_id=call_id))
    hints = []
    for number in range(2):
        item = view.chat_viewport.item(number)
        assert isinstance(item, ApprovalItem)
        item.layout(900)
        hints.append(_keys(item))
    assert hints == [["Ctrl+1", "Ctrl+2"], ["", ""]]


def test_deny_says_that_it_takes_what_is_typed_as_the_reason(qtbot: QtBot) -> None:
    page = ChatPage()
    qtbot.addWidget(page)
    AskRows(page.model).show(_CONFINED)
    editor = page.composer.editor

    def label() -> str:
        item = page.view.chat_viewport.item(0)
        item.layout(900)
        area = item.hit_area("decide:deny")
        assert area is not None
        return area.label

    labels = [label()]
    for typed in (" ", "Use make", "/compact", "/tmp/a is the folder"):
        editor.setPlainText(typed)
        labels.append(label())
    reason = "Deny with your message"
    assert labels == ["Deny", "Deny", reason, "Deny", reason]
    page.composer.set_attachments([sample_chip("a.txt", "1.2 KB")])
    assert label() == "Deny", "a reason has no attachments"
    page.composer.set_attachments([])
    page.composer.show_asks(1, has_question=True)
    assert label() == "Deny", "it is an answer"
    page.view.highlighter.finish()


def test_the_last_card_offers_to_allow_all_if_each_is_safe(view: ChatView) -> None:
    """Each of them is in sight as a whole above that button."""
    model = view.chat_viewport.model
    safe = replace(_CONFINED, is_safe=True)
    for other, offered in (
        (safe, ("p", "q")),
        (_CONFINED, ()),
        (replace(safe, subagent_title="Read the log"), ()),
    ):
        model.reset([])
        rows = AskRows(model)
        rows.show(replace(safe, call_id="p"))
        rows.show(replace(other, call_id="q"))
        allowed = [row.allowed_together for row in model.raw_rows() if isinstance(row, ApprovalRow)]
        assert allowed == [(), offered]


def test_a_card_has_its_number_after_a_switch_of_sessions(view: ChatView) -> None:
    model = view.chat_viewport.model
    rows = AskRows(model)

    def show(session_id: str, *call_ids: str) -> list[str]:
        model.reset([])
        rows.show_session(session_id)
        for call_id in call_ids:
            rows.show(replace(_CONFINED, call_id=call_id))
        return [row.position for row in model.raw_rows() if isinstance(row, ApprovalRow)]

    assert show("a", "p", "q", "r") == ["1 of 3", "2 of 3", "3 of 3"]
    rows.drop_others("qr")
    assert show("b", "x") == [""]
    assert show("a", "q", "r") == ["2 of 3", "3 of 3"]
    assert show("b") == []
    assert show("a", "s", "t") == ["1 of 2", "2 of 2"], "all others have their answers"


def test_an_edit_has_the_colors_of_its_code(view: ChatView) -> None:
    diff = diff_contents(b"x = 'old'\ndef f(): pass\n", b"x = 'new'\ndef f(): pass\n")
    lines = edited_file_lines(EditedFile("a.py", diff), 9).lines
    strings = [
        "".join(line.text[start:end] for start, end, role in line.runs if role == "string") for line in lines
    ]
    assert strings == ["'old'", "'new'", ""]
    assert [role for _, _, role in lines[2].runs].count("keyword") == 2
    assert not edited_file_lines(EditedFile("notes", diff), 9).lines[0].runs


def test_spaces_that_look_like_plain_ones_are_marked_in_commands_alone(view: ChatView) -> None:
    spaces = "\u00a0\u1680\u2000\u2005\u200a\u202f\u205f\u3000"
    codes = "".join(f"\\u{ord(space):04x}" for space in spaces)
    command = f"rm\u00a0-rf {spaces}x"
    rules = suggest_command_rules(command, confined=True)
    ask = replace(_CONFINED, subject=command, detail=command, rule=rules[0], suggested_rules=rules)
    row, item = _shown(view, ask)
    assert f"rm\\u00a0-rf {codes}x" in [text.text() for text in item.texts]
    assert row.detail == command, "what is allowed is what runs"
    target = tool_row("t", "run_command", command)
    assert bar_target(target) == f"rm\\u00a0-rf {codes}x"
    assert bar_target(tool_row("t", "read_file", command)) == command
    _, item = _shown(view, replace(ask, kind="other"))
    assert command in [text.text() for text in item.texts]


def test_it_shows_what_a_server_says_of_its_tool(view: ChatView) -> None:
    rule = suggest_server_rules("mcp__shelf__dump", "shelf", "d", {})[0]
    ask = ApprovalRequest(
        *("p", "mcp__shelf__dump", "shelf: dump", "shelf: Dump", "{}", rule, "mcp"),
        server="shelf",
        description="Deletes \u202eall.\U000e0041\nSecond line",
    )
    _, item = _shown(view, ask)
    texts = [text.text() for text in item.texts]
    assert "What shelf says about this tool, not checked by Helix:" in texts
    assert "Deletes \\u202eall.\\U000e0041\nSecond line" in texts
    assert "open:about" not in [area.name for area in item.hit_areas]
    _, item = _shown(view, replace(ask, description="word " * 400), 600)
    assert "open:about" in [area.name for area in item.hit_areas], "the rest of it, on demand"
    assert max(len(text.text()) for text in item.texts) <= 400
    silent = [text.text() for text in _shown(view, replace(ask, description=""))[1].texts]
    assert "shelf does not say what this tool does." in silent
    for change in filter(None, get_args(McpChange)):
        texts = [text.text() for text in _shown(view, replace(ask, mcp_change=change))[1].texts]
        assert any(text.startswith("The server has changed since you allowed this") for text in texts)


def test_the_command_comes_first_and_whole(view: ChatView) -> None:
    command = "\n".join(f"echo {number}" for number in range(13))
    _, item = _shown(view, replace(_CONFINED, detail=command, effect="Writes only in the workspace."))
    first, second, *_ = sorted(item.texts, key=lambda text: text.y)
    assert (first.text(), second.text()) == (command, "Writes only in the workspace.")


@pytest.mark.parametrize(
    ("command", "label", "rule"),
    [
        ("cd web && npm test 2>&1 | tail -20", "“npm test”", "Run commands like: npm test *"),
        ("python3 -c 1", "this command", "Run: python3 -c 1"),
        ("python3 - <<'E'\nprint(1)\nE", "", ""),  # nobody repeats a script word by word
    ],
)
def test_a_button_saves_the_rule_that_its_tooltip_says(
    view: ChatView, command: str, label: str, rule: str
) -> None:
    rules = suggest_command_rules(command, confined=True)
    row, item = _shown(view, replace(_CONFINED, suggested_rules=rules))
    offered = [(area.label, area.tip) for area in item.hit_areas if area.name == "decide:always"]
    assert offered == [
        (f"Always allow {label} in this workspace", f"Saves a rule: {rule}, in the sandbox")
    ] * bool(label)
    assert row.is_rule_confined, "the label says where they allow"
    if label == "“npm test”":
        assert [area.action for area in item.hit_areas if area.name == "decide:always"] == [
            Decide("p", "always", row.request.offered_rules[1])
        ]
        assert row.offers[1] == rule


def test_it_says_first_what_is_grave(view: ChatView) -> None:
    mcp = _shown(view, replace(_CONFINED, kind="mcp", confined=False, is_sandboxed=False))[1]
    assert mcp.sandbox_text == "Not sandboxed"
    assert mcp.texts[1].text().endswith("only files in this folder can be undone.")
    assert _words(view, is_too_long=True).startswith("Too long or too nested to be checked.")
    planted = "Other programs may run what it writes: .envrc, .npmrc."
    assert _words(view, auto_executed=(".envrc", ".npmrc")).startswith(planted)
    hooks = tuple(f".husky/{number}" for number in range(7))
    assert ".husky/4 and 2 more places." in _words(view, auto_executed=hooks)


def test_it_says_why_a_saved_rule_does_not_cover_a_command(view: ChatView) -> None:
    rule = "python3 -m unittest *"
    why = "Your rule “python3 -m unittest *” doesn't cover "
    facts = {"uncovering_rule": rule, "variables": ("PYTHONPATH",)}
    assert _words(view, **facts).startswith(f"{why}it: PYTHONPATH can change what runs.")
    assert _words(view, uncovering_rule=rule).startswith(f"{why}it: it may do more than that.")
    parts = ("rm -r build", "make")
    assert _words(view, uncovering_rule=rule, uncovered_parts=parts).startswith(f"{why}“rm -r build”.")
