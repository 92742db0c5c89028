"""The names in what a preview leaves out: ids of single requests are none that anybody looks for."""

from __future__ import annotations

from helix_desktop.context.intake.output_names import insert_names, names_in_output, names_tokens

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
