"""A project of text files `part0.txt`, `part1.txt` and so on, and a model that reads them."""

from __future__ import annotations

from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)


def part_files(count: int = 8, lines: int = 120) -> dict[str, str]:
    """Return so many files of so many lines each, by name."""
    return {
        f"part{n}.txt": f"Part {n}.\n" + f"line of part {n} with some words\n" * lines for n in range(count)
    }


def read_part(number: int) -> Call:
    return Call("read_file", f'{{"path": "part{number}.txt"}}', id=f"c{number}")


def reads_all(count: int = 8, *first: StreamedReply) -> ChatServer:
    """A model that makes some steps, reads all files one after the other, then answers shortly for ever."""
    reads = [StreamedReply(read_part(number)) for number in range(count)]
    return ChatServer(replies_in_order(*first, *reads, text_reply("All read.")))
