// Numbers for people: as few digits as say it, with units.

export function significant(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const rounded = Number(value.toExponential(digits - 1));
  const magnitude = Math.floor(Math.log10(Math.abs(rounded)));
  if (magnitude < -4 || magnitude > 9) return value.toExponential(digits - 1);
  return value.toFixed(Math.max(0, digits - 1 - magnitude));
}

// The unit that a person would choose for a number of seconds, and how many seconds it has.
export function timeUnit(secs) {
  if (secs > 0 && secs < 1e-3) return ["µs", 1e-6];
  if (secs > 0 && secs < 1) return ["ms", 1e-3];
  if (!(secs >= 300)) return ["s", 1];
  return secs < 3 * 3600 ? ["min", 60] : ["h", 3600];
}

export function duration(secs) {
  if (!Number.isFinite(secs)) return "–";
  const [unit, size] = timeUnit(secs);
  return `${significant(secs / size)} ${unit}`;
}

export function percent(share, digits = 3) {
  return Number.isFinite(share) ? `${significant(100 * share, digits)} %` : "–";
}

// A value of a metric, as its task wants it shown.
export function metricText(metric, value) {
  return metric.display === "share" ? percent(value) : significant(value);
}

// Shares in a column have the same number of decimals, so that they line up.
export function fixedPercent(share, decimals = 2) {
  return Number.isFinite(share) ? `${(100 * share).toFixed(decimals)} %` : "–";
}

export function count(number) {
  return Number.isFinite(number) ? number.toLocaleString("en") : "–";
}
