// How the schemes of a comparison did so far.

import { duration, significant } from "./format.js";

const section = document.getElementById("schemes");
const body = section.querySelector("tbody");
let shown = "";

export function showSchemes(rows) {
  // Pilots are no competitors, and one scheme alone is no comparison.
  const schemes = rows.filter((row) => !row.label.startsWith("pilot "));
  section.hidden = schemes.length < 2;
  const key = JSON.stringify(rows);
  if (key === shown) return;
  shown = key;
  const whole = schemes.filter((row) => row.reached === row.runs);
  const best = Math.min(...whole.map((row) => row.mean_secs));
  body.replaceChildren(...rows.map((row) => line(row, best)));
}

function line(row, best) {
  const pilot = row.label.startsWith("pilot ");
  // A lower bound is shown as one.
  const least = row.reached < row.runs ? "> " : "";
  const time = row.diverged > 0 ? "diverged" : `${least}${duration(row.mean_secs)}`;
  const ratio = pilot || row.diverged > 0 || !Number.isFinite(best) ? "–" : `${least}${(row.mean_secs / best).toFixed(2)}×`;
  const tr = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = row.label;
  tr.append(head);
  for (const text of [time, ratio, significant(row.mean_rounds), `${row.reached} of ${row.runs}`]) {
    const cell = document.createElement("td");
    cell.className = "number";
    cell.textContent = text;
    tr.append(cell);
  }
  return tr;
}
