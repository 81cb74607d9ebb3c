// The run in numbers, and in words for those who listen.

import { count, duration, metricText, significant } from "./format.js";

// How often the numbers are spoken while a run goes.
const SPEAK_EVERY_MS = 30_000;

const title = document.getElementById("title");
const state = document.getElementById("state");
const figures = document.getElementById("figures");
const facts = document.getElementById("facts");
const spoken = document.getElementById("spoken");

let spokenAt = -Infinity;
let spokenState = "";
// When the last update came, by this browser's clock: the run's own clock continues from there.
let cameAt = 0;
let latest = null;

export function showStatus(status) {
  latest = status;
  cameAt = performance.now();
  title.textContent = status.title ?? "waiting for a run";
  state.dataset.state = status.state;
  state.textContent = status.is_done && status.runs > 1 ? `all ${status.runs} runs are over` : (status.ended ?? status.state);
  document.title = status.title ? `${headline(status).at(-1)} ${status.title} – fedflip` : "fedflip";
  if (!status.title) return;
  list(figures, figuresOf(status));
  list(facts, factsOf(status));
  tick();
  speak(status);
}

// What runs are timed by.
export function timeOf(status) {
  return isDeployed(status) ? "real time" : "virtual time";
}

export function secsOf(status) {
  return 3600 * status.summary.hours;
}

// The value of a metric at which the run ends, if it ends at one.
export function targetOf(status, name) {
  const { stop } = status.header;
  return stop?.metric === name ? stop.at : undefined;
}

function isDeployed(status) {
  return Boolean(status.header?.deployed);
}

// Name and value of a metric, as text.
function shown(status, metric) {
  return [metric.name, metricText(metric, status.summary.metrics[metric.name])];
}

// How sure a metric is that devices estimated; nothing of one that was computed.
function estimateOf(status, metric) {
  const { estimated } = status.summary;
  if (!estimated) return "";
  const se = estimated.se?.[metric.name];
  return `${se === undefined ? "" : `± ${metricText(metric, se)} `}from ${count(estimated.devices)} devices`;
}

function headline(status) {
  const [metric] = status.header.metrics;
  return metric ? shown(status, metric) : [];
}

// Nothing comes any more: what is shown is no longer how it is.
export function lostStatus(words) {
  if (latest?.state === "running") latest = { ...latest, state: "lost" };
  state.dataset.state = "waiting";
  state.textContent = words;
}

// The time on the wall, which advances between updates.
export function tick() {
  const real = document.getElementById("real");
  if (!real || !latest) return;
  const since = latest.state === "running" ? (performance.now() - cameAt) / 1000 : 0;
  const secs = Math.floor(latest.real_secs + since);
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(secs / 3600);
  real.textContent = `${hours > 0 ? `${hours}:` : ""}${two(Math.floor(secs / 60) % 60)}:${two(secs % 60)}`;
}

function figuresOf(status) {
  const { header, summary } = status;
  const secs = secsOf(status);
  const rounds = header.expected_rounds === null ? "" : `${significant(header.expected_rounds)} expected`;
  const mean = summary.rounds > 0 ? secs / summary.rounds : NaN;
  const expected = header.expected_round_secs === null ? "" : `, ${duration(header.expected_round_secs)} expected`;
  const metrics = header.metrics.map((metric) => {
    const [name, value] = shown(status, metric);
    const target = targetOf(status, metric.name);
    const notes = [estimateOf(status, metric), target === undefined ? "" : `target ${metricText(metric, target)}`];
    return [`${summary.estimated ? "Estimated" : "Test"} ${name}`, value, notes.filter(Boolean).join(", ")];
  });
  return [
    ...metrics,
    ["Round", count(summary.rounds), rounds],
    [isDeployed(status) ? "Time" : "Virtual time", duration(secs), `${duration(mean)} a round${expected}`],
    ["Devices a round", significant(summary.mean_participants), `${significant(header.expected_participants)} expected`],
    [isDeployed(status) ? "This session" : "Real time", "", "by the wall clock", "real"],
  ];
}

function factsOf(status) {
  const { header, summary } = status;
  return [
    ["Task", header.task],
    ["Scheme", header.scheme],
    ["Seed", status.seed],
    ["Devices", count(header.devices)],
    ["Bandwidth", `${significant(header.bandwidth_mbps)} Mbit/s`],
    ["Parameters", count(header.parameters)],
    ["Empty rounds", count(summary.empty_rounds)],
    ["Biased rounds", count(summary.biased_rounds)],
    ["Lost devices", count(status.lost)],
    ...(status.folder ? [["Kept in", status.folder]] : []),
  ];
}

// Keeps what is there and changes only its text: nothing flickers, and a selection stays.
function list(parent, entries) {
  while (parent.children.length > entries.length) parent.lastElementChild.remove();
  entries.forEach(([name, value, note, id], place) => {
    let entry = parent.children[place];
    if (!entry) {
      entry = document.createElement("div");
      entry.append(document.createElement("dt"), document.createElement("dd"));
      if (note !== undefined) {
        const small = document.createElement("dd");
        small.className = "note";
        entry.append(small);
      }
      parent.append(entry);
    }
    const [dt, dd, small] = entry.children;
    change(dt, name);
    dd.id = id ?? "";
    if (!id) change(dd, value);
    if (small) change(small, note);
  });
}

function change(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function speak(status) {
  const now = performance.now();
  const key = `${status.title} ${status.state}`;
  if (key === spokenState && now - spokenAt < SPEAK_EVERY_MS) return;
  spokenState = key;
  spokenAt = now;
  spoken.textContent =
    `${status.title}, ${status.ended ?? "running"}: round ${count(status.summary.rounds)}, ` +
    `${headline(status).join(" ")}, ${duration(secsOf(status))} of ${timeOf(status)}`;
}
