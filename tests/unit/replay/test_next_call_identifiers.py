"""IdentifierCoverage: what of the recorded agent's next call stands in its window, counted by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.next_call_identifiers import (
    IdentifierCoverage,
    IdentifierCoverageCounter,
    IdentifierUse,
    find_uses,
    occurs_in,
)
from helix_desktop.replay.recording import as_message
from tests.support.synthetic_recordings import make_session
from tests.support.tables import for_each

WORDS = ("src/a.py", "x/src/a.pyc", "row_1", "row_12", "_row_1", "#7", "#77", "a.py", "src", "tideGauge")


def call(arguments: str) -> Message:
    return Message("assistant", "", (ToolCall("c", "run", arguments),))


def output(text: str) -> Message:
    return Message("tool", text, call_id="c", name="run")


@for_each(
    ("name", "text", "is_in"),
    [
        ("src/app.py", "src/app.py", True),
        ("src/app.py", "/home/src/app.py:3", True),
        ("src/app.py", "src/app.py.orig and ./src/app.py", True),
        ("src/app.py", "src/app.pyc", False),
        ("src/app.py", "mysrc/app.py", False),
        ("src/app.py", "mysrc/app.py src/app.py_ (src/app.py)", True),
        ("src/app.py", "", False),
        ("#12", "issue#12.", True),  # an edge that is no word needs no boundary
        ("#12", "#123", False),
        ("/srv/x.py", "a/srv/x.py", True),
    ],
)
def test_an_identifier_ends_where_no_word_goes_on(name: str, text: str, is_in: bool) -> None:
    assert occurs_in(name, text) == is_in


RECORDING = [
    Message("user", "Repair parseRow in src/a.py"),
    call('{"path": "src/a.py", "new": "src/new.py"}'),  # 1: of the user, none before; new.py is new
    output("def parseRow(): raise RowError"),
    call('{"query": "RowError parseRow RowError"}'),  # 2: both of the output of call 1
    output("nothing"),
    Message("assistant", "I found RowError."),  # 3: no call
    Message("user", "Go on with #12"),
    call("src/new.py #12 #13"),  # 4: of call 1's arguments; of the user just now; #13 is new
    output("src/newer.py"),
]


def test_what_each_call_uses_of_what_came_before() -> None:
    user = RECORDING[0].text
    first = "src/a.py\nsrc/new.py"
    answer = RECORDING[2].text
    go_on = RECORDING[6].text
    assert find_uses(RECORDING) == [
        (IdentifierUse("src/a.py", 1, user),),
        (IdentifierUse("RowError", 1, answer), IdentifierUse("parseRow", 1, answer)),
        (),
        (IdentifierUse("src/new.py", 3, first), IdentifierUse("#12", 1, go_on)),
    ]


def test_coverage_counts_each_identifier_of_a_call_once_by_its_age() -> None:
    uses = [
        IdentifierUse(name, age)
        for name, age in (("a.py", 1), ("b.py", 5), ("c.py", 6), ("d.py", 20), ("e.py", 21), ("f.py", 99))
    ]
    counter = IdentifierCoverageCounter()
    request = [Message("user", "a.py b.py"), call('{"x": ["c.py", "e\\u002epy"]}'), output("ff.py")]
    assert counter.add(100, uses, request) == [uses[3], uses[5]]
    counter.add(101, [], [Message("user", "a.py")])
    assert counter.result == IdentifierCoverage(6, 4, 4, 2, 2, 1)
    counter.add(102, uses[:1], [Message("user", "nothing")])
    assert counter.result == IdentifierCoverage(7, 4, 4, 2, 2, 1)


@given(st.integers(0, 10_000), st.sampled_from((5, 12, 30)))
def test_an_unmanaged_request_holds_all_that_its_call_uses(seed: int, steps: int) -> None:
    counter = IdentifierCoverageCounter()
    history = list[Message]()
    messages = [as_message(raw) for raw in make_session(seed, steps)]
    uses = iter(find_uses(messages))
    for number, message in enumerate(messages):
        if message.role == "assistant":
            assert counter.add(number, next(uses), history) == []
        history.append(message)
    found = counter.result
    assert (found.in_window, found.in_window_old, found.in_window_very_old) == (
        found.identifiers, found.identifiers_old, found.identifiers_very_old,
    )  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), min_size=1, max_size=12))
def test_the_last_occurrence_is_that_of_looking_through_everything(outputs: list[str]) -> None:
    arguments = [f"{text} src/a.py row_1 #7" for text in outputs]
    messages = [
        message
        for text, arguments_text in zip(outputs, arguments, strict=True)
        for message in (call(arguments_text), output(text))
    ]
    texts = [text for pair in zip(arguments, outputs, strict=True) for text in pair]
    expected = []
    for number, arguments_text in enumerate(arguments):
        newest_first = list(enumerate(texts[: 2 * number]))[::-1]
        expected.append(
            tuple(
                IdentifierUse(name, number - hits[0][0] // 2, hits[0][1])
                for name in identifiers_in(arguments_text)
                if (hits := [(at, text) for at, text in newest_first if occurs_in(name, text)])
            )
        )
    assert find_uses(messages) == expected
