"""The inspector's card of the provider's cache."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.provider_cache import MissCause
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason
from helix_desktop.domain.messages import Usage
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.inspector.from_window import cache_uses_text, provider_cache_state
from helix_desktop.ui.inspector.view import KeyValue, ProviderCacheCard, ShowCacheUses
from helix_desktop.words.provider_cache import miss_text
from helix_desktop.words.times import format_date_and_time, format_moment
from tests.support.intents import performed
from tests.support.window.buttons import find_button

POLICY = PROFILES["balanced"]


def response(usage: Usage | None) -> AssistantSpoke:
    return AssistantSpoke("ok", "vendor/m", 2, usage=usage)


LOG = [
    RecordedEvent(1, 1_000, response(Usage(20_000, 10, 0, 20_000, 0, True, True))),
    RecordedEvent(2, 10_000, SweepMade((1,), 5_000, SweepReason.BATCH)),
    RecordedEvent(3, 20_000, response(Usage(16_000, 10, 4_000, 11_700, 0, True, True))),
    RecordedEvent(4, 500_000, response(Usage(17_000, 10, 0, 17_000, 0, True, True))),
]
TIMES = {recorded.seq: format_moment(recorded.at) for recorded in LOG}


def shown_figures(card: ProviderCacheCard) -> list[str]:
    return [each.accessibleName() for each in card.findChildren(KeyValue) if each.isVisibleTo(card)]


def shown_lines(card: ProviderCacheCard) -> list[str]:
    """Return what is said of requests, newest first."""
    texts = card.findChildren(SelectableText)
    return [each.text() for each in texts if each.isVisibleTo(card)]


def test_the_card_shows_bill_and_reasons(qtbot: QtBot) -> None:
    card = ProviderCacheCard()
    qtbot.addWidget(card)
    spent = Spending(53_030, 0.21, False, 4_000, 48_700, 300)
    state = provider_cache_state(LOG, spent, POLICY, 3_600)
    card.show_state(state)
    assert state is not None
    assert state.has_hits
    assert not card.isHidden()
    assert shown_figures(card) == [
        "Read: 4k",
        "Written: 48.7k",
        "New: 300",
        "Session cost: $0.21",
        "Requested lifetime: 1 h",
    ]
    assert shown_lines(card) == [
        f"{TIMES[4]} · 0 read · 17k written · 0 new",
        "8 min since the request before; the discount lasts 5 min.",
        f"{TIMES[3]} · 4k read · 11.7k written · 300 new",
        "Outputs were cached.",
        f"{TIMES[1]} · 0 read · 20k written · 0 new",
        "First request of the session.",
    ]
    card.show_state(provider_cache_state(LOG[:1], spent, POLICY, 3_600))
    assert shown_lines(card) == [
        f"{TIMES[1]} · 0 read · 20k written · 0 new",
        "First request of the session.",
    ]


def test_all_requests_can_be_read(qtbot: QtBot) -> None:
    """A paragraph each, with its moment and its reason."""
    card = ProviderCacheCard()
    qtbot.addWidget(card)
    with performed(card) as intents:
        find_button(card, "show_requests").click()
    assert intents == [ShowCacheUses()]
    newest, middle, first = cache_uses_text(LOG, POLICY).split("\n\n")
    assert " ".join(newest.splitlines()[2:]) == miss_text(MissCause("idle", 480, 300))
    assert middle.splitlines()[1:] == ["4k read · 11.7k written · 300 new", "Outputs were cached."]
    assert first.startswith(format_date_and_time(LOG[0].at))


def test_without_a_reported_discount_it_is_not_there(qtbot: QtBot) -> None:
    card = ProviderCacheCard()
    qtbot.addWidget(card)
    log = [RecordedEvent(seq, seq, response(Usage(900, 5))) for seq in (1, 2)]
    for unreported in ([RecordedEvent(1, 0, response(None))], log):
        card.show_state(provider_cache_state(unreported, Spending(1_810, unpriced=1_810), POLICY, 1_800))
        assert card.isHidden()
    other = RecordedEvent(3, 3, response(Usage(16_000, 10, 4_000, 0, 0, True, True)))
    card.show_state(provider_cache_state([*log, other], Spending(17_820, unpriced=17_820), POLICY))
    assert not card.isHidden()
    assert shown_figures(card) == []
    assert shown_lines(card)[1:3] == [
        f"{TIMES[2]} · 900 tokens sent",
        "The provider doesn't report this discount.",
    ]
    card.show_state(None)
    assert card.isHidden()
