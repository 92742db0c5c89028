"""What differs between two handovers, section by section: what was dropped comes first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from helix_desktop.context.summaries.handover import comparable_sentence
from helix_desktop.domain.events.summary import SECTIONS, Bullet, HandoverMade, Section
from helix_desktop.domain.file_history.line_match import Span, SpanBudget, compare_words

ItemChange: TypeAlias = Literal["dropped", "below", "changed", "moved", "added", "same"]
"""`below`: no section has it any more, but the list below them, of what they don't name, says the same."""
ITEM_CHANGES: tuple[ItemChange, ...] = get_args(ItemChange)
MISSING_CHANGES: tuple[ItemChange, ...] = ("dropped", "below")
"""What no section of the later handover has."""

_MIN_SAME = 0.6  # of the characters of both: below it, one sentence was dropped and another one added
_MAX_OTHER_CHARS = 24  # that differ between two sentences of different events; two requests may begin alike
_SHARED_WORDS = 0.6  # of the words of the shorter of two sentences of one event: so many say the same
_WORD = re.compile(r"\w{3,}")


class ComparedItem(msgspec.Struct, frozen=True):
    """One sentence in both handovers, or in one of them; `moved_from` is the title of its former section.

    Of a changed one, the spans are what differs, in characters of `comparable_sentence` of its text.
    """

    change: ItemChange
    before: Bullet | None = None
    after: Bullet | None = None
    moved_from: str = ""
    before_spans: tuple[Span, ...] = ()
    after_spans: tuple[Span, ...] = ()


class ComparedSection(msgspec.Struct, frozen=True):
    """One section, its items in the order of `ITEM_CHANGES`."""

    title: str
    items: tuple[ComparedItem, ...] = ()

    def count(self, change: ItemChange) -> int:
        """Return how many items changed in this way."""
        return sum(item.change == change for item in self.items)


def listed_below(handover: HandoverMade) -> tuple[Bullet, ...]:
    """Return the facts that stand below a handover's sections because they don't name them."""
    return tuple(fact for kind in handover.coverage for fact in kind.missing)


def compare_handovers(
    before: Sequence[Section], after: Sequence[Section], below: Sequence[Bullet] = ()
) -> tuple[ComparedSection, ...]:
    """Return all sections of two handovers, those with dropped items first, else in their usual order.

    Sentences are equal whatever their spaces, sources and mark of an unsupported one. One that stands in
    another section was moved, one of which most characters are the same was changed; of another event, one
    of which all but a few are. `below` are the facts listed below the later one's sections.
    """
    titles = dict.fromkeys((*SECTIONS, *(section.title for section in (*before, *after))))
    old, new = _by_title(before, titles), _by_title(after, titles)
    items: dict[str, list[ComparedItem]] = {title: [] for title in titles}
    for title in titles:
        for was, now in _take_equal(old[title], new[title]):
            items[title].append(ComparedItem("same", was, now))
    for title in titles:
        for old_title in titles:
            for was, now in _take_equal(old[old_title], new[title]):
                items[title].append(ComparedItem("moved", was, now, old_title))
    budget = SpanBudget()
    for title in titles:
        items[title] += _take_changed(old[title], new[title], budget)
        items[title] += (
            ComparedItem("below" if _is_among(bullet, below) else "dropped", before=bullet)
            for bullet in old[title]
        )
        items[title] += (ComparedItem("added", after=bullet) for bullet in new[title])
        items[title].sort(key=lambda item: ITEM_CHANGES.index(item.change))
    sections = (ComparedSection(title, tuple(items[title])) for title in titles)
    return tuple(sorted(sections, key=lambda section: not section.count("dropped")))


def _is_among(bullet: Bullet, below: Iterable[Bullet]) -> bool:
    """Return True if a fact of one of the sentence's events has most of its words."""
    words = _words(bullet)
    same_event = [_words(fact) for fact in below if {*fact.sources} & {*bullet.sources}]
    return any(len(words & fact) >= max(1, _SHARED_WORDS * min(len(words), len(fact))) for fact in same_event)


def _words(bullet: Bullet) -> frozenset[str]:
    return frozenset(_WORD.findall(comparable_sentence(bullet.text).lower()))


def _by_title(sections: Iterable[Section], titles: Iterable[str]) -> dict[str, list[Bullet]]:
    bullets: dict[str, list[Bullet]] = {title: [] for title in titles}
    for section in sections:
        bullets[section.title] += section.bullets
    return bullets


def _take_equal(old: list[Bullet], new: list[Bullet]) -> list[tuple[Bullet, Bullet]]:
    """Remove the sentences that are in both lists from them, and return them in the order of `new`."""
    places: dict[str, list[int]] = {}
    for place, bullet in enumerate(old):
        places.setdefault(comparable_sentence(bullet.text), []).append(place)
    pairs: list[tuple[int, Bullet]] = []
    rest: list[Bullet] = []
    for bullet in new:
        equal = places.get(comparable_sentence(bullet.text))
        if equal:
            pairs.append((equal.pop(0), bullet))
        else:
            rest.append(bullet)
    result = [(old[place], bullet) for place, bullet in pairs]
    paired = {place for place, _ in pairs}
    old[:] = [bullet for place, bullet in enumerate(old) if place not in paired]
    new[:] = rest
    return result


def _take_changed(old: list[Bullet], new: list[Bullet], budget: SpanBudget) -> list[ComparedItem]:
    """Remove the sentences that became others from both lists, and return them."""
    removed, added = ([comparable_sentence(bullet.text) for bullet in bullets] for bullets in (old, new))
    compared = [
        pair
        for pair in compare_words(removed, added, budget)
        if _same_share(removed[pair.old], pair.old_spans, added[pair.new], pair.new_spans) >= _MIN_SAME
        and (
            _may_be_of_one_event(old[pair.old], new[pair.new])
            or max(_length(pair.old_spans), _length(pair.new_spans)) <= _MAX_OTHER_CHARS
        )
    ]
    items = [
        ComparedItem("changed", old[pair.old], new[pair.new], "", pair.old_spans, pair.new_spans)
        for pair in compared
    ]
    for place in sorted((pair.old for pair in compared), reverse=True):
        del old[place]
    for place in sorted((pair.new for pair in compared), reverse=True):
        del new[place]
    return items


def _may_be_of_one_event(old: Bullet, new: Bullet) -> bool:
    return not old.sources or not new.sources or bool({*old.sources} & {*new.sources})


def _same_share(old: str, old_spans: Iterable[Span], new: str, new_spans: Iterable[Span]) -> float:
    return 1 - (_length(old_spans) + _length(new_spans)) / max(1, len(old) + len(new))


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)
