// The page reads well without this: it sorts tables, shows values under the pointer, and changes rounds.
"use strict";

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const key = (row, place) => {
    const cell = row.cells[place];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    return cell.classList.contains("n") ? Infinity : cell.textContent;
  };
  heads.forEach((head, place) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (a, b) => {
        const [one, other] = [key(a, place), key(b, place)];
        // What is not known stays last either way.
        if (one === Infinity || other === Infinity) return (one === Infinity) - (other === Infinity);
        const order = typeof one === "number" ? one - other : one.localeCompare(other, "en", { numeric: true });
        return down ? -order : order;
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}

for (const select of document.querySelectorAll("select[data-shows]")) {
  const shown = [...document.getElementById(select.dataset.shows).children];
  select.addEventListener("change", () => {
    shown.forEach((figure, place) => { figure.hidden = place !== select.selectedIndex; });
  });
}

// A link to something within a closed part opens it.
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

// Paper has nothing to click on: what is closed is opened for it, and closed again.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => { for (const details of closed) details.open = false; });

for (const svg of document.querySelectorAll("svg[data-hover]")) {
  const data = JSON.parse(svg.dataset.hover);
  const figure = svg.closest("figure");
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  figure.append(tip);
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
  cursor.setAttribute("class", "cursor");
  svg.append(cursor);
  svg.setAttribute("tabindex", "0");
  let at = null;

  const hide = () => { at = null; tip.hidden = true; cursor.removeAttribute("d"); };
  // The last value at or before a time: that is what the curve means between evaluations.
  const value = (curve, x) => {
    let low = 0, high = curve.x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (curve.x[middle] <= x) low = middle + 1; else high = middle;
    }
    return low === 0 ? null : curve.y[low - 1];
  };
  const show = (x) => {
    at = Math.min(data.high, Math.max(data.low, x));
    const px = data.left + (at - data.low) / (data.high - data.low) * (data.right - data.left);
    cursor.setAttribute("d", `M${px} ${data.top}V${data.bottom}`);
    const rows = data.curves.map((curve) => [curve, value(curve, at)]).filter(([, y]) => y !== null);
    rows.sort((a, b) => b[1] - a[1]);
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = `${Number(at.toPrecision(3))} ${data.unit}`;
    tip.append(head);
    for (const [curve, y] of rows) {
      const row = document.createElement("div");
      const dot = document.createElement("i");
      dot.style.background = `var(--c${curve.colour})`;
      row.append(dot, `${curve.name} ${Number(y.toPrecision(4))}`);
      tip.append(row);
    }
    tip.hidden = rows.length === 0;
    const box = svg.getBoundingClientRect(), home = figure.getBoundingClientRect();
    const left = box.left - home.left + px / svg.viewBox.baseVal.width * box.width;
    const flip = left + tip.offsetWidth + 16 > home.width;
    tip.style.left = `${Math.max(4, flip ? left - tip.offsetWidth - 12 : left + 12)}px`;
    tip.style.top = `${box.top - home.top + data.top / svg.viewBox.baseVal.height * box.height + 8}px`;
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const px = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    if (px < data.left - 4 || px > data.right + 4) return hide();
    show(data.low + (px - data.left) / (data.right - data.left) * (data.high - data.low));
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = (data.high - data.low) / 50;
    if (event.key === "ArrowRight") show((at ?? data.low) + step);
    else if (event.key === "ArrowLeft") show((at ?? data.high) - step);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });
}
