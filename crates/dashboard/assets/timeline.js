// The latest round: who computes, who sends, all done together.

import { count, duration, significant } from "./format.js";

const body = document.querySelector("#timeline tbody");
const span = document.getElementById("span");
const summary = document.getElementById("round-summary");

export function showTimeline(timeline) {
  if (!timeline || timeline.round === 0) {
    summary.textContent = "No round yet.";
    body.replaceChildren();
    return;
  }
  const { round, round_secs: roundSecs, participants, own_starts: ownStarts, bars } = timeline;
  const some = bars.length < participants ? `; ${bars.length} of them shown` : "";
  const who = `${count(participants)} ${participants === 1 ? "device" : "devices"}${some}`;
  summary.textContent = ownStarts
    ? `Step ${count(round)} came ${duration(roundSecs)} after the one before, with ${who}. Bars begin when their device began.`
    : `Round ${count(round)} took ${duration(roundSecs)} with ${who}.`;

  // Whoever computes longest first, so that the bars make stairs.
  const ordered = [...bars].sort((a, b) => b.compute_secs - a.compute_secs);
  const longest = Math.max(roundSecs, ...ordered.map((bar) => bar.compute_secs + bar.upload_secs));
  const ends = document.createElement("div");
  ends.append(text("span", "0"), text("span", duration(longest)));
  span.replaceChildren(ends);
  body.replaceChildren(...ordered.map((bar) => row(bar, longest)));
}

function row(bar, longest) {
  const tr = document.createElement("tr");
  const name = text("th", bar.device);
  name.scope = "row";
  const track = document.createElement("div");
  track.className = bar.lost ? "track lost" : "track";
  for (const [kind, secs] of [["compute", bar.compute_secs], ["upload", bar.upload_secs]]) {
    const piece = document.createElement("div");
    piece.className = kind;
    piece.style.width = `${(100 * secs) / longest}%`;
    track.append(piece);
  }
  const drawn = document.createElement("td");
  drawn.className = "span";
  drawn.append(track);
  const sends = bar.lost ? text("td", `lost: ${bar.lost}`, "number lost") : text("td", duration(bar.upload_secs), "number");
  tr.append(name, drawn, text("td", duration(bar.compute_secs), "number"), sends, text("td", significant(bar.mbps), "number"));
  return tr;
}

function text(tag, content, className = "") {
  const element = document.createElement(tag);
  element.textContent = content;
  element.className = className;
  return element;
}
