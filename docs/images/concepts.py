"""Draw the pictures of the concept pages as SVG files beside this script.

    python3 docs/images/concepts.py

It needs the standard library of Python, and the program fedflip on the path for the numbers of the planner. Each picture has an
opaque ground of its own, so that it is readable on any page, and follows the reader's light or dark setting.
"""

import json
import math
import random
import subprocess
from pathlib import Path

HERE = Path(__file__).parent

STYLE = """
  .ground { fill: #f6f7f9; stroke: #d5d9de }
  text { fill: #1b1f24; font: 13px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }
  .head { font-weight: 600; font-size: 14px } .soft { fill: #57606a; font-size: 12px }
  .end { text-anchor: end } .mid { text-anchor: middle }
  .axis { stroke: #8b949e; fill: none } .grid { stroke: #dcdfe4; fill: none } .mark { stroke: #1b1f24; fill: none; stroke-dasharray: 4 3 }
  .f0 { fill: #0072b2 } .f1 { fill: #c24e00 } .f2 { fill: #00815e } .f3 { fill: #b04a86 } .f4 { fill: #937700 } .f5 { fill: #6a3fb5 }
  .s0 { stroke: #0072b2 } .s1 { stroke: #c24e00 } .s2 { stroke: #00815e } .line { fill: none; stroke-width: 2.5 }
  .pale { opacity: 0.22 } .empty { fill: none; stroke: #8b949e }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #1c2027; stroke: #343b45 } text { fill: #e6e9ee } .soft { fill: #a3acb8 }
    .axis, .empty { stroke: #6b7480 } .grid { stroke: #2c323b } .mark { stroke: #e6e9ee }
    .f0 { fill: #56b4e9 } .f1 { fill: #f0853a } .f2 { fill: #2bc79c } .f3 { fill: #e08fbd } .f4 { fill: #e3c53c } .f5 { fill: #b79cff }
    .s0 { stroke: #56b4e9 } .s1 { stroke: #f0853a } .s2 { stroke: #2bc79c }
  }
"""


class Picture:
    """Elements of one SVG, with a title for those who do not see it."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def add(self, element: str) -> None:
        """Adds an element as it is."""
        self.parts.append(element)

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        """Writes words; `kind` names classes of the style, as below."""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{words}</text>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """Draws a rectangle from its upper left corner."""
        self.add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>')

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        """Draws a circle around a point."""
        self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{kind}"/>')

    def path(self, points: list[tuple[float, float]], kind: str) -> None:
        """Draws a line through points."""
        self.add(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{kind}"/>')

    def save(self, name: str) -> None:
        """Writes the file beside this script."""
        body = "\n  ".join(self.parts)
        (HERE / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img">\n'
            f"  <title>{self.title}</title>\n  <style>{STYLE}  </style>\n"
            f'  <rect x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8" class="ground"/>\n'
            f"  {body}\n</svg>\n",
            encoding="utf-8",
        )


class Plane:
    """A pair of axes, linear or logarithmic, at a place of a picture."""

    def __init__(self, picture: Picture, box: tuple[float, float, float, float], x: tuple, y: tuple) -> None:
        self.picture, (self.left, self.top, self.width, self.height) = picture, box
        self.x_range, self.x_log = x[:2], len(x) > 2
        self.y_range, self.y_log = y[:2], len(y) > 2

    @staticmethod
    def _share(value: float, ends: tuple, log: bool) -> float:
        low, high, value = (math.log(v) if log else v for v in (*ends, value))
        return (value - low) / (high - low)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The point of the picture that shows these values."""
        return (
            self.left + self.width * self._share(x, self.x_range, self.x_log),
            self.top + self.height * (1 - self._share(y, self.y_range, self.y_log)),
        )

    def axes(self, x_ticks: list[float], y_ticks: list[float], x_name: str, y_name: str) -> None:
        """Draws both axes with ticks and names, and a grid line for each tick of y."""
        bottom, right = self.top + self.height, self.left + self.width
        for value in y_ticks:
            y = self.at(self.x_range[0], value)[1]
            self.picture.path([(self.left, y), (right, y)], "grid")
            self.picture.text(self.left - 8, y + 4, f"{value:g}", "soft end")
        for value in x_ticks:
            x = self.at(value, self.y_range[0])[0]
            self.picture.path([(x, bottom), (x, bottom + 5)], "axis")
            self.picture.text(x, bottom + 19, f"{value:g}", "soft mid")
        self.picture.path([(self.left, self.top), (self.left, bottom), (right, bottom)], "axis")
        self.picture.text(self.left + self.width / 2, bottom + 38, x_name, "mid")
        self.picture.text(self.left - 34, self.top - 12, y_name)

    def curve(self, points: list[tuple[float, float]], kind: str) -> None:
        """Draws a line through values."""
        self.picture.path([self.at(x, y) for x, y in points], f"line {kind}")


