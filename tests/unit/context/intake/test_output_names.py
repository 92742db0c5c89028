"""The names in what a preview leaves out: ids of single requests are none that anybody looks for."""

from __future__ import annotations

from helix_desktop.context.intake.output_forms import insert_names, names_in_output, names_tokens

MARKER = '[CACHED] recall_cached_content("0123456789ab") the whole output'
ONCE, OFTEN = "21636369-8b52-9b4a-97b7-50923ceb3ffd", "9b08923d-10c6-7fd9-94b2-b8fda02f34a6"
TRACE, COMMIT = "9a9a80fdea7b5bf5", "7de7710"


def test_ids_that_occur_once_are_no_names() -> None:
    """A UUID, a field, the blobs of a diff; not one that comes again, a commit, the handle of a content."""
    text = f"req={ONCE} trace={TRACE} load_items\nreq={OFTEN}\nreq={OFTEN}\n{COMMIT} Mend\nabcdef012345 e3\n"
    preview = insert_names(f"head\n{MARKER}", text, 100)
    names = preview.splitlines()[1].removeprefix("[Names in the part not shown: ").removesuffix("]").split()
    assert set(names) == {"load_items", "9b08923d", "b8fda02f34a6", COMMIT, "abcdef012345"}
    assert names_in_output(text, 300) == ("load_items", "9b08923d", "b8fda02f34a6", COMMIT, "abcdef012345")
    assert names_in_output(text, 2) == ("load_items", "9b08923d")
    diff = "diff --git a/src/app.py b/src/app.py\nindex 9f567f6f..876bcc8d 100644\n+load_items\n"
    assert "9f567f6f" not in names_in_output(diff, 300)
    assert 10 < names_tokens(preview) <= 40
    assert names_tokens(f"head\n{MARKER}") == 0


def names_shown(text: str, in_sight: str = "head") -> str:
    """Return the line of names of a text that a preview leaves out."""
    return insert_names(f"{in_sight}\n{MARKER}", text, 200).splitlines()[1]


def test_a_numbered_series_is_one_name() -> None:
    """Nine names or more that differ in numbers only; fewer are names, and a series in sight is known."""
    log = "\n".join(f"GET /api/v1/items/{n} by load_items" for n in range(300))
    assert names_shown(log) == ("[Names in the part not shown: load_items /api/v1/items/0 [300 like this]]")
    assert "/api/v1/items" not in names_shown(log, "GET /api/v1/items/7")
    codes = " ".join(f"E50{n}" for n in range(8))
    assert names_shown(codes) == f"[Names in the part not shown: {codes}]"


def test_escapes_and_fragments_are_no_part_of_names() -> None:
    """The letter of a quoted newline, a color of a terminal, a number with a letter."""
    text = "test_case['\\nSELECT a FROM t\\nLOOP 67428E'] \x1b[31mFAILED\x1b[0m \\x1b[1mload_items \\nMyError"
    assert names_shown(text) == "[Names in the part not shown: MyError test_case load_items]"
    assert not {"nSELECT", "nLOOP", "nMyError"} & set(names_in_output(text, 300))
