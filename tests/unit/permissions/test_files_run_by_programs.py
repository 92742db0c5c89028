"""Which names of files wait, are asked about or are named, whatever their folder and case."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.permissions.files_run_by_programs import (
    AUTO_RUN_KINDS,
    AutoRunKind,
    auto_run_kind,
    is_asked,
    may_begin_waiting,
)
from tests.support.tables import for_each

PARTS = (Path(__file__).parent / "auto_run_names.txt").read_text(encoding="utf-8").split("# ")[1:]
ROWS = [(path, part.partition("\n")[0]) for part in PARTS for path in part.partition("\n")[2].split()]


@for_each("path, level", ROWS)
def test_a_path_is_of_its_kind_in_every_folder_and_case(path: str, level: str) -> None:
    for spelled in (path, f"web/app/{path}", path.upper(), path.swapcase()):
        kind = auto_run_kind(spelled)
        assert (kind.level if kind else "no kind") == level, spelled
        if kind:
            assert is_asked(spelled) == (level != "named"), spelled
    if level == "waits":
        assert any(map(may_begin_waiting, path.upper().split("/"))), "else the guard does not look there"


@for_each("name, level", [(".cargo", "waits"), (".vim", "waits"), (".github", "waits"), (".mvn", "named")])
def test_a_link_in_the_place_of_a_folder_counts_as_what_may_lie_in_it(name: str, level: str) -> None:
    kind = auto_run_kind(f"web/{name}", is_folder=True)
    assert kind is not None
    assert kind.level == level
    assert auto_run_kind("src", is_folder=True) is None
    assert auto_run_kind(".hg/store", is_folder=True) is None, "nobody looks at its thousands of files"


@for_each("kind", AUTO_RUN_KINDS)
def test_each_name_of_the_table_is_found(kind: AutoRunKind) -> None:
    """No row is hidden by a stricter one, and none is spelled so that it never fits."""
    for name in kind.names.split():
        path = name.replace("*", "x") + "file" * name.endswith("/")
        found = auto_run_kind(path)
        assert found is not None, name
        assert (found.level, found.effect) == (kind.level, kind.effect) or found.waits, name


@given(st.text(alphabet="ab./*\n\x00-ÄßİHg", max_size=30))
def test_every_name_is_answered(path: str) -> None:
    kind = auto_run_kind(path)
    assert kind is None or kind.level in ("waits", "asks", "named")
    if kind is not None and kind.level != "named":
        assert is_asked(path)
