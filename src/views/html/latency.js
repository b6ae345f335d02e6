/* html/latency.js - the spread of the iterations: as a histogram, and in order.
 */

function sideFill(report, side) {
  return sideClass(report.comparison ? side : 1);
}

/* About as many bins as a reader can distinguish, of a round width. */
function binsOf(low, high, n) {
  const wanted = Math.max(8, Math.min(40, Math.ceil(2 * Math.sqrt(n))));
  const ticks = niceTicks(low, high, wanted);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.max(high * 0.01, 1e-6);
  const first = Math.floor(low / step) * step;
  return {first, step, n: Math.floor((high - first) / step + 1e-9) + 1};
}

function countInto(bins, values) {
  const counts = new Array(bins.n).fill(0);
  for (const value of values)
    counts[Math.min(
        bins.n - 1, Math.max(0, Math.floor((value - bins.first) / bins.step + 1e-9)))]++;
  return counts;
}

/* The 95 % confidence interval of the median. */
function drawBand(chart, latency) {
  const left = chart.x(latency.median_low_ms), right = chart.x(latency.median_high_ms);
  chart.svg.append(draw("rect", {
    class: "band",
    x: left,
    y: chart.plot.top,
    width: Math.max(1, right - left),
    height: chart.plot.bottom - chart.plot.top
  }));
}

function drawMedian(chart, run, report) {
  const latency = run.latency;
  const x = chart.x(latency.median_ms);
  const isRight = x > (chart.plot.left + chart.plot.right) / 2;
  chart.svg.append(
      draw("line", {class: "mark", x1: x, x2: x, y1: chart.plot.top, y2: chart.plot.bottom}),
      draw("text", {
        class: "strong",
        x: isRight ? x - 5 : x + 5,
        y: chart.plot.top + 8 + 15 * (report.comparison ? run.side : 0),
        "text-anchor": isRight ? "end" : "start"
      },
          (report.comparison ? letterOf(run.side) + " " : "") +
              `median ${timeText(latency.median_ms)}`));
}

function drawHistogram(report, place) {
  const all = report.runs.flatMap(run => run.iterations.ms);
  const bins = binsOf(Math.min(...all), Math.max(...all), all.length);
  const counts = report.runs.map(run => countInto(bins, run.iterations.ms));
  const chart = newChart({
    width: widthOf(place),
    height: chartHeight(0.42),
    label: "Histogram of the iterations' times",
    x: (from, to) => linearScale(bins.first, bins.first + bins.n * bins.step, from, to),
    y: (from, to) => linearScale(0, Math.max(...counts.flat()) * 1.1, from, to, 1),
    xLabel: "ms per iteration",
    yLabel: "iterations"
  });
  if (!report.comparison && isKnown(report.main.latency.median_low_ms))
    drawBand(chart, report.main.latency);
  report.runs.forEach((run, side) => counts[side].forEach((n, i) => {
    const low = bins.first + i * bins.step;
    if (n === 0)
      return;
    const bar = draw("rect", {
      class: `column${report.comparison ? " over" : ""} ${sideFill(report, side)}`,
      x: chart.x(low) + 0.5,
      y: chart.y(n),
      width: Math.max(1, chart.x(low + bins.step) - chart.x(low) - 1),
      height: chart.plot.bottom - chart.y(n)
    });
    explain(bar,
        () => [tooltipHead(timeRange(low, low + bins.step)),
            pairs([[report.comparison ? letterOf(side) : "iterations", grouped(n)]])]);
    chart.svg.append(bar);
  }));
  for (const run of report.runs)
    if (isKnown(run.latency.median_ms))
      drawMedian(chart, run, report);
  return chart.svg;
}

/* The value of a series in each iteration, by iteration. */
function seriesValues(series) {
  return new Map((series.iterations ?? []).map((iteration, i) => [iteration, series.values[i]]));
}

/* The index of an iteration's value in a series, or -1. Series of a training may
 * be numbered by step. */
function placeInSeries(run, series, index) {
  return series.steps ? series.steps.indexOf((run.firstStep || 1) + index)
                      : series.iterations.indexOf(index);
}

