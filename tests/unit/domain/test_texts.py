"""Texts: as data, cut for one line, without hidden characters, and the identifiers in them."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.identifiers import argument_text, count_identifiers, identifiers_in
from helix_desktop.domain.text_format import ellipsize_title, plain_line, utc_day, utc_minute
from helix_desktop.domain.translatable_text import (
    ByteSize,
    TextContext,
    TranslatableText,
    join_sentences,
    plain_text,
    system_reason,
    verbatim,
)
from helix_desktop.domain.unicode_safety import (
    escape_hidden,
    escape_hidden_name,
    first_hidden,
    is_hidden,
    repair_surrogates,
    without_direction_signs,
)
from tests.support.tables import for_each

text = TextContext("Tests")


def test_a_text_is_its_english_words() -> None:
    """What stores, sends or prints a text does so in English."""
    message = text("Model {model} not found on {provider}.", model="m-1", provider="Local")
    assert message == "Model m-1 not found on Local."
    assert (message.context, message.source) == ("Tests", "Model {model} not found on {provider}.")
    assert json.dumps({"what": message}) == '{"what": "Model m-1 not found on Local."}'


class _Event(msgspec.Struct):
    what: str


def test_a_text_is_stored_as_plain_words() -> None:
    """An event that holds a text is encoded as one that holds a plain string."""
    event = _Event(text("Version {version} is available.", version="2.1"))
    for encode, decode in (
        (msgspec.json.encode, msgspec.json.decode),
        (msgspec.msgpack.encode, msgspec.msgpack.decode),
    ):
        stored = encode(event, enc_hook=plain_text)
        assert stored == encode(_Event("Version 2.1 is available."))
        assert type(decode(stored, type=_Event).what) is str
    with pytest.raises(TypeError, match="object cannot be stored"):
        msgspec.json.encode(object(), enc_hook=plain_text)


@pytest.mark.parametrize(("count", "words"), [(0, "0 entries"), (1, "1 entry"), (1_200, "1,200 entries")])
def test_a_count_decides_between_singular_and_plural(count: int, words: str) -> None:
    """The number itself is a fact, in groups of digits."""
    assert text.plural(count, "%n entry", "%n entries") == words


def test_facts_are_shown_by_their_kind() -> None:
    """Numbers, sizes and lists are shown as English writes them, other facts as they are."""
    message = text(
        "{count} {size} {names} {process}",
        count=4_000,
        size=ByteSize(2_516_582),
        names=("a", "b", "c"),
        process="4000",
    )
    assert message == "4,000 2.4 MB a, b and c 4000"
    assert text("{size}", size=ByteSize(812)) == "812 B"


def test_a_missing_fact_is_an_error() -> None:
    """A text with a hole never reaches a user."""
    with pytest.raises(KeyError):
        text("{name} not found", other="x")


@given(st.text())
def test_facts_are_never_read_as_templates(fact: str) -> None:
    """Braces and marks in a fact stay as they are."""
    assert text("<{fact}>", fact=fact) == f"<{fact}>"
    assert text.plural(2, "%n {fact}", "%n {fact}s", fact=fact) == f"2 {fact}s"


@given(st.text())
def test_what_others_say_stays_as_it_is(words: str) -> None:
    """Marks and braces in it are never read as a template, and a text of the catalog stays one."""
    assert verbatim(words) == words
    entry = text("Restore")
    assert verbatim(entry) is entry


def test_a_reason_of_the_system_is_a_sentence() -> None:
    """In the system's own words; an error of ours has only its message."""
    assert system_reason(OSError(28, "No space left on device")) == "No space left on device."
    assert system_reason(OSError("it was cut off")) == "it was cut off."


@given(st.lists(st.sampled_from(["", "One.", "Two."])))
def test_sentences_follow_one_another(sentences: list[str]) -> None:
    """Empty sentences leave no gap."""
    joined = join_sentences(*sentences)
    assert joined == " ".join(filter(None, sentences))
    assert isinstance(joined, TranslatableText)


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("- **`summary`:** new module `tidewatch/summary.py`", "summary: new module tidewatch/summary.py"),
        ("## What is left", "What is left"),
        ("1. __Run__ the tests", "Run the tests"),
        ("__Run all__ of __the tests__", "Run all of the tests"),
        ("my x__y and a-b", "my x__y and a-b"),
        ("Read src/__init__.py", "Read src/__init__.py"),
    ],
)
def test_line_without_marks(line: str, plain: str) -> None:
    assert plain_line(line) == plain


def test_an_escaped_sign_is_one_and_code_keeps_its_own() -> None:
    """A pattern that the agent quoted had each backslash twice in the list of found messages."""
    assert plain_line(r"No match for '0\\.40', see \*a\* and `5\\.30` or `a**b`") == (
        r"No match for '0\.40', see *a* and 5\\.30 or a**b"
    )


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("Fix the tests (2)", "Fix the tests (2)"),
        ("Fix all the failing tests (12)", "Fix all the f… (12)"),
        ("Fix all the failing tests", "Fix all the failin…"),
    ],
)
def test_a_title_that_is_cut_keeps_its_number(title: str, short: str) -> None:
    assert ellipsize_title(title, 19) == short


@pytest.mark.parametrize(
    ("at_ms", "minute", "day"),
    [
        (0, "1 Jan 1970 00:00", "1970-01-01"),
        (1_795_703_579_999, "26 Nov 2026 14:32", "2026-11-26"),
        (1_798_761_599_999, "31 Dec 2026 23:59", "2026-12-31"),
    ],
)
def test_a_time_is_named_by_its_minute_and_its_day_in_utc(at_ms: int, minute: str, day: str) -> None:
    assert utc_minute(at_ms, with_year=True) == minute
    assert utc_minute(at_ms) == minute.replace(f" {day[:4]}", "")
    assert utc_day(at_ms) == day