def coins() -> None:
    """Six devices flip coins for 16 rounds; the size of a dot is the weight a/q."""
    names = ["laptop", "phone A", "phone B", "phone C", "tablet", "camera"]
    shares = [0.30, 0.25, 0.15, 0.10, 0.15, 0.05]
    q = [0.80, 0.50, 0.35, 0.25, 0.20, 0.10]
    rounds, left, top, column, row = 16, 210, 66, 32, 36
    picture = Picture(
        800,
        366,
        "Coins of six devices in sixteen rounds, with the aggregation weight a over q of each update",
    )
    picture.text(24, 30, "Every device flips its own coin in every round", "head")
    for x, words in ((24, "device"), (112, "data a"), (166, "q")):
        picture.text(x, top - 14, words, "soft")
    picture.text(left, top - 14, "rounds 1 to 16: a dot is an update, its area is the weight a/q", "soft")
    picture.text(744, top - 14, "a/q", "soft")
    generator, total = random.Random(7), [0.0] * rounds
    for device, name in enumerate(names):
        y = top + row * device + 14
        picture.text(24, y + 5, name)
        picture.text(112, y + 5, f"{shares[device]:.0%}".replace("%", " %"))
        picture.text(166, y + 5, f"{q[device]:.2f}")
        weight = shares[device] / q[device]
        picture.text(744, y + 5, f"{weight:.2f}")
        for round in range(rounds):
            x = left + column * round + 14
            picture.circle(x, y, 2, "empty")
            if generator.random() < q[device]:
                total[round] += weight
                picture.circle(x, y, 15 * math.sqrt(weight), f"f{device}")
    bottom = top + row * len(names) + 62
    picture.text(24, bottom - 20, "sum of the weights")
    picture.text(24, bottom - 4, f"mean of these rounds: {sum(total) / rounds:.2f}", "soft")
    for round, value in enumerate(total):
        x = left + column * round
        picture.rect(x + 4, bottom - 28 * value, 20, 28 * value, "f0 pale")
        picture.text(x + 14, bottom + 16, f"{value:.1f}", "soft mid")
    one = bottom - 28
    picture.path([(left - 6, one), (left + column * rounds, one)], "mark")
    picture.text(744, one + 5, "1.0")
    picture.save("concepts-coins.svg")


def finish_together(compute: list[float], payload: float, bandwidth_mbps: float) -> float:
    """The end of a round whose devices finish together: the root T of Σ payload/(T − compute) = bandwidth_mbps."""
    low, high = max(compute), max(compute) + payload * len(compute) / bandwidth_mbps
    for _ in range(200):
        middle = (low + high) / 2
        needed = sum(payload / (middle - secs) if middle > secs else math.inf for secs in compute)
        low, high = (middle, high) if needed > bandwidth_mbps else (low, middle)
    return high


