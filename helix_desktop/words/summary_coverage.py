"""The words for what a summary names of the messages it covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.context.summaries.summary_coverage import MAX_CHECKED
from helix_desktop.domain.events.summary import Bullet, FactKind, SummaryCoverage
from helix_desktop.domain.text_format import ellipsize, plain_line
from helix_desktop.words.direction import dotted
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_LINE_CHARS = 160  # characters of the facts of a kind that are listed; the first is always
_NAME_CHARS = 70  # characters of a fact, which may be a sentence
_LITERAL: tuple[FactKind, ...] = ("files", "hashes", "commands")  # the others may be Markdown


def coverage_text(coverage: Sequence[SummaryCoverage]) -> str:
    """Return how many facts of each kind a summary and its ledger name; empty where it was not checked."""
    counts = " · ".join(_with_verbatim(_count(kind), kind) for kind in coverage if kind.total)
    return tr("Named in text and lists: {counts}", counts=counts) if counts else ""


@dataclass(frozen=True, slots=True)
class MissingText:
    """What a summary does not name: in `lines`, a kind of fact and those facts; `heading` is above them."""

    heading: str = ""
    lines: tuple[tuple[str, str], ...] = ()

    @property
    def heading_line(self) -> str:
        """Return the heading as a line above others."""
        return tr("{heading}:", heading=self.heading) if self.heading else ""

    @property
    def text(self) -> str:
        """Return all as lines of text."""
        lines = (tr("{kind}: {facts}", kind=kind, facts=facts) for kind, facts in self.lines)
        return "\n".join((self.heading_line, *lines))


NOTHING_MISSING = MissingText()


def missing_rules(coverage: Sequence[SummaryCoverage]) -> tuple[Bullet, ...]:
    """Return the user's instructions and decisions that a summary does not say, in any words."""
    return tuple(rule for kind in coverage if kind.kind == "instructions" for rule in kind.missing)


def missing_rules_text(coverage: Sequence[SummaryCoverage]) -> MissingText:
    """Return these quoted, as far as there is room; empty if the summary says all of them."""
    rules = [kind for kind in coverage if kind.kind == "instructions" and kind.missing]
    lines = tuple((_kind_name(kind.kind), _listed(kind)) for kind in rules)
    return MissingText(tr("Not in the text, added below it"), lines) if lines else NOTHING_MISSING


def added_text(coverage: Sequence[SummaryCoverage]) -> MissingText:
    """Return what stands below the summary because it does not name it, and how much more there is.

    Of each kind a line has as many facts as it has room for.
    """
    listed = ((_kind_name(kind.kind), _listed(kind)) for kind in coverage)
    lines = tuple((kind, facts) for kind, facts in listed if facts)
    return MissingText(tr("Added below it"), lines) if lines else NOTHING_MISSING


def _listed(coverage: SummaryCoverage) -> str:
    """Return the facts that stand below a summary, and how many are named nowhere in the window."""
    listed: list[str] = []
    room = _LINE_CHARS
    for fact in coverage.missing:
        name = " ".join(fact.text.split())
        name = ellipsize(name if coverage.kind in _LITERAL else plain_line(name), _NAME_CHARS)
        if listed and len(name) > room:
            break
        listed.append(name)
        room -= len(name)
    more = len(coverage.missing) - len(listed)
    if more:
        listed.append(tr.plural(more, "and %n more", "and %n more"))
    elsewhere = coverage.total - coverage.named - coverage.verbatim - len(coverage.missing)
    if elsewhere > 0:
        listed.append(tr.plural(elsewhere, "%n more only in the cache", "%n more only in the cache"))
    return dotted(listed)


def _kind_name(kind: FactKind) -> str:
    return {
        "instructions": tr("Instructions"),
        "tasks": tr("Left to do on the todo list"),
        "conclusions": tr("Conclusions"),
        "files": tr("Files"),
        "hashes": tr("Digests"),
        "numbers": tr("Numbers"),
        "commands": tr("Commands"),
    }[kind]


def _count(coverage: SummaryCoverage) -> str:
    count, total = format_integer(coverage.named), coverage.total
    match coverage.kind:
        case "instructions" if total == MAX_CHECKED:
            return tr("{named} of the newest {total} instructions", named=count, total=format_integer(total))
        case "instructions":
            return tr.plural(total, "{named} of %n instruction", "{named} of %n instructions", named=count)
        case "tasks":
            return tr.plural(total, "{named} of %n open task", "{named} of %n open tasks", named=count)
        case "conclusions" if total == MAX_CHECKED:
            return tr("{named} of the newest {total} conclusions", named=count, total=format_integer(total))
        case "conclusions":
            return tr.plural(total, "{named} of %n conclusion", "{named} of %n conclusions", named=count)
        case _:
            return _count_of_names(coverage.kind, count, total)


def _count_of_names(kind: FactKind, count: str, total: int) -> str:
    match kind:
        case "files":
            return tr.plural(total, "{named} of %n file", "{named} of %n files", named=count)
        case "hashes":
            return tr.plural(total, "{named} of %n digest", "{named} of %n digests", named=count)
        case "numbers":
            return tr.plural(total, "{named} of %n number", "{named} of %n numbers", named=count)
        case _:
            return tr.plural(total, "{named} of %n command", "{named} of %n commands", named=count)


def _with_verbatim(text: str, coverage: SummaryCoverage) -> str:
    if not coverage.verbatim:
        return text
    return tr(
        "{counts}, {verbatim} kept word for word", counts=text, verbatim=format_integer(coverage.verbatim)
    )
