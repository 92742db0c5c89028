"""A rule that the user gave once, inside a long message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.figures import totals_of
from tests.benchmarks.replay.measure import (
    RULE,
    MeasureOptions,
    is_rule_visible,
    long_message,
    measure_all,
    with_long_message,
)
from tests.support.replay_fakes import UnmanagedReplay, assistant_message, file_read_step, user_message
from tests.support.synthetic_recordings import write_recordings

SESSION = [
    {"role": "system", "content": "You help."},
    user_message("Go"),
    *file_read_step("1", "a.py", "A"),
    assistant_message("ok"),
    user_message("On"),
    assistant_message("ok"),
]


class FirstWords(UnmanagedReplay):
    """Cuts each user message to 2,000 characters, as soon as there is a second one."""

    def request(self) -> list[dict[str, Any]]:
        users = [message for message in self.messages if message["role"] == "user"]
        return [
            {**message, "content": message["content"][:2_000]}
            if message["role"] == "user" and len(users) > 1
            else message
            for message in self.messages
        ]


def test_the_rule_is_in_the_middle_of_about_3000_tokens() -> None:
    text = long_message()
    tokens = MessageTokenCounter.bundled().text_tokens
    assert 2_800 < tokens(text) < 3_200
    before, _, after = text.partition(RULE)
    assert abs(tokens(before) - tokens(after)) < 100


def test_the_first_user_message_is_longer_and_nothing_else() -> None:
    longer = with_long_message(SESSION)
    assert longer[1] == user_message(f"Go\n\n{long_message()}")
    assert [*longer[:1], *longer[2:]] == [*SESSION[:1], *SESSION[2:]]


def test_the_last_request_tells() -> None:
    replay = UnmanagedReplay()
    assert is_rule_visible(SESSION, replay)
    assert (replay.messages, replay.turns) == (with_long_message(SESSION), 2)
    assert not is_rule_visible(SESSION, FirstWords())
    assert is_rule_visible(SESSION[:5], FirstWords())


@pytest.mark.parametrize(("every", "counts"), [(0, (0, 0)), (1, (2, 1))])
def test_the_total_counts_the_recordings_that_were_tried(
    tmp_path: Path, every: int, counts: tuple[int, int]
) -> None:
    paths = write_recordings(tmp_path, [SESSION, SESSION[:5]])
    options = MeasureOptions(long_message_every=every)
    total = totals_of(measure_all(paths, FirstWords, options, 1, lambda _: None))
    assert (total.long_messages, total.rules_in_window) == counts


def test_one_of_n_recordings_is_tried(tmp_path: Path) -> None:
    sessions = [[user_message(f"Go {number}"), assistant_message("ok")] for number in range(200)]
    paths = write_recordings(tmp_path, sessions)
    total = totals_of(
        measure_all(paths, UnmanagedReplay, MeasureOptions(long_message_every=4), 1, lambda _: None)
    )
    assert 30 < total.long_messages < 70
    assert total.rules_in_window == total.long_messages
