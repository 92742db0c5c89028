"""Which paths a command may use, whatever else it does."""

from __future__ import annotations

from helix_desktop.permissions.named_paths import NamedPaths, find_named_paths
from helix_desktop.permissions.reading_programs import DEFAULT_LINES, find_programs
from tests.support.tables import for_each


def named(command: str, folder: str = "") -> NamedPaths:
    return find_named_paths(command, folder, "/w", find_programs(DEFAULT_LINES))


@for_each(
    ("command", "paths"),
    [
        ("cat a.txt /etc/hostname", "a.txt /etc/hostname"), ("cat .env | head -1", ".env"),
        ("head -n 5 ../x", "../x"), ("git show HEAD:.env", ".env"), ("git -C /o --no-pager log", "/o"),
        ("CI=1 cat .env", ".env"), ("export CI=1 && cat .env", ".env"), ("pytest -q; tail .env", ".env"),
        ("jq --from-file=.env . b", ".env . b"), ("grep -f.env a", ".env a"), ("cp .env b", ".env b"),
        ("cd sub && cat .env", "sub/.env"), ("grep -rn /api src", "src"), ("sed -n /api/p a", "a"),
        ("cat '~/x'", "~/x"), ("curl https://a.b/c", "https://a.b/c"), ("less +F .env", "+F .env"),
        ("pytest /tmp/x", ""), ("python3 a.py /etc/x", ""), ("cat $X", ""), ("a | | b", ""),
        ("cat " + "a" * 5_000, "a" * 5_000),
    ],
)  # fmt: skip
def test_what_a_command_names(command: str, paths: str) -> None:
    found = named(command).paths
    assert [path for path in paths.split() if not any(path in pieces for pieces in found)] == []
    assert paths or not found
    assert "/api" not in str(found)


def test_paths_are_named_from_the_workspace() -> None:
    assert named("cat b.txt", "sub").paths == (("sub/b.txt",),)
    assert named("cd deep && cd .. && cat b", "sub").folders == ("sub/deep", "sub")


@for_each(
    ("command", "searched"),
    [
        ("rg -n x", "."), ("rg -n x src", "src"), ("grep -rn x src", "src"), ("grep x src/a.py", ""),
        ("rg --replace=y x src", "."), ("grep -R x src", "."), ("cat --unknown a", ""), ("pytest", ""),
        ("cd src && rg x", "src"),
    ],
)  # fmt: skip
def test_where_a_command_finds_files_by_itself(command: str, searched: str) -> None:
    assert " ".join(named(command).searched) == searched


def test_what_git_stores_may_be_shown() -> None:
    assert named("git --no-pager show HEAD").shows_tracked
    assert named("git diff --output=x").shows_tracked
    assert not named("git commit -m x").shows_tracked
    assert not named("git status -s").shows_tracked
