// The fleet's table. The server sorts and searches; here is only what the screen shows.

import { count, duration, fixedPercent } from "./format.js";

const ROWS = 50;
// How often it is asked for anew while a run goes.
const EVERY_MS = 1_000;

const COLUMNS = [
  { key: "device", label: "Device", show: (row) => row.device },
  { key: "type", label: "Type", show: (row) => row.type },
  { key: "data_share", label: "Data share a", number: true, show: (row) => fixedPercent(row.data_share) },
  { key: "compute_secs", label: "Compute", number: true, show: (row) => duration(row.compute_secs) },
  { key: "comm_secs", label: "Comm", number: true, show: (row) => duration(row.comm_secs) },
  { key: "q", label: "Planned q", number: true, show: (row) => fixedPercent(row.q) },
  { key: "frequency", label: "Realised", number: true, show: (row) => fixedPercent(row.frequency) },
  { key: "taken", label: "Took part", number: true, show: (row) => count(row.taken) },
  { key: "lost", label: "Lost", number: true, show: (row) => count(row.lost) },
  { key: "computing", label: "Computing", number: true, show: (row) => fixedPercent(row.computing) },
  { key: "uploading", label: "Sending", number: true, show: (row) => fixedPercent(row.uploading) },
  { key: "idle", label: "Idle", number: true, show: (row) => fixedPercent(row.idle) },
];

// What only a server of real devices knows.
const STATUS_COLUMNS = [
  { key: "standing", label: "State", show: ({ status }) => standing(status) },
  { key: "samples", label: "Samples", number: true, show: ({ status }) => count(status.samples) },
  { key: "availability", label: "Availability", number: true, show: ({ status }) => fixedPercent(status.availability) },
  { key: "version", label: "Version", show: ({ status }) => status.version },
  { key: "certificate", label: "Certificate", number: true, show: ({ status }) => certificate(status), warns: expires },
];
// Who is connected may change between rounds.
const STATUS_EVERY_MS = 5_000;
// A certificate is due for renewal when it is valid for less than this.
const EXPIRES_SOON_DAYS = 30;

let columns = COLUMNS;

function standing(status) {
  if (status.standing !== "active") return status.standing;
  return status.is_connected ? "connected" : "away";
}

function daysLeft(status) {
  if (status.certificate_until_unix_secs === null) return null;
  return Math.floor((status.certificate_until_unix_secs - Date.now() / 1000) / 86_400);
}

function expires({ status }) {
  const days = daysLeft(status);
  return days !== null && days < EXPIRES_SOON_DAYS;
}

function certificate(status) {
  const days = daysLeft(status);
  if (days === null) return "";
  if (days < 0) return "expired";
  return days < EXPIRES_SOON_DAYS ? `${count(days)} days: renew` : `${count(days)} days`;
}

const heads = document.querySelector("#devices thead tr");
const body = document.querySelector("#devices tbody");
const search = document.getElementById("search");
const range = document.getElementById("range");
const previous = document.getElementById("previous");
const next = document.getElementById("next");

const wanted = { sort: "position", descending: false, offset: 0 };
// Counts questions, so that a late answer does not replace a newer one.
let asked = 0;
let stale = false;
let timer = null;

export function startFleet() {
  heads.replaceChildren(...columns.map(head));
  search.addEventListener("input", () => turnTo(0));
  previous.addEventListener("click", () => turnTo(wanted.offset - ROWS));
  next.addEventListener("click", () => turnTo(wanted.offset + ROWS));
}

// Something has happened: asks again, but not too often, and not while nobody looks.
export function fleetChanged() {
  stale = true;
  if (timer !== null) return;
  timer = setTimeout(() => {
    timer = null;
    if (stale && !document.hidden) ask();
  }, asked === 0 ? 0 : EVERY_MS);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && stale) ask();
});

function head(column) {
  const th = document.createElement("th");
  th.scope = "col";
  th.className = column.number ? "number" : "";
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = column.label;
  button.addEventListener("click", () => {
    // Numbers are first wanted from the top, names from the beginning; a second time the other way round.
    wanted.descending = wanted.sort === column.key ? !wanted.descending : Boolean(column.number);
    wanted.sort = column.key;
    for (const other of heads.children) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", wanted.descending ? "descending" : "ascending");
    turnTo(0);
  });
  th.append(button);
  return th;
}

function turnTo(offset) {
  wanted.offset = Math.max(0, offset);
  ask();
}

async function ask() {
  stale = false;
  asked += 1;
  const question = asked;
  const query = new URLSearchParams({ ...wanted, search: search.value, limit: ROWS });
  try {
    const answer = await fetch(`/fleet?${query}`);
    if (answer.ok && question === asked) show(await answer.json());
  } catch {
    // The stream says that the connection is lost, and asks again when it is back.
  }
}

function show({ devices, matching, offset, rows }) {
  if (rows.length === 0 && offset > 0) {
    turnTo(matching - ROWS);
    return;
  }
  wanted.offset = offset;
  const of = matching < devices ? `${count(matching)} of ${count(devices)} devices` : `${count(devices)} devices`;
  const label = rows.length > 0 ? `${count(offset + 1)}–${count(offset + rows.length)} of ${of}` : "no such device";
  if (range.textContent !== label) range.textContent = label;
  previous.disabled = offset === 0;
  next.disabled = offset + rows.length >= matching;
  if (columns === COLUMNS && rows.some((row) => row.status)) {
    columns = [...COLUMNS, ...STATUS_COLUMNS];
    heads.append(...STATUS_COLUMNS.map(head));
    setInterval(() => { if (!document.hidden) ask(); }, STATUS_EVERY_MS);
  }
  body.replaceChildren(...rows.map(tableRow));
}

function tableRow(row) {
  const tr = document.createElement("tr");
  for (const column of columns) {
    const cell = document.createElement(column.key === "device" ? "th" : "td");
    if (column.key === "device") cell.scope = "row";
    const isKnown = row.status || !STATUS_COLUMNS.includes(column);
    cell.textContent = isKnown ? column.show(row) : "";
    if (column.number) cell.className = "number";
    if (column.key === "lost" && row.lost > 0) cell.classList.add("lost");
    if (isKnown && column.warns?.(row)) cell.classList.add("lost");
    tr.append(cell);
  }
  return tr;
}
