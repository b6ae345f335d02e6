/* html/format.js - numbers as people read them. */

const UNKNOWN = "\u2013";

function isKnown(value) {
  return value !== null && value !== undefined && !Number.isNaN(value);
}

/* Three significant digits: "812", "81.2", "0.812"; "12 345" beyond. */
function threeDigits(value) {
  if (!isKnown(value))
    return UNKNOWN;
  const size = Math.abs(value);
  if (size === 0)
    return "0";
  if (size >= 99.95)
    return grouped(Math.round(value));
  const text = size < 1e-4 ? size.toExponential(1)
                           : size.toFixed(Math.max(0, 2 - Math.floor(Math.log10(size * 1.0005))));
  return value < 0 ? "\u2212" + text : text;
}

/* Words of the command as a sentence. */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + ".";
}

/* "1 iteration", "30 iterations" */
function counted(n, noun) {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/* A count, which may be a mean. */
function plainNumber(value) {
  return Number.isInteger(value) ? grouped(value) : threeDigits(value);
}

function grouped(whole) {
  const digits = String(Math.abs(whole));
  const apart = digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits;
  return (whole < 0 ? "\u2212" : "") + apart;
}

/* The number of decimals for a column, so that the points are aligned and the
 * largest number has about so many digits. */
function decimalsOf(values, digits) {
  const most = values.reduce((largest, value) => Math.max(largest, Math.abs(value || 0)), 0);
  if (values.every(value => !isKnown(value) || Math.abs(value - Math.round(value)) < 1e-6))
    return 0;
  return Math.max(0, Math.min(4, digits - 1 - Math.floor(Math.log10(most || 1))));
}

function fixedText(value, decimals) {
  return isKnown(value) ? value.toFixed(decimals).replace(/^-/, "\u2212") : UNKNOWN;
}

function scaled(value, steps) {
  if (!isKnown(value))
    return {text: UNKNOWN, unit: ""};
  const size = Math.abs(value);
  let [factor, unit] = size === 0 ? steps.find(step => step[0] === 1) : steps[0];
  for (const step of steps)
    if (size >= step[0] * 0.9995)
      [factor, unit] = step;
  return {text: threeDigits(value / factor), unit};
}

const TIME_STEPS = [[1e-6, "ns"], [1e-3, "\u00b5s"], [1, "ms"], [1000, "s"]];
const BYTE_STEPS = [[1, "B"], [1024, "KiB"], [1048576, "MiB"], [1073741824, "GiB"]];
const COUNT_STEPS = [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]];

function timeParts(ms) {
  return scaled(ms, TIME_STEPS);
}
function byteParts(bytes) {
  return scaled(bytes, BYTE_STEPS);
}

function joined(parts) {
  return parts.unit ? parts.text + "\u00a0" + parts.unit : parts.text;
}

function timeText(ms) {
  return joined(timeParts(ms));
}
/* "1.42 to 1.88 s": both in the unit of the larger. */
function timeRange(low, high) {
  const unit = TIME_STEPS.find(step => step[1] === timeParts(high).unit);
  return `${threeDigits(low / unit[0])} to ${timeText(high)}`;
}

function bytesText(bytes) {
  return joined(byteParts(bytes));
}
function countText(value) {
  return joined(scaled(value, COUNT_STEPS));
}

/* "36 %", "5.2 %" */
function percentText(share) {
  if (!isKnown(share))
    return UNKNOWN;
  const percent = 100 * share;
  return percent.toFixed(Math.abs(percent) >= 9.95 ? 0 : 1) + "\u00a0%";
}

/* "+5.1 %" */
function changeText(ratio) {
  if (!isKnown(ratio))
    return UNKNOWN;
  const percent = Math.abs(ratio - 1) < 5e-4 ? 0 : 100 * (ratio - 1);
  if (percent === 0)
    return "\u00b10\u00a0%";
  return (percent >= 0 ? "+" : "\u2212") +
      Math.abs(percent).toFixed(Math.abs(percent) >= 9.95 ? 0 : 1) + "\u00a0%";
}

/* Of sorted values; interpolated between neighbours. */
function quantile(sorted, q) {
  if (sorted.length === 0)
    return NaN;
  const at = q * (sorted.length - 1), below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

function median(values) {
  return quantile(Array.from(values).sort((a, b) => a - b), 0.5);
}

function sum(values) {
  return values.reduce((total, value) => total + (value || 0), 0);
}
