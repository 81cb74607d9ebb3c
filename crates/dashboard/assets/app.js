// The page: takes updates from the stream and shows them.

import { Chart, PARTICIPANTS, ROUND_SECS, metricKind } from "./charts.js";
import { fleetChanged, startFleet } from "./fleet.js";
import { duration } from "./format.js";
import { showSchemes } from "./schemes.js";
import { lostStatus, secsOf, showStatus, targetOf, tick, timeOf } from "./status.js";
import { follow } from "./stream.js";
import { showTimeline } from "./timeline.js";

const LINES_MAX = 200;
// The schemes in the order of their colours, the baselines with dashes of their own: as in reports.
const SCHEMES = ["exact", "paper", "tight", "sampled", "weighted", "uniform", "fixed", "full", "auto"];
const DASHES = [[], [], [], [], [9, 3], [6, 3, 1.5, 3], [3.5, 3], [1.5, 2.5], []];

const notice = document.getElementById("notice");
const log = document.getElementById("log");
const legend = document.getElementById("legend");

// Of every run; the charts of metrics are those that the run's task has.
const charts = [
  { chart: chartIn("round_secs", ROUND_SECS), of: (run) => run.roundSecs, line: () => ["mean", secsOf(status) / status.summary.rounds] },
  { chart: chartIn("participants", PARTICIPANTS), of: (run) => run.participants, line: () => ["mean", status.summary.mean_participants] },
];
let metricCharts = [];

let status = { state: "waiting" };
// The curves of the current run: { metrics, roundSecs, participants }, metrics by name. A curve has points that stay, and
// an end that is replaced.
let curves = none();
let earlier = [];
// Labels in the order in which they came up, for their colours; and those that are not shown.
const labels = [];
const hidden = new Set();
let drawn = false;
let metricsShown = "[]";

function none() {
  return { metrics: {}, roundSecs: empty(), participants: empty() };
}

function empty() {
  return { x: [], y: [], tail: { x: [], y: [] } };
}

function chartIn(id, kind) {
  return new Chart(document.getElementById(id), kind);
}

function take(update) {
  notice.hidden = true;
  if (update.whole) {
    curves = none();
    earlier = (update.earlier ?? []).map(({ title, label, curves }) => ({
      title,
      label,
      metrics: Object.fromEntries(Object.entries(curves).map(([name, points]) => [name, split(points)])),
    }));
    log.replaceChildren();
  }
  status = update.status;
  if (update.curves) {
    for (const [name, growth] of Object.entries(update.curves.metrics)) grow((curves.metrics[name] ??= empty()), growth);
    grow(curves.roundSecs, update.curves.round_secs);
    grow(curves.participants, update.curves.participants);
  }
  for (const line of update.log) write(line);
  showMetrics(status.header?.metrics ?? []);
  showStatus(status);
  showSchemes(status.schemes);
  showTimeline(update.timeline);
  fleetChanged();
  draw();
}

function grow(curve, growth) {
  const { x, y } = split(growth.new);
  curve.x.push(...x);
  curve.y.push(...y);
  curve.tail = split(growth.tail);
}

// A chart for each metric, before the others and in the order in which the task declares them.
function showMetrics(metrics) {
  const key = JSON.stringify(metrics);
  if (metricsShown === key) return;
  metricsShown = key;
  metricCharts.forEach(({ chart }) => chart.remove());
  metricCharts = metrics.map((metric) => {
    const element = document.createElement("div");
    element.className = "chart";
    element.dataset.metric = metric.name;
    const caption = document.createElement("figcaption");
    caption.textContent = `Test ${metric.name}`;
    const figure = document.createElement("figure");
    figure.append(caption, element);
    document.getElementById("round_secs").parentElement.before(figure);
    const of = (run) => run.metrics[metric.name];
    return { chart: new Chart(element, metricKind(metric)), of, line: () => ["target", targetOf(status, metric.name)] };
  });
}

// Times and values, which come in turn.
function split(flat) {
  const [x, y] = [[], []];
  for (let place = 0; place < flat.length; place += 2) {
    x.push(flat[place]);
    y.push(flat[place + 1]);
  }
  return { x, y };
}

