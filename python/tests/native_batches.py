"""The batches of the native kernels, computed in Python from the definition of the random streams."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]

#: The purpose of the stream: the samples on which a device trains in a round.
_BATCHES = 6


def drawn_here(seed: int, round: int, device: int, samples: int, batch: int, steps: int) -> Indices:
    """What the native function returns, computed in Python from the definition of the random streams."""
    words = _words(seed, _BATCHES, round, device)
    order, next_place, picks = list(range(samples)), 0, np.empty(steps * batch, np.int64)
    for at in range(steps * batch):
        chosen = next_place + _below(words, samples - next_place)
        order[next_place], order[chosen] = order[chosen], order[next_place]
        picks[at] = order[next_place]
        next_place = (next_place + 1) % samples
    return picks.reshape(steps, batch)


def _below(words: Iterator[int], limit: int) -> int:
    """A whole number below a limit of at most 32 bits, as the crate rand 0.10 draws it."""
    product = next(words) * limit
    result, low = product >> 32, product & 0xFFFF_FFFF
    if low > 0x1_0000_0000 - limit:
        result += low + (next(words) * limit >> 32) > 0xFFFF_FFFF
    return result


def _words(seed: int, purpose: int, round: int, device: int) -> Iterator[int]:
    """The words of the stream ChaCha8 whose key is (seed, purpose, round), and whose number is the device."""
    constant = struct.unpack("<4I", b"expand 32-byte k")
    key = struct.unpack("<8I", struct.pack("<3Q", seed, purpose, round) + b"fedflip1")
    number = (device & 0xFFFF_FFFF, device >> 32)
    block, blocks = 0, 64
    while True:
        counters = np.arange(block, block + blocks, dtype=np.uint64)
        state = np.empty((16, blocks), np.uint32)
        state[:12] = np.array([*constant, *key], np.uint32)[:, None]
        state[12], state[13] = counters & np.uint64(0xFFFF_FFFF), counters >> np.uint64(32)
        state[14:] = np.array(number, np.uint32)[:, None]
        yield from _chacha8(state).T.reshape(-1).tolist()
        block += blocks


def _chacha8(start: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Blocks of the cipher ChaCha with 8 rounds, one in each column."""
    state = start.copy()
    rows = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(4):
        for quarter in rows + diagonals:
            a, b, c, d = quarter
            for left, changed, right, bits in [(a, d, b, 16), (c, b, d, 12), (a, d, b, 8), (c, b, d, 7)]:
                state[left] += state[right]
                mixed = state[changed] ^ state[left]
                state[changed] = (mixed << np.uint32(bits)) | (mixed >> np.uint32(32 - bits))
    return state + start
