"""The cards that wait for the user: each stands at the end of the chat until it has its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.question import Question
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import ANY, ApprovalRequest, PermissionRule
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.changed_files import patch_files
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_types import MAX_REASON_PLACES, ApprovalRow, AskRow, QuestionRow
from helix_desktop.words.file_coverage import uncovered_details, uncovered_line
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_PATTERN_CHARS = 40  # of the words of a button
_REPEATED_CHARS = 120  # of a command that somebody may want to repeat as it is
_FEW_CHARS = 80  # of a command or the files of an edit


class AskRows:
    """The rows of open approval requests and questions, in the order in which they came."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._rows: dict[RowKey, AskRow] = {}
        self._numbers: dict[RowKey, int] = {}  # of those that came while others waited, answered ones too
        self._numbers_by_session: dict[str, dict[RowKey, int]] = {}
        self._unsafe: set[RowKey] = set()  # of those that are not allowed along with others

    def show_session(self, session_id: str) -> None:
        """Forget all rows, since the chat shows another session, by id; the numbers of its cards stay."""
        self._rows.clear()
        self._unsafe.clear()
        self._numbers = self._numbers_by_session.setdefault(session_id, {})

    def show(self, ask: ApprovalRequest | Question, is_late: bool = False) -> bool:
        """Show an open request or question; `is_late` if its turn has ended. Return True if it is new."""
        row = _question_row(ask, is_late) if isinstance(ask, Question) else _approval_row(ask)
        is_new = row.key not in self._rows
        if not self._rows and row.key not in self._numbers:
            self._numbers.clear()  # those of cards that were answered while another session was shown
        self._rows[row.key] = row
        self._numbers.setdefault(row.key, len(self._numbers) + 1)
        if isinstance(ask, ApprovalRequest) and not ask.is_safe:
            self._unsafe.add(row.key)
        self._model.put(row)
        self._number()
        return is_new

    def drop_others(self, call_ids: Iterable[str] = ()) -> None:
        """Drop the rows of all calls but these, which still wait."""
        waiting = set(call_ids)
        gone = [key for key in self._rows if key.call_id not in waiting]
        for key in gone:
            del self._rows[key]
            self._model.remove(key)
        if gone:
            self._number()

    def _number(self) -> None:
        """Say at each card which of how many it is, and let each offer to allow all."""
        if not self._rows:
            self._numbers.clear()
            self._unsafe.clear()
        total, together = len(self._numbers), self._allowed_together()
        for key, row in list(self._rows.items()):
            place = tr("{place} of {total}", place=self._numbers[key], total=total) if total > 1 else ""
            numbered = replace(row, position=place)
            if isinstance(numbered, ApprovalRow):
                offered = together if key.call_id in together else ()
                others = tuple(self._few_words(other) for other in offered if other != key.call_id)
                numbered = replace(numbered, allowed_together=offered, others=others)
            if row != numbered:
                self._rows[key] = numbered
                self._model.replace(key, numbered)

    def _few_words(self, call_id: str) -> str:
        """Return what a call that waits does: the files that it edits, or its command."""
        row = self._rows[_ask_key(call_id)]
        assert isinstance(row, ApprovalRow)
        files = [file.name for file in patch_files(row.detail)] if row.kind == "edit" else []
        words = f"{display_name(row.tool)} {', '.join(files)}" if files else row.summary
        words = row.detail if row.kind == "command" else words
        return ellipsize(" ".join(words.split()), _FEW_CHARS)

    def _allowed_together(self) -> tuple[str, ...]:
        """Return the calls of the agent's answer that wait if one click may allow them."""
        own = [row.key for row in self._rows.values() if isinstance(row, ApprovalRow) and not row.requester]
        is_offered = len(own) > 1 and not self._unsafe.intersection(own)
        return tuple(key.call_id for key in own) if is_offered else ()


def _ask_key(call_id: str) -> RowKey:
    return RowKey(0, call_id, "approval")


def _question_row(question: Question, is_late: bool) -> QuestionRow:
    return QuestionRow(_ask_key(question.call_id), question, is_late=is_late)


def _approval_row(request: ApprovalRequest) -> ApprovalRow:
    rules = request.suggested_rules or (request.rule,)
    coverage, lost = request.coverage, request.data_loss
    number, always = _always_offer(rules) if request.kind == "command" else (0, "")
    if lost:  # the card's reason names the first of them
        coverage = FileCoverage(places=lost, uncovered=len(lost), is_complete=True)
    return ApprovalRow(
        _ask_key(request.call_id),
        request.tool,
        translate(request.summary),
        translate(request.detail),
        tuple(msgspec.structs.replace(rule, confined=False).text for rule in rules),
        request.kind,
        request.confined or request.is_sandboxed,
        request.asking_rule,
        requester=request.subagent_title,
        uncovered=uncovered_line(coverage) if coverage and not 0 < len(lost) <= MAX_REASON_PLACES else "",
        uncovered_places=uncovered_details(coverage) if coverage else (),
        data_loss=tuple(place.path for place in lost),
        auto_executed=request.auto_executed,
        is_too_long=request.is_too_long,
        secrets=request.secrets,
        has_network=request.has_network,
        is_rule_confined=any(rule.confined for rule in rules),
        server=request.server,
        description=request.description,
        mcp_change=request.mcp_change,
        offers_demo_calls=request.offers_demo_calls,
        effect=translate(request.effect),
        always="" if request.lasting_refusal else always,
        always_offer=number,
        lasting_refusal=request.lasting_refusal,
        variables=request.variables,
        uncovering_rule=request.uncovering_rule,
    )


def _always_offer(rules: Sequence[PermissionRule]) -> tuple[int, str]:
    """Return the number of the rule that covers what is repeated, and how a button names what it allows."""
    for number, rule in enumerate(rules):
        if rule.kind == "pattern":
            command = ellipsize(rule.subject.removesuffix(f" {ANY}"), _PATTERN_CHARS)
            return number, tr("“{command}”", command=command)
    is_readable = rules and len(rules[0].subject) <= _REPEATED_CHARS and "\n" not in rules[0].subject
    return 0, tr("this command") if is_readable else ""