def bandwidth() -> None:
    """One round of three devices with equal and with adaptive shares of the bandwidth."""
    names, compute, payload, bandwidth_mbps = ["laptop", "phone", "tablet"], [1.0, 4.0, 6.0], 8.0, 10.0
    together = finish_together(compute, payload, bandwidth_mbps)
    picture = Picture(800, 462, "The same round with equal shares and with adaptive shares of the bandwidth")
    for place, (title, ends) in enumerate(
        (
            ("Equal shares", [secs + payload / (bandwidth_mbps / 3) for secs in compute]),
            ("Adaptive shares: the cohort finishes together", [together] * 3),
        )
    ):
        plane = Plane(picture, (84, 62 + 206 * place, 540, 130), (0, 9), (0, bandwidth_mbps))
        picture.text(24, plane.top - 32, title, "head")
        plane.axes(
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            [0, 5, 10],
            "" if place == 0 else "seconds since the start of the round",
            "Mbit/s",
        )
        height = 0.0
        for device, (name, secs, end) in enumerate(zip(names, compute, ends, strict=True)):
            rate = payload / (end - secs)
            x, y = plane.at(0, height + rate)
            start, below = plane.at(secs, height)
            stop = plane.at(end, height)[0]
            picture.rect(x, y + 1, start - x, below - y - 2, f"f{device} pale")
            picture.rect(start, y + 1, stop - start, below - y - 2, f"f{device}")
            picture.text(x + 8, (y + below) / 2 + 5, name)
            picture.text(plane.left + 560, (y + below) / 2 + 5, f"{rate:.2f} Mbit/s")
            height += rate
        finish = max(ends)
        x, top = plane.at(finish, bandwidth_mbps)
        picture.path([(x, top - 8), (x, top + plane.height)], "mark")
        picture.text(x, top - 14, f"{finish:.2f} s", "mid")
    picture.text(
        84, 452, "pale: the device computes and its share is unused; solid: it uploads 8 Mbit", "soft"
    )
    picture.save("concepts-bandwidth.svg")


def fedflip(*arguments: str) -> str:
    """What the program prints for these arguments."""
    return subprocess.run(["fedflip", *arguments], check=True, capture_output=True, text=True).stdout


#: Rounds to the loss 1.1 on synthetic data: the mean of five seeds, and one standard deviation, for constant q. From
#: fedflip compare --preset paper --schemes fixed=0.008,fixed=0.01,…,full --seeds 5 --no-pilot --give-up none
#:     --set stop.metric=loss --set stop.at=1.1 --set stop.mode=min
MEASURED = {
    0.008: (1200.6, 525.2),
    0.01: (645.2, 106.0),
    0.014: (417.2, 61.3),
    0.02: (302.0, 47.0),
    0.04: (230.6, 18.4),
    0.1: (208.8, 5.5),
    1.0: (192.2, 3.5),
}
#: α and β of these data, the defaults of the scenario: from pilots with q = 1/N and q = 1.
ALPHA, BETA = 457, 2.475
#: Σ a² of the scenario's fleet: the sampling variance of full participation.
FULL_VARIANCE = 0.016949