// At most once a frame, however many updates came.
function draw() {
  if (drawn) return;
  drawn = true;
  requestAnimationFrame(() => {
    drawn = false;
    const style = styles();
    for (const { chart, of, line } of [...metricCharts, ...charts]) {
      const runs = earlier.filter(of).map((run) => ({ ...of(run), title: run.title, ...style(run.label) }));
      if (status.title) {
        const { x, y, tail } = of(curves) ?? empty();
        runs.push({ x: x.concat(tail.x), y: y.concat(tail.y), title: status.title, ...style(status.label) });
      }
      chart.update(runs, status.title ? lineAt(...line()) : null, timeOf(status));
    }
    showLegend();
  });
}

// What to compare a curve with: where it is to get to, or what it comes to on average.
function lineAt(name, value) {
  return Number.isFinite(value) ? { name, value } : null;
}

// How the runs of a label look. Pilots are in grey; a scheme that nobody knows takes the next colour.
function styles() {
  for (const label of [...earlier.map((run) => run.label), status.label]) {
    if (label && !labels.includes(label)) labels.push(label);
  }
  const unknown = labels.filter((label) => !label.startsWith("pilot ") && placeOf(label) < 0);
  return (label) => {
    const shown = !hidden.has(label);
    if (label.startsWith("pilot ")) return { colour: "--muted", dash: [2, 3], shown };
    const known = placeOf(label);
    const place = known < 0 ? unknown.indexOf(label) % SCHEMES.length : known;
    return { colour: `--c${place}`, dash: DASHES[place], shown };
  };
}

function placeOf(label) {
  return SCHEMES.indexOf(label.split(/[=-]/)[0]);
}

function showLegend() {
  const counts = new Map();
  for (const { label } of [...earlier, status]) if (label) counts.set(label, (counts.get(label) ?? 0) + 1);
  // A single run needs no legend.
  const wanted = counts.size > 1 ? [...counts] : [];
  const key = JSON.stringify([wanted, [...hidden]]);
  if (legend.dataset.key === key) return;
  legend.dataset.key = key;
  const focused = document.activeElement?.dataset?.label;
  const style = styles();
  legend.replaceChildren(
    ...wanted.map(([label, runs]) => {
      const { colour, dash, shown } = style(label);
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.label = label;
      button.setAttribute("aria-pressed", String(shown));
      const small = document.createElement("small");
      small.textContent = runs === 1 ? "1 run" : `${runs} runs`;
      button.append(swatch(colour, dash), label, small);
      button.addEventListener("click", () => {
        if (!hidden.delete(label)) hidden.add(label);
        draw();
      });
      return button;
    }),
  );
  if (focused) [...legend.children].find((button) => button.dataset.label === focused)?.focus();
}

function swatch(colour, dash) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ width: 22, height: 8, "aria-hidden": true })) svg.setAttribute(name, value);
  for (const [name, value] of Object.entries({ x1: 0, x2: 22, y1: 4, y2: 4, "stroke-width": 3 })) line.setAttribute(name, value);
  line.style.stroke = `var(${colour})`;
  line.style.strokeDasharray = dash.join(" ");
  svg.append(line);
  return svg;
}

function write({ secs, text }) {
  const line = document.createElement("li");
  const time = document.createElement("time");
  const words = document.createElement("span");
  time.textContent = duration(secs);
  words.textContent = text;
  line.append(time, words);
  log.prepend(line);
  while (log.children.length > LINES_MAX) log.lastElementChild.remove();
}

function notify(text, tone) {
  notice.dataset.tone = tone;
  if (notice.hidden || notice.textContent !== text) notice.textContent = text;
  notice.hidden = false;
}

startFleet();
setInterval(tick, 500);
matchMedia("screen and (prefers-color-scheme: dark)").addEventListener("change", () => {
  [...metricCharts, ...charts].forEach(({ chart }) => chart.build());
});
follow({
  onUpdate: take,
  onLost: () => {
    lostStatus("connection lost");
    notify("Connection lost, trying again. The page shows the last values that it received.", "warning");
  },
  onBye: () => notify("All runs are over, and their server has ended. Curves and numbers stay; a new run at this address appears by itself.", "calm"),
});
