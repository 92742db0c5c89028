"""The words for what a summary names of the messages it covers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.domain.events.summary import Bullet, SummaryCoverage
from helix_desktop.domain.text_format import ellipsize, plain_line
from helix_desktop.words.direction import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_LINE_CHARS = 160  # characters of the facts of a kind that are listed; the first is always
_NAME_CHARS = 70  # characters of a fact, which may be a sentence


class MissingText(msgspec.Struct, frozen=True):
    """What a summary does not name: in `lines`, a kind of fact and those facts; `heading` is above them."""

    heading: str = ""
    lines: tuple[tuple[str, str], ...] = ()

    @property
    def heading_line(self) -> str:
        return tr("{heading}:", heading=self.heading) if self.heading else ""

    @property
    def text(self) -> str:
        lines = (tr("{kind}: {facts}", kind=kind, facts=facts) for kind, facts in self.lines)
        return "\n".join((self.heading_line, *lines))


NOTHING_MISSING = MissingText()


def missing_rules(coverage: Sequence[SummaryCoverage]) -> tuple[Bullet, ...]:
    """Return the user's instructions and decisions that a summary does not say, in any words."""
    return tuple(rule for kind in coverage if kind.kind == "instructions" for rule in kind.missing)


def missing_rules_text(coverage: Sequence[SummaryCoverage]) -> MissingText:
    """Return these quoted, as far as there is room; empty if the summary says all of them."""
    rules = [kind for kind in coverage if kind.kind == "instructions" and kind.missing]
    lines = tuple((tr("Instructions"), _listed(kind)) for kind in rules)
    return MissingText(tr("Not in the text, added below it"), lines) if lines else NOTHING_MISSING


def _listed(coverage: SummaryCoverage) -> str:
    """Return the facts that stand below a summary, and how many are named nowhere in the window."""
    listed: list[str] = []
    room = _LINE_CHARS
    for fact in coverage.missing:
        name = " ".join(fact.text.split())
        name = ellipsize(plain_line(name), _NAME_CHARS)
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
