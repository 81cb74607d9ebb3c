// The participation probabilities as a bar chart and as a table, both sorted.
"use strict";
{
  const planner = (window.fedflipPlanner ??= {});
  const { count, duration, element, percent, significant } = planner;

  const [HEIGHT, LEFT, TOP, BOTTOM] = [260, 52, 8, 34];
  const WIDTH_MIN = 280;
  // More devices than this are one outline: a bar would be thinner than a pixel.
  const BARS_MAX = 360;
  const ROWS = 50;

  function shape(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // The positions of the devices, the largest participation probability first.
  function order({ q }) {
    return q.map((_, position) => position).sort((a, b) => q[b] - q[a] || a - b);
  }

  // A round number that is not below the largest value.
  function ceiling(value) {
    const unit = 10 ** Math.floor(Math.log10(value));
    return Math.min(1, [1, 2, 5, 10].map((factor) => factor * unit).find((top) => top >= value * (1 - 1e-12)));
  }

  // Whether a device takes part whenever it is available.
  const isCapped = (plan, position) => plan.q[position] >= plan.availability[position];

  // One unit of the picture is one pixel of the page, so that its text is as large as that of the page.
  function draw(plan, pixels) {
    const full = Math.max(WIDTH_MIN, pixels);
    const sorted = order(plan);
    const top = ceiling(plan.q[sorted[0]]);
    const [width, height] = [full - LEFT, HEIGHT - TOP - BOTTOM];
    const x = (place) => LEFT + (place * width) / sorted.length;
    const y = (q) => TOP + height * (1 - q / top);
    const ends = [sorted[0], sorted.at(-1)].map((position) => `${plan.names[position]} with q = ${significant(plan.q[position])}`);
    const label = `Participation probabilities of ${count(sorted.length, "device")}, sorted: from ${ends.join(" down to ")}.`;
    const picture = shape("svg", { viewBox: `0 0 ${full} ${HEIGHT}`, role: "img", "aria-label": label, class: "planner-chart" });
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      picture.append(
        shape("line", { x1: LEFT, x2: full, y1: y(part * top), y2: y(part * top), class: "planner-grid" }),
        shape("text", { x: LEFT - 6, y: y(part * top) + 4, "text-anchor": "end" }, significant(part * top)),
      );
    }
    if (sorted.length <= BARS_MAX) {
      const gap = Math.min(2, width / sorted.length / 4);
      for (const [place, position] of sorted.entries()) {
        const q = plan.q[position];
        const bar = { x: x(place), y: y(q), width: width / sorted.length - gap, height: y(0) - y(q) };
        const cap = isCapped(plan, position) ? " planner-cap" : "";
        const title = shape("title", {}, `${plan.names[position]}: q = ${significant(q)}`);
        picture.append(shape("rect", { ...bar, class: `planner-bar${cap}` }, title));
      }
    } else {
      const steps = sorted.map((position, place) => `V${y(plan.q[position]).toFixed(2)}H${x(place + 1).toFixed(2)}`);
      picture.append(shape("path", { d: `M${LEFT} ${y(0)}${steps.join("")}V${y(0)}Z`, class: "planner-bar" }));
    }
    const axis = `${count(sorted.length, "device")}, sorted by q`;
    picture.append(shape("text", { x: LEFT + width / 2, y: HEIGHT - 8, "text-anchor": "middle" }, axis));
    return picture;
  }

  // A table that begins with the devices that take part most often, and grows on demand.
  function table(plan) {
    const sorted = order(plan);
    const body = element("tbody");
    const titles = ["Device", "Share of data", "Cost c", "q", "Weight a/q"];
    const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
    const more = element("button", { type: "button" });
    const grow = () => {
      const from = body.rows.length;
      for (const position of sorted.slice(from, from + ROWS)) {
        const cap = isCapped(plan, position) ? " (cap)" : "";
        const cells = [percent(plan.shares[position]), duration(plan.cost_secs[position]), significant(plan.q[position]) + cap, significant(plan.weights[position])];
        const row = element("tr", {}, element("th", { scope: "row" }, plan.names[position]));
        row.append(...cells.map((cell) => element("td", {}, cell)));
        body.append(row);
      }
      const rest = sorted.length - body.rows.length;
      more.textContent = `Show ${Math.min(ROWS, rest)} more of ${count(rest, "device")}`;
      more.hidden = rest === 0;
    };
    more.addEventListener("click", grow);
    grow();
    const region = { class: "planner-scroll", role: "region", tabindex: "0", "aria-label": "Table of devices" };
    return element("div", {}, element("div", region, element("table", {}, element("thead", {}, head), body)), more);
  }

  Object.assign(planner, { drawChart: draw, deviceTable: table });
}