def variance() -> None:
    """The round model R = α/(β − C), and measured rounds beside it."""
    picture = Picture(
        800,
        384,
        "The number of rounds to a loss against the sampling variance: the round model and measured runs",
    )
    plane = Plane(picture, (84, 62, 640, 270), (0, 2.7), (0, 2000))
    picture.text(24, 28, "Rounds to a test loss of 1.1", "head")
    plane.axes([0, 0.5, 1, 1.5, 2, 2.5], [0, 500, 1000, 1500, 2000], "sampling variance C = Σ a²/q", "rounds")
    steps = [index / 200 * (BETA - ALPHA / 2000) for index in range(201)]
    plane.curve([(c, ALPHA / (BETA - c)) for c in steps], "s0")
    x = plane.at(BETA, 0)[0]
    picture.path([(x, plane.top), (x, plane.top + plane.height)], "mark")
    picture.text(x + 7, plane.top + 16, "β")
    for q, (mean, deviation) in MEASURED.items():
        c = FULL_VARIANCE / q
        (x, low), (_, high) = plane.at(c, mean - deviation), plane.at(c, mean + deviation)
        picture.path([(x, low), (x, high)], "line s1")
        picture.circle(x, plane.at(c, mean)[1], 5, "f1")
        y = plane.at(c, mean)[1]
        if q < 0.1:
            picture.text(x - 9, y - 9, f"q = {q:g}", "soft end")
        else:
            picture.text(x - 4, y + 22, f"q = {q:g}", "soft")
    picture.path([(110, 96), (140, 96)], "line s0")
    picture.text(148, 100, "round model R = α/(β − C)")
    picture.circle(125, 120, 5, "f1")
    picture.text(148, 124, "measured: mean of five seeds, bar of one standard deviation")
    picture.save("concepts-variance.svg")


def planned(fleet: Path, *arguments: str) -> dict:
    """A plan of the fleet as JSON, with the constants that the authors published for their CNN on MNIST."""
    constants = ["--bandwidth", "100", "--alpha", "28.474", "--beta", "2.2043", "--draws", "2000", "--json"]
    return json.loads(fedflip("plan", str(fleet), *constants, *arguments))


def goals() -> None:
    """What a planner trades: larger cohorts need fewer rounds, but each round is longer."""
    fleet = HERE / "concepts-fleet.csv.tmp"
    fleet.write_text(fedflip("fleet", "new", "--seed", "7"))
    try:
        constant = [
            planned(fleet, "--scheme", f"fixed={10 ** (-2.02 + index * 2.02 / 60):.5f}")
            for index in range(61)
        ]
        auto = [
            planned(fleet, "--scheme", "auto", "--variance", f"{1.9 * 0.84**index:.4f}")
            for index in range(22)
        ]
    finally:
        fleet.unlink()
    picture = Picture(
        800,
        356,
        "Rounds and round time against the number of devices in a round, and their product, the total time",
    )
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100]
    x_range = (0.5, 100, "log")
    first = Plane(picture, (64, 80, 300, 220), x_range, (10, 1000, "log"))
    picture.text(24, 28, "Fewer rounds, but longer ones", "head")
    first.axes(
        ticks, [10, 20, 50, 100, 200, 500, 1000], "devices in a round, on average", "rounds, and milliseconds"
    )
    first.curve([(p["expected_participants"], p["rounds"]) for p in constant], "s0")
    first.curve([(p["expected_participants"], p["round_secs"]["mean"] * 1000) for p in constant], "s1")
    picture.text(232, 264, "rounds to the goal")
    picture.text(128, 130, "time of a round in ms")
    second = Plane(picture, (452, 80, 316, 220), x_range, (0, 14))
    picture.text(416, 28, "A plan finds the least total time", "head")
    second.axes(ticks, [0, 2, 4, 6, 8, 10, 12, 14], "devices in a round, on average", "seconds to the goal")
    second.curve(
        [(p["expected_participants"], p["total_secs"]) for p in constant if p["total_secs"] < 14], "s0"
    )
    second.curve([(p["expected_participants"], p["total_secs"]) for p in auto], "s2")
    for plans, kind, down in ((constant, "f0", -14), (auto, "f2", 20)):
        best = min(plans, key=lambda plan: plan["total_secs"])
        x, y = second.at(best["expected_participants"], best["total_secs"])
        picture.circle(x, y, 5, kind)
        picture.text(x, y + down, f"{best['total_secs']:.2f} s", "soft mid")
    picture.text(560, 176, "the same q for all devices")
    picture.text(646, 282, "planned q")
    picture.save("concepts-goals.svg")


if __name__ == "__main__":
    coins()
    bandwidth()
    variance()
    goals()
