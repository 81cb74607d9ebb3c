"""Puts the planner in WebAssembly into the site, as a script that also loads from the disk, and holds it to its size."""

from __future__ import annotations

import base64
import gzip
import json
import os
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

PLACE = "javascripts/planner/module.js"
#: What a reader of the page downloads, compressed as servers compress it.
GZIP_BYTES_MAX = 1_000_000


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Adds the script to the files of the site."""
    files.append(File.generated(config, PLACE, content=script(os.environ.get("FEDFLIP_PLANNER"))))
    return files


def script(path: str | None) -> str:
    """The module as text in a script, because a page that is opened from the disk may not fetch files."""
    if path is None:
        missing = "this copy of the site was built without Rust's WebAssembly target"
        return f"(window.fedflipPlanner ??= {{}}).missing = {json.dumps(missing)};\n"
    module = base64.b64encode(Path(path).read_bytes()).decode()
    text = f'(window.fedflipPlanner ??= {{}}).module = "{module}";\n'
    size = len(gzip.compress(text.encode()))
    if size >= GZIP_BYTES_MAX:
        raise PluginError(f"the planner is {size} bytes compressed, and a page may have {GZIP_BYTES_MAX}")
    return text
