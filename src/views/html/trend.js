/* html/trend.js - the runs of a folder one after the other: latency and memory,
 * and the verdict of the gate on each.
 *
 * The verdicts are those of `assay compare --fail-above`, made by its code
 * (src/views/trend.c). Their marks differ in shape, not only in colour, and are
 * only on what the gate judges: time. */

const TREND_FIGURES = [
  {key: "mean_ms", label: "mean latency", steps: TIME_STEPS, text: timeText, isJudged: true},
  {key: "peak_bytes", label: "memory peak", steps: BYTE_STEPS, text: bytesText}
];
const TREND_RESULTS = ["passed", "failed", "undecided", null];

function resultWord(result) {
  return result || "not judged";
}

/* The mark of a verdict around a place. */
function resultMark(result, x, y) {
  const shape = result === "failed"
      ? draw("path", {d: `M${x.toFixed(1)} ${(y - 6.5).toFixed(1)}l6 10.5h-12z`})
      : draw("circle", {cx: x.toFixed(1), cy: y.toFixed(1), r: 4.5});
  shape.setAttribute("class", `verdict-mark ${result || "unjudged"}`);
  return shape;
}

function resultSign(result) {
  return draw("svg", {class: "sign", viewBox: "-7 -7 14 14", "aria-hidden": "true"},
      resultMark(result, 0, 0));
}

/* "failed: the whole +5.1 % ...", without its first word, which is the mark's. */
function resultWords(point) {
  if (!point.result)
    return [make("span", {class: "soft"}, point.text || UNKNOWN)];
  return [
    make("strong", {class: point.result === "failed" ? "worse" : null}, point.result),
    nameText(/^[^:]*(.*)$/s.exec(point.text)[1], 400)
  ];
}

/* What a run is called on an axis: its commit, otherwise the day it began, or the
 * time if all began on one day; its file if that is not known. */
function trendTick(points, i) {
  const {commit, started, name} = points[i];
  if (commit || !started)
    return shorten(commit || name.replace(/\.assay$/, ""), 10);
  const days = new Set(points.map(point => point.started.slice(0, 10)));
  return days.size === 1 ? started.slice(11, 19) : started.slice(0, 10);
}

/* One place per run, the same distance between all of them. */
function orderScale(points, from, to) {
  const rim = 14, gap = (to - from - 2 * rim) / Math.max(1, points.length - 1);
  const scale = i => from + rim + i * gap;
  scale.ticks = () => points.map((_, i) => i);
  scale.text = i => trendTick(points, i);
  return scale;
}

/* In one unit, from 0. */
function trendChart(points, figure, width) {
  const values = points.map(point => point[figure.key]).filter(isKnown);
  const most = Math.max(...values);
  const [factor, unit] = figure.steps.filter(step => most >= step[0]).pop() || figure.steps[0];
  const chart = newChart({
    width,
    height: 240,
    label: `${figure.label} of the runs in order`,
    x: (from, to) => orderScale(points, from, to),
    y: (from, to) => linearScale(0, most / factor * 1.08 || 1, from, to),
    xLabel: points.some(point => point.commit) ? "commit"
        : points.every(point => point.started) ? "began"
                                               : "run",
    yLabel: `${figure.label}, ${unit}`
  });
  return {...chart, place: value => chart.y(value / factor)};
}

function pointLines(point, figure) {
  return [
    tooltipHead(point.name), pairs([
      [figure.label, figure.text(point[figure.key])], ["began", point.started || UNKNOWN],
      ...(point.commit ? [["commit", nameText(point.commit, 40)]] : []),
      ...(figure.isJudged ? [["gate", resultWord(point.result)]] : [])
    ]),
    figure.isJudged && point.text ? make("div", {class: "soft"}, nameText(point.text, 300)) : ""
  ];
}

function openRun(report, point) {
  if (report.trend.is_served)
    location.assign("/run?name=" + encodeURIComponent(point.name) + "#trend");
}

