"""The arguments of the guided demo and of the screenshots."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from helix_desktop.cli import argument_types
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def add_demo_commands(add_command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add both commands; `add_command` adds one by name and help."""
    demo = add_command("demo", tr("run the guided demo without a display"))
    pictures = add_command("screenshots", tr("take screenshots of every screen"))
    for command in (demo, pictures):
        command.add_argument(
            "--out", type=argument_types.path, required=True, metavar="DIR", help=tr("output directory")
        )
    pictures.add_argument(
        "--size", type=argument_types.pixels, metavar="WxH", help=tr("size of the window, such as 1024x680")
    )
    pictures.add_argument(
        "--scale", choices=("1", "2"), default="1", help=tr("size of a pixel, in those of the screen")
    )
    pictures.add_argument(
        "--theme", choices=("light", "dark", "both"), default="both", help=tr("appearance to take")
    )
    argument_types.add_text(pictures, "--language", "CODE", tr("code of a language, or a compiled catalog"))
