"""Tables and texts for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    """A text as HTML shows it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def html_table(
    columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]], *, caption: str = "", note: str = ""
) -> str:
    """A table whose columns hold numbers, aligned to the right, or words."""

    def cell(tag: str, text: str, is_number: bool) -> str:
        align = "right" if is_number else "left"
        return f'<{tag} style="text-align: {align}">{escape(text)}</{tag}>'

    head = "".join(cell("th", title, is_number) for title, is_number in columns)
    body = "".join(
        "<tr>"
        + "".join(cell("td", text, is_number) for text, (_, is_number) in zip(row, columns, strict=False))
        + "</tr>"
        for row in rows
    )
    top = html_paragraph(caption) if caption else ""
    bottom = html_paragraph(note) if note else ""
    return f"{top}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{bottom}"


def html_paragraph(*lines: str, label: str = "") -> str:
    """Lines one below the other, behind a label."""
    bold = f"<b>{escape(label)}</b>: " if label else ""
    return f"<p>{bold}{'<br>'.join(escape(line) for line in lines)}</p>"


def html_text(text: str) -> str:
    """A text for terminals with its columns kept."""
    return f'<pre style="white-space: pre">{escape(text)}</pre>'