/* The outliers, with their causes. */
function slowIterations(run) {
  return (run.steady && run.steady.slow_iterations) || [];
}

const SERIES_LABELS = {
  "steady.cpu": "processor time",
  "steady.wait": "wait for a processor",
  "steady.others": "processors busy with other programs",
  "steady.stolen": "processors taken by the host",
  "steady.throttled": "processors throttled",
  "train.images_per_s": "images per second"
};

function seriesLabel(name) {
  return SERIES_LABELS[name] || name.replace(/^[a-z]+\./, "").replaceAll("_", " ");
}

/* What else is known about an iteration. Warm-up steps of a training come before
 * the first one and were not measured. */
function iterationLines(run, index, ms) {
  const rows = [["time", index < 0 ? "not measured, warm-up" : timeText(ms)]];
  for (const series of run.series.values()) {
    const at = placeInSeries(run, series, index);
    if (at < 0)
      continue;
    const value = series.values[at];
    rows.push([
      seriesLabel(series.name),
      typeof value === "string" ? nameText(value, 40)
                                : plainNumber(value) + (series.unit ? "\u00a0" + series.unit : "")
    ]);
  }
  const slow = slowIterations(run).find(item => item.iteration === index);
  if (slow)
    rows.push(["slow", slow.cause || "cause unknown"]);
  const head = run.firstStep ? `step ${run.firstStep + index}` : `iteration ${index + 1}`;
  return [tooltipHead(head), pairs(rows)];
}

function drawInOrder(report, place) {
  const all = report.runs.flatMap(run => run.iterations.ms);
  const last = Math.max(...report.runs.flatMap(run => run.iterations.index));
  const low = Math.min(...all), high = Math.max(...all), rim = (high - low || high) * 0.08;
  const edge = 0.02 * last; /* so that no point is on an axis */
  const chart = newChart({
    width: widthOf(place),
    height: chartHeight(0.42),
    label: "The iterations one after the other",
    x: (from, to) => linearScale(1 - edge, Math.max(last + 1, 2) + edge, from, to, 1),
    y: (from, to) => linearScale(Math.max(0, low - rim), high + rim, from, to),
    xLabel: "iteration",
    yLabel: "ms"
  });
  const points = report.runs.flatMap((run, side) => run.iterations.index.map((index, i) => {
    const ms = run.iterations.ms[i];
    const point = draw("circle", {
      class: `point ${sideFill(report, side)}` +
          (slowIterations(run).some(item => item.iteration === index) ? " slow" : ""),
      cx: chart.x(index + 1),
      cy: chart.y(ms),
      r: all.length > 300 ? 2.5 : 4,
      role: "img",
      "aria-label": `iteration ${index + 1}, ${timeText(ms)}`
    });
    explain(point, () => iterationLines(run, index, ms));
    return point;
  }));
  rove(points);
  chart.svg.append(...points);
  return chart.svg;
}

function steadyWords(report) {
  return report.runs.filter(run => run.steady)
      .map(run => make("p", {class: "note"},
               report.comparison ? letterOf(run.side) + ": " : "Steadiness: ", run.steady.text,
               "."));
}

function latencyView(report) {
  const left = make("div", {class: "block"}), right = make("div", {class: "block"});
  /* A step is not of one photograph. */
  const content =
      report.runs.some(isTraining) ? {element: null, render() {}} : photographsBlock(report);
  const has = report.runs.some(run => run.iterations.ms.length > 0);
  const element = make("section", {},
      has ? make("div", {class: "charts"}, left, right)
          : missing("No iterations are marked in this run, so there is no latency to show. ",
                "A program marks them with ", code("assay_iteration_begin()"),
                "; PyTorch traces have them as ProfilerStep."),
      content.element);

  function render() {
    if (has) {
      left.replaceChildren(
          make("h2", {}, "How often"), drawHistogram(report, left), ...steadyWords(report));
      right.replaceChildren(make("h2", {}, "In order"), drawInOrder(report, right));
    }
    content.render();
  }
  return {key: "latency", label: "Latency", element, render};
}
