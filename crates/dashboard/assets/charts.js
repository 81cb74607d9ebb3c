// Curves over time. The current run is uPlot's one series; the runs before it are drawn under it, each
// from its own few points, so that a comparison of many runs needs no table of all their times.

import { duration, metricText, significant, timeUnit } from "./format.js";

const FONT = "12px system-ui, sans-serif";
const AXIS_PX = 62;
// Above the highest value, for the words on the line.
const HEADROOM = 1.12;
/* global uPlot */

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Chart {
  // `unit(largest)` gives the label of the values and their size in it; `show` writes one value with its unit;
  // `noisy` values are drawn faintly, because they would hide the line through them.
  constructor(element, { what, unit, show, noisy }) {
    Object.assign(this, { element, what, unit, show, noisy });
    this.runs = [];
    this.line = null;
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    element.setAttribute("role", "img");
    this.build();
    this.resizes = new ResizeObserver(() => this.plot.setSize(this.size()));
    this.resizes.observe(element);
  }

  // With its figure.
  remove() {
    this.resizes.disconnect();
    this.plot.destroy();
    this.element.parentElement.remove();
  }

  size() {
    return { width: Math.max(200, this.element.clientWidth), height: this.element.clientHeight };
  }

  // Anew, so that colours are those of the page.
  build() {
    this.plot?.destroy();
    const axis = { stroke: css("--muted"), font: FONT, labelFont: FONT, ticks: { show: false } };
    const grid = { stroke: css("--grid"), width: 1 };
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false }, x: true, y: false },
        padding: [10, 18, 0, 0],
        scales: {
          x: { time: false, range: () => [0, this.extent?.x || 1] },
          y: { range: () => this.extent?.y ?? [0, 1] },
        },
        axes: [
          { ...axis, grid: { show: false }, label: "time (s)", labelSize: 18, size: 32 },
          { ...axis, grid, label: this.what, labelSize: 18, size: AXIS_PX - 18 },
        ],
        series: [{}, { width: this.noisy ? 1 : 2, alpha: this.noisy ? 0.5 : 1, points: { show: false } }],
        hooks: {
          drawAxes: [() => this.drawEarlier()],
          draw: [() => this.drawLine()],
          setCursor: [() => this.point()],
        },
      },
      [[], []],
      this.element,
    );
    this.plot.over.append(this.tip);
    this.update(this.runs, this.line, this.time);
  }

  // `runs` in the order of drawing, the current one last: { title, x, y, colour, dash, shown }. `line` is one
  // across all of them, such as the target: { name, value }, or null. `time` is whose time it is.
  update(runs, line, time) {
    Object.assign(this, { runs, line, time });
    const shown = runs.filter((run) => run.shown && run.x.length > 0);
    const current = runs.at(-1);
    const largestX = Math.max(0, ...shown.map((run) => run.x.at(-1)));
    const ys = shown.flatMap((run) => range(run.y)).concat(line === null ? [] : [line.value]);
    const [low, high] = ys.length > 0 ? range(ys) : [0, 1];
    const [unitX, secs] = timeUnit(largestX);
    const [label, size] = this.unit(high);
    Object.assign(this, { secs, valueSize: size });
    // From nothing, so that heights can be compared; losses may be anywhere.
    this.extent = { x: largestX / secs, y: [Math.min(0, low) / size, ((high || 1) * HEADROOM) / size] };

    const [x, y] = this.plot.axes;
    x.label = `${time} (${unitX})`;
    y.label = label;
    this.plot.series[1].stroke = () => css(current?.colour ?? "--c0");
    this.plot.series[1].dash = current?.dash ?? [];
    const visible = current?.shown ? current : { x: [], y: [] };
    this.plot.setData([visible.x.map((at) => at / secs), visible.y.map((value) => value / size)]);

    this.element.dataset.points = String(current?.x.length ?? 0);
    this.element.dataset.runs = String(runs.length);
    const last = current?.y.at(-1);
    this.element.setAttribute(
      "aria-label",
      last === undefined
        ? `${this.what}: nothing to draw yet`
        : `${this.what} of ${current.title}: ${this.show(last)} after ${duration(current.x.at(-1))} of ${time}` +
            (line === null ? "" : `; the ${line.name} is ${this.show(line.value)}`),
    );
  }

  drawEarlier() {
    this.within((context, pixels) => {
      context.lineWidth = 1.25 * devicePixelRatio;
      for (const run of this.runs.slice(0, -1).filter((run) => run.shown)) {
        context.strokeStyle = css(run.colour);
        context.setLineDash(run.dash.map((length) => length * devicePixelRatio));
        context.beginPath();
        run.x.forEach((at, place) => context.lineTo(...pixels(at, run.y[place])));
        context.stroke();
      }
    });
  }

  drawLine() {
    if (this.line === null) return;
    const { name, value } = this.line;
    this.within((context, pixels, box) => {
      const [, y] = pixels(0, value);
      context.strokeStyle = context.fillStyle = css("--target");
      context.lineWidth = devicePixelRatio;
      context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      context.beginPath();
      context.moveTo(box.left, y);
      context.lineTo(box.left + box.width, y);
      context.stroke();
      context.font = FONT.replace("12px", `${12 * devicePixelRatio}px`);
      context.textAlign = "right";
      context.textBaseline = "bottom";
      context.setLineDash([]);
      context.lineWidth = 4 * devicePixelRatio;
      context.strokeStyle = css("--card");
      const words = [`${name} ${this.show(value)}`, box.left + box.width - 4 * devicePixelRatio, y - 2 * devicePixelRatio];
      context.strokeText(...words);
      context.fillText(...words);
    });
  }

  within(draw) {
    const { ctx, bbox } = this.plot;
    const pixels = (at, value) => [
      this.plot.valToPos(at / this.secs, "x", true),
      this.plot.valToPos(value / this.valueSize, "y", true),
    ];
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    draw(ctx, pixels, bbox);
    ctx.restore();
  }

  // What the nearest curve says under the pointer.
  point() {
    const { left, top } = this.plot.cursor;
    const nearest = left >= 0 ? this.nearest(left, top) : null;
    this.tip.hidden = nearest === null;
    if (nearest === null) return;
    const { run, place } = nearest;
    const name = this.runs.length > 1 ? `${run.title}: ` : "";
    this.tip.textContent = `${name}${this.show(run.y[place])} at ${duration(run.x[place])}`;
    const room = this.plot.over.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(left + 12, room))}px`;
    this.tip.style.top = `${Math.max(0, top - 34)}px`;
  }

  nearest(left, top) {
    const at = this.plot.posToVal(left, "x") * this.secs;
    let best = null;
    for (const run of this.runs.filter((run) => run.shown && run.x.length > 0)) {
      const place = closest(run.x, at);
      const x = this.plot.valToPos(run.x[place] / this.secs, "x");
      const y = this.plot.valToPos(run.y[place] / this.valueSize, "y");
      const distance = Math.hypot(x - left, y - top);
      if (best === null || distance < best.distance) best = { run, place, distance };
    }
    return best;
  }
}

// Where a sorted list comes closest to a value.
function closest(sorted, value) {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value - sorted[low - 1] < sorted[low] - value ? low - 1 : low;
}

function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

export function metricKind(metric) {
  const share = metric.display === "share";
  return {
    what: `Test ${metric.name}`,
    unit: () => (share ? [`${metric.name} (%)`, 0.01] : [metric.name, 1]),
    show: (value) => metricText(metric, value),
    noisy: false,
  };
}

export const ROUND_SECS = {
  what: "Time of a round",
  unit: (secs) => {
    const [unit, size] = timeUnit(secs);
    return [`a round (${unit})`, size];
  },
  show: duration,
  noisy: true,
};

export const PARTICIPANTS = {
  what: "Participants of a round",
  unit: () => ["devices", 1],
  show: (devices) => `${significant(devices)} ${devices === 1 ? "device" : "devices"}`,
  noisy: true,
};
