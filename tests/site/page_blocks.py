"""The code blocks of a page, and which step of the tests runs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
#: Pages whose text is at the root of the repository; the site shows them, too.
AT_THE_ROOT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")

OPENING = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+) *(?P<language>[\w-]*)(?P<options>.*)$")
MARK = re.compile(r"^\s*<!-- (not run on this page|not run|exits with|fragment)(?:: | )?(.*?) *-->\s*$")
TITLE = re.compile(r'title="([^"]+)"')

#: What the code of a page speaks of decides which step of `cargo xtask test` has all that it needs. The first that fits counts.
STEPS = {
    "flower": re.compile(r"\bflwr\b|fedflip\.flower"),
    "cluster": re.compile(r"\bray\b|\bRayCrew\b|\bmpirun\b|\bmpi4py\b|\bdask\b|\bMpiCrew\b|\bExecutorCrew\b"),
    "torch": re.compile(r"\btorch\b|TorchLearner"),
}
STEP_OF_PYTHON = "python"
STEP_OF_COMMANDS = "site"
#: What a command line of Python's looks like in a shell.
PYTHON_COMMAND = re.compile(r"^\s*(?:python3?|pip|jupyter|pytest)\b", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of code."""

    language: str
    #: The number of the line in its page that has the first line of code.
    line: int
    code: str
    #: The file that the block shows, if it shows one.
    title: str | None = None
    #: Why the tests do not run it, if they do not.
    not_run: str | None = None
    #: The exit code of its last command.
    exits_with: int = 0
    is_fragment: bool = False
    #: The next block, if it shows what this one prints.
    output: Block | None = None

    @property
    def runs(self) -> bool:
        """Whether the tests run it."""
        return self.language in ("sh", "python") and self.title is None and self.not_run is None


class Page(NamedTuple):
    """A page with its blocks."""

    path: Path
    text: str
    blocks: list[Block]

    @property
    def name(self) -> str:
        """The path within the repository."""
        inside = self.path.is_relative_to(REPOSITORY)
        return str(self.path.relative_to(REPOSITORY)) if inside else self.path.name

    def of(self, language: str) -> list[Block]:
        """The blocks of a language that run."""
        return [block for block in self.blocks if block.language == language and block.runs]

    @property
    def scenarios(self) -> list[Block]:
        """The blocks that are whole scenarios."""
        return [
            block
            for block in self.blocks
            if block.language == "toml" and not block.is_fragment and not block.not_run
        ]

    @property
    def step(self) -> str | None:
        """The step of the tests that runs the page, if there is anything to run."""
        files = [block.code for block in self.blocks if block.title]
        code = "\n".join([block.code for block in self.blocks if block.runs] + files)
        if not any(block.runs for block in self.blocks) and not self.scenarios:
            return None
        for step, words in STEPS.items():
            if words.search(code):
                return step
        commands = "\n".join(block.code for block in self.of("sh"))
        if self.of("python") or PYTHON_COMMAND.search(commands):
            return STEP_OF_PYTHON
        return STEP_OF_COMMANDS


def pages() -> list[Page]:
    """All pages of the repository that the site or a code host shows."""
    found = [REPOSITORY / name for name in AT_THE_ROOT]
    return [read(path) for path in [*found, *sorted(REPOSITORY.glob("docs/**/*.md"))]]


def pages_of(step: str) -> list[Page]:
    """The pages that a step runs."""
    return [page for page in pages() if page.step == step]


def read(path: Path) -> Page:
    """A page and its blocks."""
    text = path.read_text(encoding="utf-8")
    return Page(path, text, blocks_of(text))


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    lines = text.splitlines()
    whole_page = next(
        (mark[2] for line in lines if (mark := MARK.match(line)) and mark[1] == "not run on this page"), None
    )
    blocks: list[Block] = []
    #: The number of the line after the last block's.
    after = 0
    index = 0
    while index < len(lines):
        opening = OPENING.match(lines[index])
        index += 1
        if not opening:
            continue
        start = index
        closing = re.compile(rf"^ *{re.escape(opening['fence'])} *$")
        while index < len(lines) and not closing.match(lines[index]):
            index += 1
        indent = len(opening["indent"])
        code = "".join(
            f"{line[min(indent, len(line) - len(line.lstrip())) :]}\n" for line in lines[start:index]
        )
        block = marked(lines, start - 2, Block(opening["language"], start + 1, code))
        if block.not_run is None and whole_page is not None:
            block = block._replace(not_run=whole_page)
        title = TITLE.search(opening["options"])
        block = block._replace(title=title[1] if title else None)
        between = "".join(lines[after : start - 1]).strip() if blocks else "prose"
        if block.language == "text" and not between and block.not_run is None and blocks[-1].runs:
            blocks[-1] = blocks[-1]._replace(output=block)
        blocks.append(block)
        index += 1
        after = index
    return blocks


def marked(lines: list[str], above: int, block: Block) -> Block:
    """The block with what the comments directly above its fence say."""
    while above >= 0 and (mark := MARK.match(lines[above])):
        match mark[1]:
            case "not run":
                if not mark[2]:
                    raise ValueError(f"line {above + 1}: `<!-- not run: REASON -->` needs its reason")
                block = block._replace(not_run=mark[2])
            case "exits with":
                block = block._replace(exits_with=int(mark[2]))
            case "fragment":
                block = block._replace(is_fragment=True)
        above -= 1
    return block
