"""Random edits of a tree by an agent's tools, by commands, and by its user: seeded, names collide often."""

from __future__ import annotations

import os
import random
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.file_changes.cases import edit, edits, numbered_lines, write

_FOLDERS = ("", "lib", "lib/deep", "doc", "src", "src/ui", "src/ui/parts")
_NAMES = ("a.txt", "b.txt", "c.py", "d.md", "e", "f.txt", "g.json", "h")
_LINES = 30
START = {
    "/".join(filter(None, (folder, name))): numbered_lines(_LINES)
    for folder in _FOLDERS
    for name in _NAMES[:6]
}
"""The tree before the first edit."""


class RandomEdits:
    """Makes edits of one seed; each text that it writes is unique, and says who wrote it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.log: list[str] = []
        self._root = root

    def path(self) -> str:
        folder = self.random.choice(_FOLDERS)
        return "/".join(filter(None, (folder, self.random.choice(_NAMES)))) or "e"

    def token(self, who: str) -> str:
        """Return a text that no other edit writes."""
        self.count += 1
        return f"{who} {self.count}"

    def tool_call(self) -> tuple[str, dict[str, Any]]:
        """Return a call of a file tool; it may fail, for want of a file."""
        path = self.path()
        text = self.token("agent")
        line = self.random.randint(1, _LINES)
        match self.random.randrange(10):
            case 0:
                call = write(path, f"{text}\n")
            case 1:
                call = write(path, numbered_lines(_LINES, **{f"line{line}": text}))
            case 2 | 3 | 4 | 5 | 6:
                call = edit(path, f"line {line}\n", f"{text}\n")
            case _:
                call = edits(
                    (path, f"line {line}\n", f"{text}\n"), (self.path(), "line 1", f"{text} first\nline 1")
                )
        self.log.append(f"tool {call}")
        return call

    def command(self) -> str:
        parts = [self._shell_edit() for _ in range(self.random.randint(1, 4))]
        command = "; ".join(f"{part} 2>/dev/null" for part in parts) + "; true"
        self.log.append(command)
        return command

    def _shell_edit(self) -> str:
        first = shlex.quote(self.path())
        second = shlex.quote(self.path())
        folder = shlex.quote(self.random.choice(_FOLDERS[1:]))
        text = self.token("command")
        line = self.random.randint(1, _LINES)
        line_edit = f"sed -i 's/^line {line}$/{text}/' {first}"
        others = [
            f"echo {text} >> {first}",
            f"echo {text} > {first}",
            f"rm -f {first}",
            f"mv {first} {second}",
            f"cp {first} {second}",
            f"chmod {self.random.choice(('755', '644', '600'))} {first}",
            f"ln -sfn {self.random.choice(('a.txt', '../b.txt', 'none'))} {first}",
            f"rm -rf {first} && mkdir -p {first} && echo {text} > {first}/in",
            f"rm -rf {folder}/a* {folder}/e" if self.random.random() < 0.9 else f"rm -rf {folder}",
            f"mkdir -p {folder} && echo {text} > {folder}/{self.random.choice(_NAMES)}",
            f"printf '\\000{text}' > {first}",
            f": > {first}",
        ]
        return line_edit if self.random.random() < 0.6 else self.random.choice(others)

    def user_edit(self) -> None:
        """Change something at once, as an editor or a file manager would."""
        place = self._root / self.path()
        other = self._root / self.path()
        text = self.token("user")
        line = self.random.randint(1, _LINES)
        which = self.random.randrange(15)
        self.log.append(f"user {which} {place} {other} {text}")
        with suppress(OSError, ValueError):
            match which:
                case 0 | 1 | 2 | 3:  # as vim does
                    backup = place.with_name(f"{place.name}~")
                    backup.write_text(place.read_text().replace(f"line {line}\n", f"{text}\n"))
                    os.replace(backup, place)
                case 4 | 5 | 12 | 13 | 14:
                    place.write_text(place.read_text().replace(f"line {line}\n", f"{text}\n"))
                case 6:
                    with place.open("a") as file:
                        file.write(f"{text}\n")
                case 7:
                    os.rename(place, other)
                case 8 | 9:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(f"{text}\n")
                case 10:
                    place.unlink()
                case 11 if self.random.random() < 0.1:
                    shutil.rmtree(self._root / self.random.choice(_FOLDERS[1:]))
