"""The words for what a summary names of the messages it covers."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.domain.events.summary import FactKind, SummaryCoverage
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.words.direction import dotted
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_LISTED = 6  # names of a list
_NAME_CHARS = 70  # characters of a name, which may be a sentence


def coverage_text(coverage: Sequence[SummaryCoverage]) -> str:
    """Return how many facts of each kind a summary and its ledger name; empty where it was not checked."""
    counts = " · ".join(_count(kind) for kind in coverage if kind.total)
    return tr("Mentions {counts}", counts=counts) if counts else ""


def missing_text(coverage: Sequence[SummaryCoverage]) -> str:
    """Return what was added below the summary because it does not name it; empty if nothing was."""
    names = [ellipsize(fact.text, _NAME_CHARS) for kind in coverage for fact in kind.missing]
    if not names:
        return ""
    return tr("Added below it: {names}", names=list_names(names, _LISTED))


def list_names(names: Sequence[str], limit: int) -> str:
    """Return names, some of which are sentences with commas of their own, and how many more there are."""
    more = len(names) - limit
    return dotted((*names[:limit], tr.plural(more, "%n more", "%n more")) if more > 0 else names)


def _count(coverage: SummaryCoverage) -> str:
    count, total = format_integer(coverage.named), coverage.total
    match coverage.kind:
        case "instructions":
            instructions = tr.plural(
                total, "{named} of %n instruction", "{named} of %n instructions", named=count
            )
            return _with_verbatim(instructions, coverage)
        case "tasks":
            return tr.plural(total, "{named} of %n task left", "{named} of %n tasks left", named=count)
        case "conclusions":
            conclusions = tr.plural(
                total, "{named} of %n conclusion", "{named} of %n conclusions", named=count
            )
            return _with_verbatim(conclusions, coverage)
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
