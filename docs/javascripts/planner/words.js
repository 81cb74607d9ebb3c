// Numbers for people, as the reports of fedflip have them: three digits and a unit.
"use strict";
{
  const planner = (window.fedflipPlanner ??= {});

  // A number with about this many significant digits.
  function significant(value, digits = 3) {
    if (value === null || !Number.isFinite(value)) return "–";
    if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
    const rounded = Number(value.toExponential(digits - 1));
    const magnitude = Math.floor(Math.log10(Math.abs(rounded)));
    if (magnitude < -4 || magnitude > 9) return value.toExponential(digits - 1);
    const decimals = Math.max(0, digits - 1 - magnitude);
    return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }

  // Seconds in a unit that a person would choose.
  function duration(secs) {
    if (secs === null || !Number.isFinite(secs)) return "–";
    const units = [[1e-3, 1e6, "µs"], [1, 1e3, "ms"], [300, 1, "s"], [3 * 3600, 1 / 60, "min"]];
    const [, factor, unit] = units.find(([below]) => secs < below) ?? [0, 1 / 3600, "h"];
    return secs === 0 ? "0 s" : `${significant(secs * factor)} ${unit}`;
  }

  const percent = (share) => `${significant(100 * share)} %`;
  const count = (number, noun) => `${significant(number)} ${noun}${number === 1 ? "" : "s"}`;

  // An element with attributes and children; texts become text nodes, so that no name of a device is read as HTML.
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  Object.assign(planner, { significant, duration, percent, count, element });
}
