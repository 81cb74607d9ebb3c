"""The shape of what a command prints: its words without the numbers, which differ from machine to machine."""

from __future__ import annotations

import difflib
import re

#: A line of a page that stands for lines left out; inside a line, it stands for any text.
LEFT_OUT = "…"

MASKS = [
    # Digests.
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b"), "#"),
    # Sparklines and bars.
    (re.compile(r"[▁-█░▒▓━╸╺]+"), "▁"),
    # Numbers with sign, fraction, exponent and thousands.
    (re.compile(r"[-−+±]?\d(?:[\d,_]*\d)?(?:\.\d+)?(?:e[-+−]?\d+)?"), "#"),
    # Times, whose unit changes with their size.
    (re.compile(r"#(?: ?(?:ns|µs|ms|s|min|h|d)\b(?: #(?= ?(?:s|min|h)\b))?)+"), "# s"),
    # Columns, whose width changes with what is in them.
    (re.compile(r"[ \t]+"), " "),
]


def shape(line: str) -> str:
    """The line with numbers, times, curves and the width of columns masked."""
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return line.strip()


def shapes(text: str) -> list[str]:
    """The shapes of all lines, without empty ones at either end."""
    return [shape(line) for line in text.strip("\n").splitlines()]


def difference(shown: str, printed: list[str]) -> str | None:
    """What differs between the text of a page and what was printed, or None where one of the candidates fits."""
    expected = shapes(shown)
    found = [shapes(text) for text in printed]
    if any(fits(expected, candidate) for candidate in found):
        return None
    best = max(found, key=lambda candidate: difflib.SequenceMatcher(None, expected, candidate).ratio())
    return "\n".join(
        difflib.unified_diff(expected, best, "the page shows", "the command prints", lineterm="", n=1)
    )


def fits(expected: list[str], found: list[str]) -> bool:
    """Whether the lines are those of the page, where some may be left out."""
    if not expected:
        return not found
    if expected[0] == LEFT_OUT:
        return any(fits(expected[1:], found[start:]) for start in range(len(found) + 1))
    return bool(found) and line_fits(expected[0], found[0]) and fits(expected[1:], found[1:])


def line_fits(expected: str, found: str) -> bool:
    parts = [re.escape(part.strip()) for part in expected.split(LEFT_OUT)]
    return re.fullmatch(r"\s*.*?\s*".join(parts), found) is not None
