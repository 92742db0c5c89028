"""The page of all pictures: each screen once with its themes, in the order of the sets."""

from __future__ import annotations

import re
from pathlib import Path

from picture_index import write_index


def test_every_picture_is_listed_beside_its_other_theme(tmp_path: Path) -> None:
    pictures = (
        "small/tour/chat-dark",
        "small/tour/chat-light",
        "small/states/error-light",
        "usual/tour/chat-light",
    )
    for name in (*pictures, "small/tour/data/logo"):
        path = tmp_path / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    page = write_index(
        tmp_path, {"usual": "", "small": "--size 1024x680", "large": ""}, ["large"]
    ).read_text()
    assert re.findall('<h2 id="(.*?)"', page) == ["usual", "small", "large"]
    figures = [re.findall('href="(.*?)"', figure) for figure in re.findall("<figure .*?</figure>", page)]
    assert figures == [
        ["usual/tour/chat-light.png"],
        ["small/tour/chat-light.png", "small/tour/chat-dark.png"],
        ["small/states/error-light.png"],
    ]
    assert page.count("pictures are missing") == 1
