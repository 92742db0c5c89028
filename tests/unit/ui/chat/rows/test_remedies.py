"""Every error whose remedy the app can perform has a button for it, in the chat and in a notice."""

from __future__ import annotations

from typing import get_args

import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain import errors
from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.errors import (
    AuthenticationFailed,
    ContextWindowExceeded,
    HelixError,
    ImagesRejected,
    WorkspaceUntrusted,
)
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.chat.rows.from_events import rows_from_log
from helix_desktop.ui.chat.rows.row_types import NoticeRow
from helix_desktop.ui.kit.notices import error_notice
from helix_desktop.words.action_labels import action_label, supported_remedies
from tests.support.histories import SessionSimulator
from tests.support.window.chat_geometry import action_names

KINDS = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, HelixError)
]


@pytest.mark.parametrize("remedy", get_args(Remedy))
def test_a_button_is_a_verb_or_a_place_in_three_words(remedy: Remedy) -> None:
    label = action_label(remedy)
    assert len(label.split()) <= 3
    assert label[0].isupper()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_names_known_remedies(kind: type[HelixError]) -> None:
    assert set(kind.remedies) <= set(get_args(Remedy))


@pytest.mark.parametrize(
    ("error", "labels"),
    [
        (AuthenticationFailed(verbatim("box refused the key.")), ["Enter API key…"]),
        (
            ContextWindowExceeded(verbatim("It does not fit.")),
            ["Compact conversation…", "Open provider settings"],
        ),
        (WorkspaceUntrusted(verbatim("This folder isn't trusted yet.")), ["Trust folder…"]),
        (ImagesRejected(verbatim("box refused an image.")), ["Send without images", "Choose model…"]),
        (HelixError(verbatim("It broke."), remedies=("open_log",)), ["Open log folder"]),
        (HelixError(verbatim("It broke.")), []),
    ],
)
def test_the_buttons_of_an_error(error: HelixError, labels: list[str]) -> None:
    helped: list[str] = []
    answers = error_notice(error, helped.append).answers
    assert [answer.words for answer in answers] == labels
    for answer in answers:
        answer.action()
    assert helped == list(error.remedies)
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Go.")
    simulator.record(TurnEnded("failed", error.what, remedies=(*error.remedies, "of a later version")))
    notice = rows_from_log(simulator.log)[1][-1]
    assert isinstance(notice, NoticeRow)
    assert [action_label(name) for name in action_names(notice)] == [*labels, "Retry"]


def test_an_unknown_remedy_has_no_button() -> None:
    assert supported_remedies(["call_support", "open_log"]) == ("open_log",)
