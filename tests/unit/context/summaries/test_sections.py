"""The sections of handovers, each declared once."""

from __future__ import annotations

from helix_desktop.context.summaries import sections
from helix_desktop.context.summaries.extractive_handover import extractive_handover
from helix_desktop.context.summaries.sections import SECTIONS, SectionKind


def test_each_kind_of_section_is_one_of_a_handover() -> None:
    assert {kind for kind in vars(sections).values() if isinstance(kind, SectionKind)} == set(SECTIONS)
    assert [section.title for section in extractive_handover([], None)] == [kind.title for kind in SECTIONS]
