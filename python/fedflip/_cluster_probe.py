"""What a worker of a cluster says of itself when it joins, and who is admitted."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
import struct
from pathlib import Path
from typing import Any, NamedTuple

from fedflip._errors import FedflipError, LearnerError
from fedflip._fedflip import __version__
from fedflip._key import TrainKey

__all__ = ["Report", "Roll", "report_of"]

#: Instructions by which kernels of fedflip, numpy and torch choose their code, and with it the last bits of sums.
_INSTRUCTIONS = frozenset(
    [
        "sse4_1",
        "sse4_2",
        "avx",
        "f16c",
        "fma",
        "avx2",
        "avx512f",
        "avx512dq",
        "avx512bw",
        "avx512vl",
        "avx512_vnni",
        "avx512_bf16",
        "avx512_fp16",
        "amx_bf16",
        "amx_tile",
        "asimd",
        "asimdhp",
        "asimddp",
        "sve",
        "sve2",
        "bf16",
        "i8mm",
    ]
)


class Report(NamedTuple):
    """What a worker says of itself. All but the name must be the same everywhere."""

    #: Host and process.
    name: str
    #: The digest of the update of the probe key; empty if the training failed.
    update: str
    #: The version of fedflip.
    version: str
    #: The architecture, and the instructions that choose kernels.
    processor: str
    #: The digest of the samples.
    data: str
    #: Why the training of the probe failed, if it did.
    failure: str = ""

    def differences(self, other: Report) -> list[str]:
        """What differs from another report, in words."""
        found = []
        if self.version != other.version:
            found.append(f"its fedflip is {self.version}, not {other.version}")
        if self.processor != other.processor:
            mine, others = set(self.processor.split()), set(other.processor.split())
            less, more = sorted(others - mine), sorted(mine - others)
            words = [f"lacks {' '.join(less)}"] if less else []
            words += [f"has {' '.join(more)} in addition"] if more else []
            found.append(f"its processor {' and '.join(words)}")
        if self.data != other.data:
            found.append(f"its data have the digest {self.data[:12]}, not {other.data[:12]}")
        if self.failure != other.failure and not (self.failure and other.failure):
            found.append(
                f"its training of the probe failed: {self.failure}"
                if self.failure
                else f"it trained the probe, which failed there: {other.failure}"
            )
        elif self.update != other.update:
            found.append(
                f"its update of the probe has the digest {self.update[:12]}, not {other.update[:12]}"
            )
        return found


def report_of(work: Any) -> Report:
    """Trains one key, and says what this process is and has. ``work`` is a ``FlatLearner`` or a ``NativeLearner``."""
    samples = [work.samples(device) for device in range(work.devices)]
    device = next((device for device, count in enumerate(samples) if count), 0)
    trained, failure = "", ""
    try:
        update, loss = work.train(work.initial(0), TrainKey(seed=0, round=1, device=device))
        trained = hashlib.sha256(update.tobytes() + struct.pack("<d", loss)).hexdigest()
    except LearnerError as error:
        # A run says more about a training that fails; workers must only all fail.
        failure = error.problem
    name = f"{socket.gethostname()}:{os.getpid()}"
    return Report(name, trained, __version__, _processor(), _data_digest(work, samples), failure)


def _data_digest(work: Any, samples: list[int]) -> str:
    """The digest that the learner knows, or that of its numbers of samples."""
    known = getattr(work, "data_digest", None) or getattr(work.learner, "data_digest", None)
    if known is not None:
        return str(known())
    return hashlib.sha256(repr(samples).encode()).hexdigest()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return " ".join([platform.machine(), *sorted(_INSTRUCTIONS & set(flags.split()))])


class Roll:
    """All workers that have joined. The first report decides what the others must be like.

    Args:
        mixed: Admit workers that differ, and remember in what.
    """

    def __init__(self, mixed: bool) -> None:
        self._mixed = mixed
        self._first: Report | None = None
        #: The names of the workers.
        self.workers: set[str] = set()
        #: A sentence for each worker that differs, by its name.
        self.different: dict[str, str] = {}

    def compare_with(self, driver: Report) -> None:
        """Says what the workers must be like: as the process that drives them."""
        self._first = driver._replace(name=f"{driver.name}, the driver")

    def admit(self, report: Report) -> None:
        """Takes a worker in.

        Raises:
            FedflipError: If the worker differs from the first one.
        """
        if report.name in self.workers:
            return
        if self._first is None:
            self._first = report
        differences = report.differences(self._first)
        if differences:
            sentence = f"worker {report.name} differs from {self._first.name}: {'; '.join(differences)}"
            if not self._mixed:
                raise FedflipError(
                    sentence,
                    remedy="use equal machines with equal data and versions; or admit the worker with mixed=True, which "
                    "the run's folder records",
                )
            self.different[report.name] = sentence
        self.workers.add(report.name)