HIDDEN = (
    "\0\x1b\r\x7f\x85\xad\u034f\u061c\u115f\u180e\u200b\u2028\u202e\u2066\u2800\u3164\ufe00\ufeff\U000e0041"
)


@for_each("char", HIDDEN)
def test_hidden_characters_are_found(char: str) -> None:
    assert first_hidden(f"echo a{char}b{char}") == char
    assert escape_hidden(char).startswith("\\")


@pytest.mark.parametrize("text", ["git commit -m 'Größe ❤️ 完了'\n\tmake", "سلام", "naïve", ""])
def test_words_of_all_languages_stay_unchanged(text: str) -> None:
    assert (first_hidden(text), escape_hidden(text)) == ("", text)


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    assert not any(map(is_hidden, escape_hidden(text)))
    assert not set("\n\t") & set(escape_hidden_name(text))


@given(st.text(st.characters(codec=None)))
def test_a_repaired_text_can_be_stored_and_valid_text_is_unchanged(text: str) -> None:
    repaired = repair_surrogates(text)
    repaired.encode()
    assert repair_surrogates(repaired) == repaired
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert repaired == text


def test_matching_surrogate_halves_are_joined() -> None:
    assert repair_surrogates("a \ud83d\ude00 b \ud83d c") == "a 😀 b \ufffd c"


def test_signs_that_change_directions_are_removed_and_letters_of_any_script_stay() -> None:
    signs = "".join(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
    assert without_direction_signs("".join(f"a{sign}" for sign in signs)) == "a" * len(signs)
    assert without_direction_signs("שלום مرحبا a\u200db") == "שלום مرحبا a\u200db"


@for_each(
    ("text", "names"),
    [
        ("see /srv/app/main.go:12:3: undefined fooBar", ["/srv/app/main.go", "fooBar"]),
        (
            "src/a_b.go:158:func TestRun(t)\nsrc/a_b.go-159-\tx := fooBar()",
            ["src/a_b.go", "TestRun", "fooBar"],
        ),
        ("main.py:7:makeIt\nmain.py-8-\n/srv/run.sh-120", ["main.py", "makeIt", "/srv/run.sh"]),
        ("read src/app.py:12-20 and src/v1.2-3/x.py-old", ["src/app.py", "src/v1.2-3/x.py-old"]),
        ("in strategy.ManualCommit (TypeError) of #123", ["ManualCommit", "TypeError", "#123"]),
        ("commit a1b2c3d4e5f6, snake_case and HTTPServer", ["a1b2c3d4e5f6", "snake_case", "HTTPServer"]),
        ("README.md and src/ and ../x/y.ts", ["README.md", "../x/y.ts"]),
        ("ruff says E501 in https://example.org/a/b", ["E501", "https://example.org/a/b"]),
        ("The user wants a plain sentence, one-sided and short.", []),
        ("2026 12345678 3.14 JSON os.path", []),
        ("2026-11-24T21:40:07Z 20261124T214007Z at 2026-11-24T21:40:07.123", []),
        (r'print("\nFell over\n/tmp/a.log \tread_it") if s.match(/\bfoo\w+\n/g)', ["/tmp/a.log", "read_it"]),
        (
            "\x1b[31mfailHere\x1b[0m and \\x1b[0mfailThere, \\u001b[1mfailAgain",
            ["failHere", "failThere", "failAgain"],
        ),
        (r"C:\new_folder\table_one.txt in dir\read_all", ["new_folder", "table_one.txt", "read_all"]),
        ("color #3a5f87 of #12 //Be careful: s/g and a/b", ["#12"]),
        ("load_items, test_files_g… /srv/app/ma…", ["load_items"]),
        ("sed '166s/validate(x)/pass/; 192s/501/400/; s/re.full/re.match/' HTTP/1.0 3DIGIT", []),
        ("</body></html><br/>", []),
        ("the /expected/ count, /--/ /-b/ and /goof-ball,/ /use/ /goof-/ball, not /login", ["/login"]),
        ("cd /srv/ && ls /srv/app/ src//a.py", ["/srv/app", "src//a.py"]),
        ('y2//400 - self.width//2 "-//W3C//DTD XHTML 1.0 Strict//EN" http://host', ["http://host"]),
        (r"'/\(is\)/d' ${HOME}/foo/bar $TMPDIR/m src/**/test_x.py", ["foo/bar", "test_x.py"]),
    ],
)
def test_identifiers_are_found_and_words_are_not(text: str, names: list[str]) -> None:
    """Paths, symbols, errors, hashes and numbers of issues; no words, no plain numbers."""
    assert list(identifiers_in(text)) == names


def test_arguments_are_read_as_their_values() -> None:
    """An escaped line end does not become a part of a name; keys are not names."""
    arguments = '{"file_path": "src/app.py", "edits": [{"old_string": "x\\nload_all()"}], "is_new": true}'
    assert identifiers_in(argument_text(arguments)) == ("src/app.py", "load_all")
    assert identifiers_in(argument_text("*** Update File: src/app.py")) == ("src/app.py",)


@given(st.text(st.characters(codec="utf-8"), max_size=400))
def test_an_identifier_stands_in_its_text(text: str) -> None:
    """Each is a part of the text, is found in itself, and is counted."""
    for name, count in count_identifiers(text).items():
        assert name in text
        assert count >= 1
