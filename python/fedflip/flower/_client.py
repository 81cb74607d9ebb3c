"""One message on one client: the app is called, and what it raises becomes an error with its traceback."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import random
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Context, Message, RecordDict

from fedflip.flower._messages import copied

__all__ = ["Outcome", "execute", "kept_random_state", "seed_everything"]


@dataclass
class Outcome:
    """What became of one message.

    Attributes:
        reply: The reply; None if the client failed.
        state: The state of the client after the message; None if the client failed.
        problem: The exception in one line; empty if there is none.
        traceback: The traceback of the client's code.
        crashed: Whether the process of the client ended.
        exception: The exception itself, if the client ran in this process.
    """

    reply: Message | None = None
    state: RecordDict | None = None
    problem: str = ""
    traceback: str = ""
    crashed: bool = False
    exception: BaseException | None = None


def execute(app: Any, message: Message, context: Context, seed: int | None) -> Outcome:
    """Calls a ClientApp. Exceptions and exits of its code are part of the outcome; Ctrl-C is not."""
    if seed is not None:
        seed_everything(seed)
    try:
        reply = app(message, context)
        if not isinstance(reply, Message):
            raise TypeError(f"the ClientApp returned {type(reply).__name__}, and should return a Message")
        reply.metadata.dst_node_id = message.metadata.src_node_id
    except (Exception, SystemExit) as error:
        shown = "".join(traceback.format_exception(error))
        return Outcome(problem=_described(error), traceback=shown, exception=error)
    if reply.has_content():
        # The client may keep what it has sent, and change it later.
        reply.__dict__["_content"] = copied(reply.content)
    return Outcome(reply=reply, state=context.state)


def _described(error: BaseException) -> str:
    """The type and the text of an exception, whose own code may fail."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}, whose text cannot be made"


def seed_everything(seed: int) -> None:
    """Seeds the global generators of Python, numpy and, if it is installed, PyTorch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = _torch()
    if torch is not None:
        torch.manual_seed(seed % 2**63)


@functools.cache
def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _torch() -> Any:
    """PyTorch; None where it is missing. Client code may import it in a message, which is too late to seed it."""
    if "torch" not in sys.modules and _is_installed("torch"):
        # An installation that is broken is the app's to notice, if it needs PyTorch.
        with contextlib.suppress(Exception):
            importlib.import_module("torch")
    return sys.modules.get("torch")


@contextlib.contextmanager
def kept_random_state() -> Iterator[None]:
    """Leaves the global generators as they were: clients in this process do not change the server's numbers."""
    python, numpy = random.getstate(), np.random.get_state()
    torch = _torch()
    of_torch = torch.get_rng_state() if torch is not None else None
    of_cuda = torch.cuda.get_rng_state_all() if _has_cuda(torch) else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if torch is not None:
            torch.set_rng_state(of_torch)
        if of_cuda is not None:
            torch.cuda.set_rng_state_all(of_cuda)
        elif _has_cuda(torch):
            # A client was the first to use the graphics cards. They would have begun with the server's seed.
            torch.cuda.manual_seed_all(torch.initial_seed())


def _has_cuda(torch: Any) -> bool:
    """Whether this process uses graphics cards. To ask for their generators would start them."""
    return torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()
