"""The preview of source says which lines it leaves out, and one recall with these numbers brings them."""

from __future__ import annotations

import re

import pytest

from helix_desktop.agent.intake import Intake, PreviewInput
from helix_desktop.domain.digest import digest_of
from tests.support.cache_session import SessionRig
from tests.support.scripted_model import WordCounter

_PREVIEW = re.compile(
    r"(?P<head>.*?)\n\[… \d+ lines not shown \((?P<gap>\d+-\d+)\); some of them:\]\n(?P<rest>.*)\n\n"
    r'\[CACHED\] recall_cached_content\("(?P<handle>\w+)"\) the whole output; '
    r"start_line=(?P<start>\d+), end_line=(?P<end>\d+): the lines not shown",
    re.DOTALL,
)
_LAST = 600


def _source() -> list[str]:
    """Return the lines of a module with a function every twelve lines."""
    lines = [
        f"    total_{number} = read_part(total_{number - 1}, {number})" for number in range(1, _LAST + 1)
    ]
    lines[0::12] = [f"def sum_up_{number}(parts: list[int]) -> int:" for number in range(_LAST // 12)]
    return lines


@pytest.mark.parametrize("first", [1, 100], ids=["a file", "lines of it"])
async def test_code_structure_and_the_lines_between_come_in_one_recall(first: int) -> None:
    """It was an outline with a few lines of code, or none, and its marker named only the whole output."""
    lines = _source()[first - 1 :]
    if first > 1:
        lines = [f"{number}:{line}" for number, line in enumerate(lines, first)]
        lines.insert(0, f"Lines {first}-{_LAST} of 700 of src/sums.py:")
    text = "\n".join([*lines, ""])
    rig = await SessionRig.create()
    await rig.use_tool("src/sums.py", text.encode())
    content = PreviewInput("read_file", digest_of(text.encode()), 20, handle_digits=12)
    preview, _ = await Intake(WordCounter()).preview_content(text, content, 600)

    found = _PREVIEW.fullmatch(preview)
    assert found is not None, preview
    start, end = int(found["start"]), int(found["end"])
    assert found["gap"] == f"{start}-{end}"
    head, tail = found["head"].splitlines(), lines[end - _LAST :]
    if first > 1:
        lines[0] = f"Lines {first}-{_LAST} of 700 of src/sums.py, without most of {start}-{end}:"
    assert head == lines[: len(head)]
    assert min(len(head), len(tail)) >= 5
    shown = found["rest"].splitlines()
    assert shown[-len(tail) :] == tail
    functions = [line.partition(":")[::2] for line in shown[: -len(tail)]]
    assert len(functions) >= 10
    assert [(number, code.strip()) for number, code in functions] == [
        (f"{number}", line)
        for number, line in enumerate(_source(), 1)
        if start <= number <= end and line.startswith("def ")
    ][: len(functions)]
    recalled = await rig.recall(found["handle"], start_line=start, end_line=end, max_tokens=16_000)
    assert [line.partition(":")[2].strip() for line in recalled.splitlines()[-(end - start + 1) :]] == [
        line.strip() for line in _source()[start - 1 : end]
    ]
