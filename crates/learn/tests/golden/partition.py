"""Partitions, written again from the text in crates/learn/src/partition.rs and partition/draws.rs.

    python3 crates/learn/tests/golden/partition.py > crates/learn/tests/golden/partition.json

Needs nothing but Python. crates/learn/tests/partition.rs compares.
"""

import json
import math
import struct

PURPOSE = 7  # Purpose::Partition
SHARED = 2**64 - 1
MASK = 2**32 - 1


class Stream:
    """ChaCha with 8 rounds: key (seed, purpose, round, "fedflip1"), nonce the device, counter from 0."""

    def __init__(self, seed, round_, device):
        key = struct.pack("<QQQ", seed, PURPOSE, round_) + b"fedflip1"
        self.key = struct.unpack("<8I", key)
        self.device = device
        self.block = 0
        self.words = []

    def word(self):
        if not self.words:
            start = list(struct.unpack("<4I", b"expand 32-byte k")) + list(self.key)
            start += [self.block & MASK, self.block >> 32, self.device & MASK, self.device >> 32]
            x = start[:]
            for _ in range(4):
                for a, b, c, d in [
                    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
                ]:
                    for p, q, r, turn in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
                        x[p] = (x[p] + x[q]) & MASK
                        x[r] ^= x[p]
                        x[r] = ((x[r] << turn) | (x[r] >> (32 - turn))) & MASK
            out = [(u + v) & MASK for u, v in zip(x, start)]
            self.words = [out[n] | out[n + 1] << 32 for n in range(0, 16, 2)]
            self.block += 1
        return self.words.pop(0)

    def below(self, bound):
        return self.word() * bound >> 64

    def uniform(self):
        return (self.word() >> 11) / 2**53

    def normal(self):
        while True:
            a = 2 * self.uniform() - 1
            b = 2 * self.uniform() - 1
            s = a * a + b * b
            if 0 < s < 1:
                return a * math.sqrt(-2 * math.log(s) / s)

    def log_gamma(self, k):
        d = k + 2 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = self.normal()
            v = (1 + c * x) ** 3
            if v <= 0:
                continue
            u = self.uniform()
            if u == 0 or math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
                break
        return math.log(d * v) + math.log(1 - self.uniform()) / k

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def iid(samples, devices, seed):
    positions = list(range(samples))
    Stream(seed, 0, SHARED).shuffle(positions)
    each, larger = divmod(samples, devices)
    parts = []
    for n in range(devices):
        size = each + (n < larger)
        parts.append(positions[:size])
        positions = positions[size:]
    return parts


def dirichlet(labels, devices, concentration, minimum, seed):
    classes = max(labels) + 1
    parts = [[] for _ in range(devices)]
    for c in range(classes):
        positions = [n for n, label in enumerate(labels) if label == c]
        Stream(seed, c, SHARED).shuffle(positions)
        logs = [Stream(seed, c, n).log_gamma(concentration) for n in range(devices)]
        weights = [math.exp(log - max(logs)) for log in logs]
        total = 0.0
        for weight in weights:
            total += weight
        running, start = 0.0, 0
        for n, weight in enumerate(weights):
            running += weight
            end = math.floor(len(positions) * (running / total) + 0.5)
            end = len(positions) if n == devices - 1 else min(max(end, start), len(positions))
            parts[n] += positions[start:end]
            start = end
    moved = 0
    for needy in range(devices):
        stream = Stream(seed, classes, needy)
        while len(parts[needy]) < minimum:
            donor = max(range(devices), key=lambda n: (len(parts[n]), -n))
            taken = stream.below(len(parts[donor]))
            sample = parts[donor][taken]
            parts[donor][taken] = parts[donor][-1]
            parts[donor].pop()
            parts[needy].append(sample)
            moved += 1
    return parts, moved


def by_role(lengths, devices, minimum, seed):
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    roles = [range(s, s + n) for s, n in zip(starts, lengths) if n >= max(minimum, 1)]
    Stream(seed, 0, SHARED).shuffle(roles)
    parts = [[] for _ in range(devices)]
    for rank, role in enumerate(roles):
        parts[rank % devices] += role
    return parts


def main():
    cases = []
    for samples, devices, seed in [(10, 3, 1), (103, 10, 7)]:
        parts = iid(samples, devices, seed)
        cases.append({"kind": "iid", "samples": samples, "devices": devices, "seed": seed, "parts": parts})
    for samples, devices, concentration, minimum, seed in [
        (40, 5, 0.8, 2, 7), (300, 10, 0.1, 5, 1), (300, 30, 0.01, 8, 2**63 + 5), (200, 7, 100.0, 0, 3), (90, 80, 0.8, 0, 4),
    ]:
        labels = [n * n % 7 for n in range(samples)]
        parts, moved = dirichlet(labels, devices, concentration, minimum, seed)
        cases.append({
            "kind": "dirichlet", "labels": labels, "devices": devices, "concentration": concentration,
            "min_samples": minimum, "seed": seed, "parts": parts, "moved": moved,
        })
    lengths = [5, 0, 12, 3, 40, 7, 1, 9]
    for devices, minimum, seed in [(3, 0, 7), (4, 6, 8)]:
        parts = by_role(lengths, devices, minimum, seed)
        cases.append({
            "kind": "by-role", "lengths": lengths, "devices": devices, "min_samples": minimum, "seed": seed,
            "parts": parts,
        })
    for case in cases:
        case["parts"] = [sorted(part) for part in case["parts"]]
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


main()
