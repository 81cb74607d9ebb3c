// The run in numbers, and in words for those who listen.

import { count, duration, percent, significant } from "./format.js";

// How often the numbers are spoken while a run goes.
const SPEAK_EVERY_MS = 30_000;

const title = document.getElementById("title");
const state = document.getElementById("state");
const figures = document.getElementById("figures");
const facts = document.getElementById("facts");
const spoken = document.getElementById("spoken");

let spokenAt = -Infinity;
let spokenState = "";
// When the last update came, by this browser's clock: the run's own goes on from there.
let cameAt = 0;
let latest = null;

export function showStatus(status) {
  latest = status;
  cameAt = performance.now();
  title.textContent = status.title ?? "waiting for a run";
  state.dataset.state = status.state;
  state.textContent = status.is_done && status.runs > 1 ? `all ${status.runs} runs are over` : (status.ended ?? status.state);
  document.title = status.title ? `${percent(status.accuracy)} ${status.title} – fedflip` : "fedflip";
  if (!status.title) return;
  list(figures, figuresOf(status));
  list(facts, factsOf(status));
  tick();
  speak(status);
}

// What runs are timed by.
export function timeOf(status) {
  return status.is_deployed ? "real time" : "virtual time";
}

// Nothing comes any more: what is shown is no longer how it is.
export function lostStatus(words) {
  if (latest?.state === "running") latest = { ...latest, state: "lost" };
  state.dataset.state = "waiting";
  state.textContent = words;
}

// The time on the wall, which goes on between updates.
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
  const target = status.target_accuracy === null ? "" : `target ${percent(status.target_accuracy)}`;
  const lossTarget = status.target_loss === null ? "" : `target ${significant(status.target_loss)} nats`;
  const rounds = status.expected_rounds === null ? "" : `${significant(status.expected_rounds)} expected`;
  const mean = status.round > 0 ? status.secs / status.round : NaN;
  const expected = status.expected_round_secs === null ? "" : `, ${duration(status.expected_round_secs)} expected`;
  return [
    ["Accuracy", percent(status.accuracy), target],
    ["Loss", status.loss === null ? "–" : `${significant(status.loss)} nats`, lossTarget],
    ["Round", count(status.round), rounds],
    [status.is_deployed ? "Time" : "Virtual time", duration(status.secs), `${duration(mean)} a round${expected}`],
    ["Devices a round", significant(status.mean_participants), `${significant(status.expected_participants)} expected`],
    [status.is_deployed ? "This session" : "Real time", "", "by the wall clock", "real"],
  ];
}

function factsOf(status) {
  return [
    ["Task", status.task],
    ["Scheme", status.scheme],
    ["Seed", status.seed],
    ["Devices", count(status.devices)],
    ["Band", `${significant(status.bandwidth_mbps)} Mbit/s`],
    ["Parameters", count(status.parameters)],
    ["Empty rounds", count(status.empty_rounds)],
    ["Biased rounds", count(status.biased_rounds)],
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
    if (id) dd.id = id;
    else change(dd, value);
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
    `${status.title}, ${status.ended ?? "running"}: round ${count(status.round)}, ` +
    `accuracy ${percent(status.accuracy)}, ${duration(status.secs)} of ${timeOf(status)}`;
}
