"""Identifiers: names by which an agent finds things again, in texts and in the arguments of calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.identifiers import argument_text, count_identifiers, identifiers_in
from tests.support.tables import for_each


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
