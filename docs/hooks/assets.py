"""Copies fonts and the style of KaTeX from npm's packages into the site, so that no page asks another host for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

#: The families of the text and of code, and the letters that each can show.
FAMILIES = {
    "Inter": "@fontsource-variable/inter",
    "JetBrains Mono": "@fontsource-variable/jetbrains-mono",
}
LETTERS = {
    "latin": "U+0000-00FF, U+0131, U+0152-0153, U+02BB-02BC, U+02C6, U+02DA, U+02DC, U+2000-206F, U+20AC, U+2122, U+2190-2193, "
    "U+2212, U+2215, U+FEFF, U+FFFD",
    "latin-ext": "U+0100-02BA, U+1E00-1E9F, U+1EF2-1EFF, U+20A0-20AB",
    "greek": "U+0370-03FF",
}
KATEX = "katex/dist"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Adds the files to those of the site."""
    folder = os.environ.get("FEDFLIP_SITE_PACKAGES")
    if not folder:
        raise PluginError("FEDFLIP_SITE_PACKAGES is not set: build the site with `cargo xtask site`")
    packages = Path(folder)
    faces = []
    for family, package in FAMILIES.items():
        for letters, letter_range in LETTERS.items():
            name = f"{package.rsplit('/', 1)[1]}-{letters}-wght-normal.woff2"
            add(files, config, f"assets/fonts/{name}", packages / package / "files" / name)
            faces.append(
                f"@font-face {{ font-family: '{family}'; font-weight: 100 900; font-display: swap;\n"
                f"  src: url(fonts/{name}) format('woff2'); unicode-range: {letter_range}; }}\n"
            )
    files.append(File.generated(config, "assets/fonts.css", content="".join(faces)))
    add(files, config, "assets/katex/katex.min.css", packages / KATEX / "katex.min.css")
    for font in sorted((packages / KATEX / "fonts").glob("*.woff2")):
        add(files, config, f"assets/katex/fonts/{font.name}", font)
    return files


def add(files: Files, config: Any, place: str, source: Path) -> None:
    if not source.is_file():
        raise PluginError(f"{source} is missing: `cargo xtask site` installs it")
    files.append(File.generated(config, place, abs_src_path=str(source)))
