/* html/axes.js - scales, axes and the frame of a chart. */

/* Round steps: about `wanted` of them from low to high, none smaller than
 * `least`. */
function niceTicks(low, high, wanted, least = 0) {
  const rough = Math.max(least, (high - low) / Math.max(1, wanted));
  if (!(rough > 0) || !Number.isFinite(rough))
    return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    ticks.push(i * step);
  return ticks;
}

/* least: the smallest step of the axis, 1 for what is counted. */
function linearScale(low, high, from, to, least = 0) {
  const span = high - low || 1;
  const scale = value => from + (value - low) / span * (to - from);
  scale.ticks = wanted => niceTicks(low, high, wanted, least);
  /* As many decimals as the step between the ticks needs. */
  scale.text = (value, ticks) => {
    if (value === 0)
      return "0";
    const size = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(value) || 1;
    const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(size) + 1e-9)));
    return decimals ? value.toFixed(decimals) : grouped(Math.round(value));
  };
  return scale;
}

function logScale(low, high, from, to) {
  const a = Math.log10(low), b = Math.log10(high);
  const scale = value => from + (Math.log10(value) - a) / (b - a || 1) * (to - from);
  scale.ticks = () => {
    const ticks = [];
    for (let power = Math.ceil(a - 1e-9); power <= b + 1e-9; power++)
      ticks.push(10 ** power);
    return ticks;
  };
  scale.text = value => value >= 1 ? grouped(value) : String(Number(value.toPrecision(1)));
  return scale;
}

const LETTER = 7; /* pixels, at most, of a letter of a label */

/* Those below; labels that would touch the one before are left out. */
function drawTicks(svg, x, plot) {
  const ticks = x.ticks(Math.max(2, (plot.right - plot.left) / 90));
  let free = -Infinity;
  for (const tick of ticks) {
    const at = x(tick), text = x.text(tick, ticks), half = text.length * LETTER / 2;
    svg.append(draw("line", {class: "rule", x1: at, x2: at, y1: plot.bottom, y2: plot.bottom + 4}));
    if (at - half < free)
      continue;
    free = at + half + 6;
    svg.append(draw("text", {x: at, y: plot.bottom + 17, "text-anchor": "middle"}, text));
  }
}

/* A drawing with axes. options: width, height, x and y (functions that make a
 * scale between two places), xLabel, yLabel, label (for screen readers). */
function newChart(options) {
  const {width, height} = options;
  const plot = {left: 52, right: width - 12, top: 22, bottom: height - 38};
  const x = options.x(plot.left, plot.right), y = options.y(plot.bottom, plot.top);
  const svg = draw("svg", {
    class: "chart",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "group",
    "aria-label": options.label
  });
  const wanted = Math.max(2, (plot.bottom - plot.top) / 42), few = y.ticks(wanted);
  const yTicks = few.length < 3 ? y.ticks(2 * wanted) : few;
  for (const tick of yTicks)
    svg.append(
        draw("line", {class: "rule", x1: plot.left, x2: plot.right, y1: y(tick), y2: y(tick)}),
        draw("text", {x: plot.left - 8, y: y(tick) + 4, "text-anchor": "end"},
            y.text(tick, yTicks)));
  drawTicks(svg, x, plot);
  svg.append(draw("line",
                 {class: "axis", x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom}),
      draw("text", {x: plot.right, y: height - 4, "text-anchor": "end"}, options.xLabel),
      draw("text", {x: 0, y: 11}, options.yLabel));
  return {svg, x, y, plot};
}

const PAPER_WIDTH = 720;

/* The width available to a chart. Before printing, the page still has the size
 * of the screen. */
function widthOf(element) {
  if (state.isPaper)
    return PAPER_WIDTH;
  return Math.max(280, Math.round(element.getBoundingClientRect().width) || 700);
}

/* The height of a chart that takes a part of the view. */
function chartHeight(part) {
  const high = byId("views").clientHeight || 700;
  return state.isPaper ? 300 : Math.round(Math.max(260, Math.min(760, high * part)));
}

/* Lets arrow keys walk through points: one of them is in the tab order, and Enter
 * chooses it. */
function rove(points, choose) {
  points.forEach((point, i) => {
    point.setAttribute("tabindex", i === 0 ? 0 : -1);
    point.addEventListener("keydown", event => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (step) {
        const next = points[(i + step + points.length) % points.length];
        point.setAttribute("tabindex", -1);
        next.setAttribute("tabindex", 0);
        next.focus();
        event.preventDefault();
      } else if (event.key === "Enter" && choose) {
        choose(i);
      }
    });
  });
}
