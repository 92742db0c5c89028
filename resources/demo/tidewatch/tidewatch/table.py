"""Tables as text: aligned columns, or Markdown."""


def aligned(rows, header=None):
    """Rows of texts as lines with aligned columns; numbers to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    every = [header, *rows] if header else rows
    if not every:
        return []
    widths = [max(len(row[column]) for row in every) for column in range(len(every[0]))]
    lines = ["  ".join(_cell(cell, width) for cell, width in zip(row, widths)).rstrip() for row in every]
    if header:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def markdown(rows, header):
    """Rows of texts as the lines of a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return lines


def _cell(text, width):
    return text.rjust(width) if _is_number(text) else text.ljust(width)


def _is_number(text):
    return text.lstrip("+-").replace(".", "", 1).isdigit()
