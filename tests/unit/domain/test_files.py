"""Files: what calls do with them, which are ignored, and how they are mentioned."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.files.file_use import (
    ALL_LINES,
    UNKNOWN_LINES,
    Lines,
    call_target,
    is_test_command,
    mcp_call_target,
    printed_file,
)
from helix_desktop.domain.files.mention import (
    FuzzyPaths,
    find_mentions,
    fold_case,
    format_mention,
    parse_typed,
)
from helix_desktop.domain.files.names import IgnoreRules
from tests.support.call_count import calls_of
from tests.support.tables import for_each


@for_each(
    ("command", "path", "lines"),
    [
        ("cat a.py", "a.py", ALL_LINES),
        ("cd src && cat 'my file.py' 2>/dev/null", "src/my file.py", ALL_LINES),
        ("sed -n '1,80p' src/x.rs", "src/x.rs", Lines(1, 80)),
        ("nl -ba x.py | sed -n '10,20p'", "x.py", Lines(10, 20)),
        ("head -n 50 a.py", "a.py", Lines(1, 50)),
        ("cat a.py | head", "a.py", Lines(1, 10)),
        ("head -c 50 a.py", "a.py", UNKNOWN_LINES),
        ("tail -30 a.py", "a.py", UNKNOWN_LINES),
    ],
)
def test_a_command_that_only_prints_a_file_reads_it(command: str, path: str, lines: Lines) -> None:
    assert printed_file(command) == (path, lines)


@for_each(
    "command",
    [
        "cat a.py b.py",
        "cat a.py && ls",
        "cat > a.py",
        "cat *.py",
        "cat a.py | grep b",
        "sed -i s/a/b/ x",
        "cat 'x",
        "cat",
    ],
)
def test_any_other_command_does_not(command: str) -> None:
    assert printed_file(command) is None


@given(st.text("cathedsnl -|&'\"01,p.x/", max_size=30))
def test_no_command_is_too_odd_to_be_looked_at(command: str) -> None:
    printed = printed_file(command)
    assert printed is None or printed[0]


@for_each(
    ("command", "is_test"),
    [
        ("pytest -q tests/unit", True),
        ("mise run test 2>&1 | head", True),
        ("npm run lint", True),
        ("./run_tests.sh -v", True),
        ("cargo test --all", True),
        ("git log --oneline", False),
        ("ls latest", False),
        ("go run ./cmd", False),
    ],
)
def test_commands_that_look_like_tests(command: str, is_test: bool) -> None:
    assert is_test_command(command) == is_test


@pytest.mark.parametrize("piece", ["make ", "npm run ", " ", "test."])
def test_a_very_long_command_takes_little_time(piece: str) -> None:
    started = time.process_time()
    assert not is_test_command(piece * 30_000 + "!")
    assert time.process_time() - started < 5  # some 0.02 s; in the square of its length half a minute


@for_each(
    ("arguments", "target"),
    [
        ('{"content": "text", "path": "a.py"}', "a.py"),
        ('{"edits": [{"path": "a.py", "old_text": "x"}, {"path": "b.py"}, {"path": "a.py"}]}', "a.py, b.py"),
        ('{"todos": [{"content": "Read", "status": "done"}]}', ""),
        ('{"edits": [1, null], "n": 2}', ""),
        ('{"edits": [{"path": "' + "a" * 999 + '"}]}', "a" * 199 + "…"),
        ('{"path": "ledger/interest.py", "lines": [1,', "ledger/interest.py"),
        ('{"todos": [{"content": "Rea', '{"todos": [{"content": "Rea'),
        ("*** Update File: c.py\n@@", "c.py"),
    ],
)
def test_a_call_is_about_the_paths_in_its_arguments(arguments: str, target: str) -> None:
    assert call_target(arguments) == target


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ('{"count": 3, "text": "two\\nlines"}', "two lines"),
        ('{"lines": -1, "all": false}', "lines: -1, all: false"),
        ('{"a": [' + "1, " * 200 + "1]}", "a: [" + "1, " * 65 + "…"),
        ("{}", ""),
        ("no JSON", ""),
    ],
)
def test_a_call_of_a_foreign_tool_is_about_all_that_it_is_given(arguments: str, target: str) -> None:
    assert mcp_call_target(arguments) == target


def test_a_path_of_a_call_is_spelled_as_the_tools_spell_it() -> None:
    """One that ran has it from its tool, one that failed from its arguments: both are the same."""
    assert call_target('{"path": "new\\nline  two.txt", "old_text": "x"}') == "new\\u000aline  two.txt"
    assert call_target('{"command": "echo 1\\necho 2"}') == "echo 1 echo 2"


NAMES = ("a", "ab", "b.py", ".env", "x y", "a[1]")
PIECES = ("a", "b", "*", "?", "**", ".env", "[a-c]", "[!a]", "[^b]", "\\*", "*.py", "ab", "x\\ y", "#", "]")
patterns = st.lists(
    st.tuples(
        st.sampled_from(("", "", "!", "/", "\\!")),
        st.lists(
            st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("".join), min_size=1, max_size=3
        ),
        st.sampled_from(("", "", "/", "  ")),
    ).map(lambda parts: parts[0] + "/".join(parts[1]) + parts[2]),
    min_size=1,
    max_size=4,
)
paths = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here to compare with")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=patterns, files=paths)
@example(lines=["a**/*/"], files=[["a", "a"], ["ab"]])
@example(lines=["x/a**", "!x/a**/b"], files=[["x", "a"], ["x", "ab", "c"], ["x", "b"]])
@example(lines=["a/***/b"], files=[["a", "b"], ["a", "a", "a", "b"]])
def test_it_ignores_what_git_ignores(checkout: Path, lines: list[str], files: list[list[str]]) -> None:
    (checkout / ".gitignore").write_text("\n".join(lines))
    file_names = sorted({"/".join(parts) for parts in files})
    answer = subprocess.run(
        [
            "git",
            "-C",
            str(checkout),
            "-c",
            "core.ignorecase=false",
            "check-ignore",
            "--no-index",
            "-z",
            "--stdin",
        ],
        input="\0".join(file_names).encode(),
        capture_output=True,
        check=False,
    ).stdout
    ignored = {path for path in answer.decode().split("\0") if path}
    rules = IgnoreRules("\n".join(lines), ignores_case=False)
    assert {path for path in file_names if rules.ignores(path.split("/"))} == ignored


def test_a_lenient_file_system_gets_no_other_spelling_through() -> None:
    rules = IgnoreRules(".env\nsecrets/\n", ignores_case=True)
    assert rules.ignores([".ENV"])
    assert rules.ignores(["Secrets.", "key"])


def test_a_hostile_pattern_takes_no_time() -> None:
    """A way to split the name for every star would be tried for longer than anybody lives."""
    rules = IgnoreRules("*a*a*a*a*a*a*a*a*a*a*a*b\n**/a/**/a/**/a/**/a/**/a/**/b\n")
    assert not rules.ignores(["a" * 250])
    assert not rules.ignores(["a"] * 120)


@pytest.mark.parametrize("line", ["name{}", "folder{}/", "*.end{}", "!name{}"])
def test_twenty_thousand_names_are_looked_up(line: str) -> None:
    rules = IgnoreRules("name7\n" + "\n".join(line.format(at) for at in range(20_000)) + "\n*.end3\nname7")

    def look_up() -> None:
        assert not rules.ignores(("src", "module", "file.py"))
        assert rules.ignores(("src", "name7"))
        assert rules.ignores(("src", "x.end3"))

    assert calls_of(look_up) < 400


@pytest.mark.parametrize(
    "line", ["a*b{}", "*mid{}*", "dir/sub{}/*.o", "**/x{}/y", "[ab]{}*", "?{}?", "{}*\\*x", "!*odd{}*"]
)
def test_twenty_thousand_odd_globs_are_looked_up(line: str) -> None:
    """Those are tried on a path whose rarest letters in a row it has: a few of them, not all."""
    rules = IgnoreRules("\n".join(line.format(at) for at in range(20_000)))
    rules.ignores(("warm",))
    paths = (("src", "module", "file.py"), ("dir", "sub7", "x12345.o"))
    calls = calls_of(lambda: [rules.ignores(path) for path in paths])
    assert calls < 20_000  # not one for each rule; a pattern that is tried is compiled by some 700


@given(
    lines=st.lists(
        st.tuples(st.sampled_from(PIECES), patterns).map(lambda drawn: [*drawn[1], drawn[0] * 2]), max_size=3
    ),
    files=paths,
    ignores_case=st.booleans(),
)
def test_many_rules_mean_what_few_mean(
    lines: list[list[str]], files: list[list[str]], ignores_case: bool
) -> None:
    """The look-up by letters leaves out only rules that would not fit."""
    text = "\n".join(line for group in lines for line in group)
    padding = "\n".join(f"*no*such{at}*name*" for at in range(100))
    few = IgnoreRules(text, ignores_case)
    many = IgnoreRules(f"{padding}\n{text}", ignores_case)
    for parts in files:
        for names in (parts, [name.upper() for name in parts]):
            assert few.ignores(names) == many.ignores(names)
            assert few.verdict("/".join(names)) == many.verdict("/".join(names))


def test_letters_that_stand_for_others_are_not_required() -> None:
    """The Kelvin sign is a k where case is ignored, a dotless i an i: no file of that name is let through."""
    padding = "\n".join(f"*no*such{at}*name*" for at in range(100))
    for glob, name in (("*k?y*", "my\u212aeys"), ("*s?cret*", "a\u017fecrets"), ("*?id*", "g\u0131ds")):
        few = IgnoreRules(glob, True)
        many = IgnoreRules(f"{glob}\n{padding}", True)
        assert few.verdict(name) == many.verdict(name)


_PATHS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20)


@given(_PATHS, st.integers(0, 500), st.integers(0, 500), st.sampled_from(["", " and more", ", then", ")"]))
def test_what_is_formatted_is_read_back_whatever_surrounds_it(
    path: str, first: int, more: int, rest: str
) -> None:
    mention = format_mention(path, first, first + more)
    (found,) = find_mentions(f"see ({mention}{rest}")
    assert found[:3] == (path, first, first + more if first else 0)
    assert f"see ({mention}{rest}"[found.start : found.end] == mention
    assert parse_typed(mention[1:]) == found[:3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@src/app.py:10-40.", [("src/app.py", 10, 40)]),
        ("Compare @a.py:7, @b.py; and (@c/d).", [("a.py", 7, 7), ("b.py", 0, 0), ("c/d", 0, 0)]),
        ('@"a b.txt":3-9 @"c d/"', [("a b.txt", 3, 9), ("c d/", 0, 0)]),
        ('@a.py:40-10 @"b c":9-3', [("a.py", 40, 10), ("b c", 9, 3)]),
        ("me@example.com, a/@b, \\@c, @ d, @", []),
        ("`@a.py` and\n```\n@b.py\n```\n@c.py", [("c.py", 0, 0)]),
        ('@"open', []),
    ],
)
def test_mentions_are_read_as_a_user_writes_them(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert [mention[:3] for mention in find_mentions(text)] == expected


def test_lines_may_be_unfinished_while_they_are_typed() -> None:
    for typed in ("a.py", "a.py:", '"a.py', '"a.py"', '"a.py":'):
        assert parse_typed(typed) == ("a.py", 0, 0)
    for typed in ("a.py:7", "a.py:7-", '"a.py":7', '"a.py":7-'):
        assert parse_typed(typed) == ("a.py", 7, 7)


def test_lines_that_end_before_they_begin_are_told_apart() -> None:
    mentions = find_mentions('@a.py:40-10 @"b c":9-3 @a.py:7-7 @a.py:7 @a.py @"b c"')
    assert [mention.is_reversed for mention in mentions] == [True, True, False, False, False, False]


_LISTED_PATHS = st.lists(st.text("abCd_/.İß", min_size=1, max_size=12), max_size=30, unique=True)
_QUERIES = st.text("abcd_/.İ", min_size=1, max_size=4)


def has_letters(query: str, path: str) -> bool:
    letters = iter(fold_case(path))
    return all(letter in letters for letter in fold_case(query))


@given(_LISTED_PATHS, _QUERIES)
def test_exactly_the_paths_with_the_letters_are_found_where_the_letters_are(
    paths: list[str], query: str
) -> None:
    matches = FuzzyPaths(paths).search(query, len(paths) + 1)
    assert sorted(match.path for match in matches) == sorted(
        path for path in paths if has_letters(query, path)
    )
    for match in matches:
        assert "".join(fold_case(match.path)[at] for at in match.positions) == fold_case(query)
        assert list(match.positions) == sorted(set(match.positions))


@given(_LISTED_PATHS, _QUERIES, st.randoms())
def test_the_order_of_the_paths_changes_nothing(paths: list[str], query: str, random: Random) -> None:
    before = FuzzyPaths(paths).search(query, 9)
    random.shuffle(paths)
    assert FuzzyPaths(paths).search(query, 9) == before


def first(query: str, *paths: str, recent: tuple[str, ...] = ()) -> str:
    return FuzzyPaths(paths).search(query, 1, recent)[0].path


def test_names_starts_of_words_and_letters_side_by_side_come_first() -> None:
    assert first("test", "test/data/x.py", "lib/my_test.py", "lib/test.py") == "lib/test.py"
    assert first("cc", "abcc.py", "composer_controller.py", "cache.h") == "composer_controller.py"
    assert first("fs", "of_some/xyz.py", "FuzzySearch.py") == "FuzzySearch.py"
    assert first("app", "a_p_p.py", "zapp.py", "app_x.py") == "app_x.py"
    assert first("ui/comp", "ui/chat/composer.py", "build/comp.py") == "ui/chat/composer.py"
    assert first("model", "model/", "lib/model.py") == "lib/model.py"


def test_what_was_used_lately_comes_before_its_like() -> None:
    paths = ("a/view.py", "b/view.py", "c/view.py")
    assert first("view", *paths, recent=("gone.py", "c/view.py")) == "c/view.py"
    found = FuzzyPaths([*paths, "z.txt", "a/"]).search("", 3, ["c/view.py"])
    assert [match.path for match in found] == ["c/view.py", "a/", "z.txt"]


def test_many_matches_do_not_hide_the_whole_name() -> None:
    crowd = [f"pkg{number}/aaa_{number}.py" for number in range(2_000)]
    assert first("a", *crowd, "deep/er/a.py") == "deep/er/a.py"
    assert first("pkg7/a", *crowd) == "pkg7/aaa_7.py"
