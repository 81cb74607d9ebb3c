"""What the tests of pages print at their end: how many blocks ran, and why the others did not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import page_blocks


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Counts the blocks of all pages."""
    steps: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for page in page_blocks.pages():
        for block in page.blocks:
            if block.runs:
                steps[page.step or ""] += 1
            elif block.not_run is not None and block.language in ("sh", "python"):
                reasons[block.not_run] += 1
    by_step = ", ".join(f"{count} in step {step}" for step, count in steps.most_common())
    terminalreporter.write_line(
        f"blocks of sh and Python in pages: {steps.total()} run ({by_step}), {reasons.total()} do not:"
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"  {count:3} {reason}")
