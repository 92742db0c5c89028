"""PDFs of a few lines: with text, without any, protected, and hostile ones."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

import pypdf

_BOMB_BYTES = 40 * 1024 * 1024


def pdf(*pages: str) -> bytes:
    """Return a PDF with a page for each text; one of an empty text has no text."""
    return _pdf([_text_operators(page) for page in pages])


def protected_pdf(password: str) -> bytes:
    """Return a PDF that nobody reads without its password."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("secret words")))
    writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def bomb_pdf() -> bytes:
    """Return a small PDF whose one page unpacks to 40 MB of operators."""
    return _pdf([_text_operators("x") * (_BOMB_BYTES // 40)])


def _text_operators(text: str) -> bytes:
    if not text:
        return b""
    lines = " T* ".join(f"({line}) Tj" for line in text.split("\n"))
    return f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET\n".encode("latin-1")


def _pdf(streams: Sequence[bytes]) -> bytes:
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, stream in enumerate(streams):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
        objects.append(f"{page}/Resources << /Font << /F1 3 0 R >> >> >>".encode())
        packed = zlib.compress(stream, 9)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + packed + b"\nendstream")
    return _file(objects)


def _file(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)
