"""The sections of a handover: what each is.

A section is declared once, in SECTIONS: what a model is asked for, what editors show and in which order
cards show it comes from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.domain.events.summary import Bullet, Section

_GIST_BULLETS = 2
_SECTION_BULLETS = 3
_GIST_SECTIONS = 2


class SectionKind(msgspec.Struct, frozen=True):
    """One section of every handover.

    `scope` tells a model what belongs there, `rank` is its place on cards, where what is open comes first,
    `priority` that of an observation made of one of its points (1 vital, 3 minor), `priority_of_calls` of
    one that only calls say: the ledger lists it. `is_replaced`: its points are open ones, and those of the
    previous handover that are settled by now go. `is_listed`: the ledger lists what calls did of it.
    Models that do not keep to the title use one of `other_names`.
    """

    title: str
    scope: str
    rank: int
    priority: int
    priority_of_calls: int
    is_replaced: bool = False
    is_listed: bool = False
    other_names: tuple[str, ...] = ()


BACKGROUND = SectionKind(
    "Project Background",
    "what the project is and what the user wants of it; technology, structure, where things are.",
    rank=6,
    priority=1,
    priority_of_calls=1,
    other_names=("Background", "Project", "Project Context", "Project Overview"),
)
DETAILS = SectionKind(
    "Technical Details",
    "constraints found; decisions with their reasons, and the ways that were rejected and why; lessons "
    "from what failed. Where the user changed their mind, what holds now and what it replaced stand in "
    "one bullet.",
    rank=4,
    priority=2,
    priority_of_calls=2,
    other_names=("Details", "Technical Context", "Technical Decisions", "Technical Notes"),
)
COMPLETED = SectionKind(
    "Completed Work",
    "what was changed in which file, and what proved it.",
    rank=3,
    priority=2,
    priority_of_calls=3,
    is_listed=True,
    other_names=("Completed", "Completed Tasks", "Done", "Work Completed", "Work Done"),
)
ISSUES = SectionKind(
    "Current Issues",
    "what fails or is open, with its error text; what blocks the work, and on whom it waits.",
    rank=1,
    priority=2,
    priority_of_calls=2,
    is_replaced=True,
    is_listed=True,
    other_names=("Issues", "Known Issues", "Open Issues", "Current Problems", "Problems"),
)
TODO_ITEMS = SectionKind(
    "TODO Items",
    "what is left, most urgent first.",
    rank=2,
    priority=1,
    priority_of_calls=1,
    is_replaced=True,
    other_names=("TODO", "TODOs", "TODO List", "To-Do", "To-Dos", "Next Steps", "Remaining Work"),
)
PREFERENCES = SectionKind(
    "User Preferences",
    "what the user asked for always, what they forbade, style and way of working.",
    rank=5,
    priority=1,
    priority_of_calls=1,
    other_names=("Preferences", "User Instructions"),
)
SECTIONS = (BACKGROUND, DETAILS, COMPLETED, ISSUES, TODO_ITEMS, PREFERENCES)
"""The sections, in the order in which a model writes and reads them."""
TITLES = tuple(kind.title for kind in SECTIONS)
KINDS = {kind.title: kind for kind in SECTIONS}
"""By title; a stored handover may have others."""
_NUMBERS = {6: "six", 7: "seven", 8: "eight"}


def name_sections(prompt: str) -> str:
    """Return the prompt for handovers with the headings of the sections, and what belongs where."""
    headings = "\n".join(f"## {title}" for title in TITLES)
    scopes = "\n".join(f"- {kind.title}: {kind.scope}" for kind in SECTIONS)
    filled = prompt.replace("{number}", _NUMBERS.get(len(SECTIONS), str(len(SECTIONS))))
    return filled.replace("{headings}", headings).replace("{scopes}", scopes)


def _letters(name: str) -> str:
    return "".join(filter(str.isalpha, name.lower()))


_TITLES_BY_LETTERS = {
    _letters(name): kind.title for kind in SECTIONS for name in (kind.title, *kind.other_names)
}


def title_named(name: str) -> str:
    """Return the title of the section that a model's heading or field names, in any spelling; else empty."""
    return _TITLES_BY_LETTERS.get(_letters(name), "")


def can_be_settled(title: str) -> bool:
    """Return True of a section whose points were open when it was written."""
    return title in KINDS and KINDS[title].is_replaced


def ordered_sections(sections: Sequence[Section]) -> list[Section]:
    """Return sections in the order of a timeline: what is open comes first."""
    return sorted(sections, key=lambda section: KINDS[section.title].rank if section.title in KINDS else 0)


def gist_sections(sections: Sequence[Section]) -> list[Section]:
    filled = [section for section in ordered_sections(sections) if section.bullets]
    return [Section(section.title, section.bullets[:_SECTION_BULLETS]) for section in filled[:_GIST_SECTIONS]]


def gist_bullets(sections: Sequence[Section]) -> list[Bullet]:
    """Return the sentences that say most of a handover, in a few lines."""
    firsts = [bullet for section in ordered_sections(sections) for bullet in section.bullets[:1]]
    return firsts[:_GIST_BULLETS]
