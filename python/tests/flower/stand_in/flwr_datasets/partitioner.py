"""How the stand-in divides its pictures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class IidPartitioner:
    """Partitions of equal size."""

    num_partitions: int
