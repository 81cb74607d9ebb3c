"""Sets the maths of a page with KaTeX while the site is built.

Pages then need no script to show a formula, screen readers get its MathML, and a formula that KaTeX refuses fails the build.
The work is done after the search has read the page, so that its index holds the formula as it was typed.
"""

from __future__ import annotations

import html
import json
import logging
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

LOG = logging.getLogger("mkdocs.hooks.maths")
FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)
SETTER = Path(__file__).with_name("maths.mjs")


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Replaces each formula by what KaTeX makes of it."""
    wanted = [(match[1] == "div", bare(match[2])) for match in FORMULA.finditer(output)]
    if not wanted:
        return output
    answers = iter(set_with_katex(wanted))

    def replaced(match: re.Match[str]) -> str:
        answer = next(answers)
        if "error" in answer:
            LOG.warning("%s: %s", page.file.src_uri, answer["error"])
            return match[0]
        return f'<{match[1]} class="arithmatex">{answer["html"]}</{match[1]}>'

    return FORMULA.sub(replaced, output)


def bare(text: str) -> str:
    r"""The formula without ``\( … \)`` or ``\[ … \]``."""
    return html.unescape(text.strip())[2:-2].strip()


def set_with_katex(formulas: list[tuple[bool, str]]) -> list[dict[str, str]]:
    packages = os.environ.get("FEDFLIP_SITE_PACKAGES")
    if not packages:
        raise PluginError("FEDFLIP_SITE_PACKAGES is not set: build the site with `cargo xtask site`")
    asked = json.dumps([{"tex": tex, "displayMode": display} for display, tex in formulas])
    done = subprocess.run(
        ["node", str(SETTER), f"{packages}/katex/dist/katex.mjs"],
        input=asked,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        raise PluginError(f"KaTeX could not be run:\n{done.stderr}")
    answers: list[dict[str, str]] = json.loads(done.stdout)
    return answers