function drawTrend(report, points, figure, place) {
  const known = points.filter(point => isKnown(point[figure.key]));
  if (known.length === 0)
    return;
  const chart = trendChart(points, figure, widthOf(place));
  const at = point => [chart.x(points.indexOf(point)), chart.place(point[figure.key])];
  const path =
      known.map((point, i) => (i ? "L" : "M") + at(point).map(x => x.toFixed(1)).join(","));
  chart.svg.append(draw("path", {class: "line side-a", d: path.join("")}));
  const marks = known.map(point => {
    const mark = resultMark(figure.isJudged ? point.result : null, ...at(point));
    mark.classList.add("point");
    if (point.name === report.main.label)
      mark.classList.add("chosen");
    fill(mark, {
      role: report.trend.is_served ? "link" : "img",
      "aria-label": `${point.name}, ${figure.text(point[figure.key])}` +
          (figure.isJudged ? `, ${resultWord(point.result)}` : ""),
      onclick: () => openRun(report, point)
    },
        []);
    explain(mark, () => pointLines(point, figure));
    return mark;
  });
  rove(marks, i => openRun(report, known[i]));
  chart.svg.append(...marks);
  place.replaceChildren(chart.svg);
}

/* By what the runs are judged, and how many of them failed. */
function trendRule(trend) {
  const budget =
      isKnown(trend.above) ? `--fail-above ${plainNumber(100 * trend.above)}%` : "--budgets FILE";
  const n = result => trend.points.filter(point => point.result === result).length;
  return make("p", {class: "note"}, "The gate is that of ", code(`assay compare ${budget}`),
      ": slower by more than noise and by more than that, the whole or a module that counts. ",
      trend.base ? ["Runs are judged against ", nameText(trend.base, 60), "."]
                 : "Each run is judged against the run of its model before it.",
      ` Of ${counted(trend.points.length, "run")}, ${n("passed")} passed, ${n("failed")} failed, ` +
          `${n("undecided")} undecided.`);
}

function trendLegend(points) {
  const seen = TREND_RESULTS.filter(result => points.some(point => point.result === result));
  return make("ul", {class: "legend"},
      seen.map(result => make("li", {}, resultSign(result), resultWord(result))));
}

function runCell(report, point) {
  const name = nameText(point.name, 60);
  const isThis = point.name === report.main.label;
  return [
    resultSign(point.result),
    report.trend.is_served
        ? make("a", {href: "/run?name=" + encodeURIComponent(point.name) + "#trend"}, name)
        : name,
    isThis ? make("span", {class: "in"}, " this one") : null
  ];
}

function trendColumns(report, points) {
  const places = new Map(points.map((point, i) => [point, i]));
  return [
    {
      label: "run",
      value: point => point.name,
      cell: point => runCell(report, point),
      class: "where"
    },
    {
      label: "began",
      value: point => places.get(point),
      text: point => point.started.replace("T", " ").replace("Z", "") || UNKNOWN,
      class: "kept"
    },
    ...(points.some(point => point.commit) ? [{
      label: "commit",
      value: point => point.commit,
      cell: point => nameText(point.commit || UNKNOWN, 16),
      class: "kept"
    }]
                                           : []),
    {...number("mean", point => point.mean_ms), text: point => timeText(point.mean_ms)},
    {...number("p95", point => point.p95_ms), text: point => timeText(point.p95_ms)}, {
      ...number("memory peak", point => point.peak_bytes),
      text: point => bytesText(point.peak_bytes)
    },
    {
      ...number("change", point => point.ratio, "of the whole, as the test estimates it"),
      text: point => changeText(point.ratio)
    },
    {label: "gate", value: point => point.result, cell: resultWords, class: "verdict-cell"}
  ];
}

/* The runs of a model; the newest first in the table. */
function modelTrend(report, model, points) {
  const places = TREND_FIGURES.map(() => make("div", {}));
  const grid = newGrid({
    label: `Runs of ${shorten(model, 60)}`,
    sort: 1,
    columns: trendColumns(report, points),
  });
  grid.setRows(points);
  return {
    element: make("div", {class: "block trend"}, make("h2", {}, nameText(model, 80)),
        trendLegend(points), make("div", {class: "charts"}, places), grid.element),
    render: () => TREND_FIGURES.forEach((figure, i) => drawTrend(report, points, figure, places[i]))
  };
}

function trendView(report) {
  const models = new Map();
  for (const point of report.trend.points)
    models.set(point.model, [...(models.get(point.model) || []), point]);
  const parts = Array.from(models, ([model, points]) => modelTrend(report, model, points));
  const element = make("section", {}, trendRule(report.trend), parts.map(part => part.element));
  return {
    key: "trend",
    label: "Trend",
    element,
    render: () => parts.forEach(part => part.render())
  };
}
