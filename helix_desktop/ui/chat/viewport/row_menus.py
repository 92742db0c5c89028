"""Menus of rows: what a user can do with a call and its output, rules to save, and where branches begin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, change_facts
from helix_desktop.ui.chat.actions import (
    ApprovalAnswer,
    CacheNow,
    CompactUpTo,
    Decide,
    EditMessage,
    OpenSubagent,
    RetryAnswer,
    ShowRewriteOf,
)
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AssistantRow,
    Row,
    ToolRow,
    TurnFooterRow,
    UserRow,
)
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.design.menus import popup_below
from helix_desktop.ui.design.safe_text import escape_command, plain_tooltip
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import (
    BranchSession,
    ChooseForm,
    Intent,
    OpenCacheEntry,
    Pin,
    Recall,
    RewindTo,
    ShareSession,
    Unpin,
    perform,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_NOT_IN_WINDOW = frozenset({"cached", "excluded", "folded", "left_out", "observed", "handed_over"})
_CACHABLE = frozenset({"in_window", "recalled"})
_MIN_FORM_BYTES = 4 * 1024  # bytes; a smaller output has nothing to leave out

_RULE_CHARS = 90  # of one line; the tooltip has all of a longer rule
_ANSWERS: dict[ApprovalAnswer, TranslatableText] = {
    "session": text("Allow for this session"),
    "always": text("Always allow in workspace"),
    "never": text("Never allow in workspace"),
}


def fill_rule_menu(menu: QMenu, row: ApprovalRow, decide: Callable[[Decide], object]) -> None:
    """Add a rule with the answers that save it; of several, each as a menu of its own."""
    menu.setToolTipsVisible(True)
    if row.is_rule_confined:
        menu.addAction(tr("“Allow” holds in the sandbox only, “Never allow” everywhere")).setEnabled(False)
        menu.addSeparator()
    for number, offer in enumerate(row.offers):
        rule = translate(change_facts(offer, escape_command))
        line = ellipsize(" ".join(rule.split()), _RULE_CHARS).replace("&", "&&")
        answers = menu.addMenu(line) if len(row.offers) > 1 else menu
        heading = answers.menuAction() if answers is not menu else menu.addAction(line)
        heading.setToolTip(plain_tooltip(rule))
        heading.setEnabled(answers is not menu)
        for answer, label in _ANSWERS.items():
            if row.request.lasting_refusal and answer != "never":
                continue
            action = answers.addAction(translate(label))
            action.setObjectName(f"{answer}:{number}")
            action.triggered.connect(partial(decide, Decide(row.key.call_id, answer, number)))


class MenuEntry(NamedTuple):
    name: str
    action: Intent
    label: str
    icon_name: str


def menu_groups(row: ToolRow) -> list[list[MenuEntry]]:
    """Return what can be done with a call as it stands now; a line goes between two groups."""
    groups = [_pin_entries(row), _form_entries(row), _content_entries(row)]
    if row.subagent_session:
        open_subagent = OpenSubagent(row.subagent_session)
        groups.append([MenuEntry("subagent", open_subagent, tr("Open subagent session"), "bot")])
    if row.badge in _NOT_IN_WINDOW:
        show = ShowRewriteOf(row.answer_seq)
        groups.append([MenuEntry("timeline", show, tr("Show in timeline"), "history")])
    return [group for group in groups if group]


def _branch_entries(row: Row, *, is_editable: bool) -> list[MenuEntry]:
    """Return the branches that can begin at a row of a turn whose message `is_editable`."""
    if not is_editable or row.key.part not in ("event", "call") or not row.key.seq:
        return []
    match row:
        case UserRow():
            return [
                MenuEntry("edit", EditMessage(row.key.seq), tr("Edit message"), "pencil"),
                MenuEntry("rewind", RewindTo(row.key.seq), tr("Rewind to here…"), "rewind"),
            ]
        case AssistantRow() | TurnFooterRow() | ToolRow():
            branch = BranchSession(row.answer_seq if isinstance(row, ToolRow) else row.key.seq)
            retry = RetryAnswer(row.key.seq)
            entries = (
                [
                    MenuEntry("branch", branch, tr("Branch from here"), "git-branch"),
                    MenuEntry("share", ShareSession(branch.seq), tr("Share up to here…"), "external-link"),
                ]
                if branch.seq
                else []
            )
            return [*entries, MenuEntry("retry", retry, tr("Retry this turn"), "rotate-ccw")]
        case _:
            return []


def _summary_entries(row: Row) -> list[MenuEntry]:
    """Return the way to a handover that ends at a message."""
    if not isinstance(row, UserRow | AssistantRow | ToolRow) or row.key.part not in ("event", "call"):
        return []
    seq = row.answer_seq if isinstance(row, ToolRow) else row.key.seq
    if not seq:
        return []
    return [MenuEntry("compact", CompactUpTo(seq), tr("Compact up to here…"), "layers")]


def _pin_entries(row: ToolRow) -> list[MenuEntry]:
    if not row.digest or not row.answer_seq:
        return []
    if row.badge == "pinned":
        return [MenuEntry("unpin", Unpin(row.answer_seq), tr("Unpin"), "pin-off")]
    pin = MenuEntry("pin", Pin(row.answer_seq), tr("Pin in context"), "pin")
    if row.badge not in _CACHABLE:
        return [pin]
    return [pin, MenuEntry("cache_now", CacheNow(row.answer_seq), tr("Cache now…"), "zap")]


def _form_entries(row: ToolRow) -> list[MenuEntry]:
    """Return the other forms in which the agent could see the output from the next request on."""
    if not row.can_change_form:
        return []
    forms: list[tuple[Form, str, str]] = []
    if row.form != "full" or row.badge == "cached":
        forms.append(("full", tr("Send full output"), "maximize-2"))
    if row.size_bytes >= _MIN_FORM_BYTES:
        if row.form != "preview":
            forms.append(("preview", tr("Send preview"), "list-filter"))
        forms.append(("compact", tr("Send extract…"), "minimize-2"))
    return [
        MenuEntry(f"form:{form}", ChooseForm(row.answer_seq, form, row.instructions), label, glyph)
        for form, label, glyph in forms
    ]


def _content_entries(row: ToolRow) -> list[MenuEntry]:
    entries = []
    if row.digest:
        entries = [
            MenuEntry("recall", Recall(row.digest), tr("Recall into message"), "corner-down-left"),
            MenuEntry("cache", OpenCacheEntry(row.digest), tr("Open in cache"), "database"),
        ]
    for number, digest in enumerate(row.arguments, 1):
        label = tr("Open cached argument")
        if len(row.arguments) > 1:
            label = tr("Open cached argument {number}", number=number)
        entries.append(MenuEntry(f"argument:{digest}", OpenCacheEntry(digest), label, "braces"))
    return entries


class ToolMenu:
    """Opens below a button of a card, and fills the menu of a right click on one."""

    def __init__(self, chat_viewport: ChatViewport, viewport: QWidget) -> None:
        self._chat_viewport, self._viewport = chat_viewport, viewport

    def open(self, index: int, area: HitArea) -> None:
        row = self._chat_viewport.model.row(index)
        if not isinstance(row, ToolRow | ApprovalRow):
            return
        menu = QMenu(self._viewport)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if isinstance(row, ApprovalRow):
            fill_rule_menu(menu, row, partial(perform, self._viewport))
        else:
            self.fill(menu, row)
        popup_below(menu, self._viewport, self._chat_viewport.place_of(index, area))

    def fill(self, menu: QMenu, row: ToolRow) -> None:
        for at, group in enumerate(menu_groups(row)):
            if at:
                menu.addSeparator()
            self._add(menu, group)

    def fill_branches(self, menu: QMenu, index: int) -> None:
        """Add what begins a branch at a row, below a line."""
        model = self._chat_viewport.model
        rows = (model.raw_row(at) for at in range(index, -1, -1))
        message = next((row for row in rows if isinstance(row, UserRow)), None)
        is_editable = message is not None and message.is_editable
        row = model.row(index)
        for entries in (_branch_entries(row, is_editable=is_editable), _summary_entries(row)):
            if entries:
                menu.addSeparator()
                self._add(menu, entries)

    def _add(self, menu: QMenu, entries: list[MenuEntry]) -> None:
        theme = self._chat_viewport.style.theme
        for entry in entries:
            action = QAction(icon(entry.icon_name, theme.muted, 15), entry.label, menu)
            action.setObjectName(entry.name)
            action.triggered.connect(partial(perform, self._viewport, entry.action))
            menu.addAction(action)
