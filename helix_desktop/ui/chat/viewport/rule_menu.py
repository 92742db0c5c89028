"""The menu of an approval card: the rules that an answer may save, each with its answers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QMenu

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, change_facts
from helix_desktop.ui.chat.actions import ApprovalAnswer, Decide
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.design.safe_text import escape_command, plain_tooltip
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

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
        menu.addAction(tr("Allows only in the sandbox, denies everywhere")).setEnabled(False)
        menu.addSeparator()
    for number, offer in enumerate(row.offers):
        rule = translate(change_facts(offer, escape_command))
        line = ellipsize(" ".join(rule.split()), _RULE_CHARS).replace("&", "&&")
        answers = menu.addMenu(line) if len(row.offers) > 1 else menu
        heading = answers.menuAction() if answers is not menu else menu.addAction(line)
        heading.setToolTip(plain_tooltip(rule))
        heading.setEnabled(answers is not menu)
        for answer, label in _ANSWERS.items():
            action = answers.addAction(translate(label))
            action.setObjectName(f"{answer}:{number}")
            decision = Decide(row.key.call_id, answer, number)
            action.triggered.connect(lambda _=False, decision=decision: decide(decision))
