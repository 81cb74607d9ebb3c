"""Buffered asynchronous aggregation in slow plain Python, with exact fractions.

    python3 buffered.py > buffered.json

Every device works all the time (as many devices work at a time as there are), so that nothing is drawn at random. The
model is a list of numbers, and device n moves it towards its own point p_n: update = rate * (p_n - x). Time is looked
at from one change to the next. Between two changes every active transfer gets the same part of its band, at most its
link's limit.
"""

import json
from fractions import Fraction as F

RATE = F(1, 4)


class Device:
    def __init__(self, compute, load, limit, point):
        self.compute, self.load, self.point = F(compute), F(load), [F(v) for v in point]
        self.limit = None if limit is None else F(limit)
        self.phase = "idle"


def rates(active, band):
    part = band / len(active) if active else None
    return {n: part if d.limit is None else min(part, d.limit) for n, d in active.items()}


def run(case):
    devices = [Device(*row) for row in case["devices"]]
    band, k, overhead = F(case["band"]), case["updates"], F(case["overhead"])
    down = None if case["download"] is None else [F(v) for v in case["download"]]
    shared = case["unicast"]
    now, version, model = F(0), 0, [F(0), F(0)]
    buffer, busy_until, steps = [], None, []

    def start(device):
        device.version, device.received = version, list(model)
        if down is None:
            device.phase, device.until = "compute", now + device.compute
        elif shared:
            device.phase, device.left = "download", down[1] * device.load
        else:
            rate = down[0] if device.limit is None else min(down[0], device.limit)
            device.phase, device.until = "compute", now + down[1] * device.load / rate + device.compute

    while len(steps) < case["steps"]:
        if busy_until is None and len(buffer) >= k:
            busy_until = now + overhead
        if busy_until is None:
            for device in devices:
                if device.phase == "idle":
                    start(device)
        if busy_until == now:
            taken, buffer = buffer[:k], buffer[k:]
            lags = {n: version - devices[n].version for n in taken}
            for n in taken:
                d = devices[n]
                # Every weight is a square root, so the model leaves exact arithmetic here.
                weight = 1 / (1 + lags[n]) ** 0.5 / k
                for at, p in enumerate(d.point):
                    model[at] += F(weight * float(RATE * (p - d.received[at])))
                d.phase = "idle"
            version += 1
            steps.append({
                "secs": float(now),
                "cohort": sorted(taken),
                "lags": [lags[n] for n in sorted(taken)],
                "model": [float(v) for v in model],
            })
            busy_until = None
            continue
        uploads = {n: d for n, d in enumerate(devices) if d.phase == "upload"}
        downloads = {n: d for n, d in enumerate(devices) if d.phase == "download"}
        speed = rates(uploads, band) | (rates(downloads, down[0]) if down else {})
        ends = [now + devices[n].left / r for n, r in speed.items()]
        ends += [d.until for d in devices if d.phase == "compute"]
        ends += [] if busy_until is None else [busy_until]
        then = min(ends)
        for n, r in speed.items():
            devices[n].left -= r * (then - now)
        now = then
        for n in sorted(uploads):
            if devices[n].left == 0:
                devices[n].phase = "buffered"
                buffer.append(n)
        for n in downloads:
            if devices[n].left == 0:
                devices[n].phase, devices[n].until = "compute", now + devices[n].compute
        for device in devices:
            if device.phase == "compute" and device.until == now:
                device.phase, device.left = "upload", device.load
    return steps


DEVICES = [
    [1.0, 7.0, None, [1, -1]],
    [1.5, 9.0, None, [2, 0.5]],
    [4.25, 8.0, 3.0, [-1, 3]],
    [0.5, 11.0, None, [0.25, -2]],
    [9.0, 5.0, 1.25, [4, 4]],
]

CASES = [
    {"updates": 1, "overhead": 0, "download": None, "unicast": False},
    {"updates": 2, "overhead": 0, "download": None, "unicast": False},
    {"updates": 2, "overhead": 1.375, "download": None, "unicast": False},
    {"updates": 3, "overhead": 0.125, "download": [6.0, 0.5], "unicast": True},
    {"updates": 1, "overhead": 0, "download": [6.0, 0.5], "unicast": False},
    {"updates": 5, "overhead": 0, "download": None, "unicast": False},
]

if __name__ == "__main__":
    cases = [dict(case, devices=DEVICES, band=10.0, steps=14) for case in CASES]
    print(json.dumps([dict(case, expected=run(case)) for case in cases], indent=1))
