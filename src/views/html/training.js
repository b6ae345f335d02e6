/* html/training.js - a training: the parts of a step, and how it learns. */

function isTraining(run) {
  return run.facts["settings.mode"] === "training";
}

/* The scopes below the root that are parts of a step, in order. */
const STEP_PARTS = [
  ["data", "part-1"], ["copy", "part-2"], ["forward", "part-3"], ["loss", "part-6"],
  ["backward", "part-4"], ["optimizer", "part-7"]
];

/* The ops of losses are among the modules of the forward pass. */
function lossTime(run, forward) {
  const inside = new Set([forward.id]);
  let ms = 0;
  for (const scope of run.scopes.slice(forward.id + 1)) {
    if (!inside.has(scope.parent))
      continue;
    inside.add(scope.id);
    if (/Loss$/.test(scope.class))
      ms += scope.total_ms || 0;
  }
  return ms;
}

/* Of the mean step; they add up. Parts too small to be seen are left out. */
function stepParts(run) {
  const scopes = new Map(run.scopes.filter(scope => scope.parent === 0 && !scope.is_outside)
                             .map(scope => [scope.name, scope]));
  const times = new Map(STEP_PARTS.map(([name]) => [name, scopes.get(name)?.total_ms || 0]));
  if (scopes.has("loss") && scopes.has("forward")) {
    const ms = lossTime(run, scopes.get("forward"));
    times.set("forward", times.get("forward") - ms);
    times.set("loss", times.get("loss") + ms);
  }
  const stall = Number(run.facts["loader.stall_share"]);
  const parts = STEP_PARTS.map(([name, fill]) => ({
    name,
    fill,
    ms: times.get(name),
    more: name === "data" && Number.isFinite(stall) ? ` (stall ${percentText(stall)})` : ""
  }));
  parts.push({name: "other", fill: "part-5", ms: run.whole - sum(parts.map(part => part.ms))});
  return parts.filter(part => part.ms >= run.whole * 5e-4);
}

/* The curves, the loss first. */
function learningSeries(report) {
  const names = new Set(report.runs.flatMap(run => Array.from(run.series.keys())));
  const rank = name => name === "train.loss" ? 0 : /loss/.test(name) ? 2 : 1;
  return Array.from(names)
      .filter(name => name.startsWith("train."))
      .sort((a, b) => rank(a) - rank(b));
}

/* The points of a curve, by training step. */
function learningPoints(run, name) {
  const series = run.series.get(name);
  if (!series)
    return [];
  const ms = new Map(run.iterations.index.map((index, i) => [index, run.iterations.ms[i]]));
  const first = run.firstStep || 1;
  return series.steps.map((step, i) => ({
    side: run.side,
    index: step - first,
    ms: ms.get(step - first) ?? null,
    x: step,
    y: series.values[i]
  }));
}

/* With its unit, unless the name has it. */
function seriesTitle(name, unit) {
  return seriesLabel(name) + (unit && !SERIES_LABELS[name] ? `, ${unit}` : "");
}

/* One chart per series over the same steps: the loss large, the others beside
 * each other. */
function trainingView(report) {
  const names = learningSeries(report);
  const places = names.map((_, i) => make("div", {class: i === 0 ? "block first" : "block"}));
  const element = make("section", {class: "page"},
      names.length === 0 ? missing("This run has no losses.") : null,
      make("div", {class: "multiples"}, places));

  /* All charts show the same steps, whichever of them a series has. */
  const all = names.flatMap(name => report.runs.flatMap(run => learningPoints(run, name)))
                  .map(point => point.x);
  const steps =
      [all.reduce((a, b) => Math.min(a, b), Infinity), all.reduce((a, b) => Math.max(a, b), 0)];
  const edge = 0.02 * (steps[1] - steps[0]);

  function drawCurve(chart, points) {
    const side = sideFill(report, points[0].side);
    const path = points.map((point, i) => `${i ? "L" : "M"}${chart.x(point.x).toFixed(1)},` +
            chart.y(point.y).toFixed(1));
    return draw("path", {class: `line ${side}`, d: path.join("")});
  }

  function drawPoint(chart, name, point, n) {
    const circle = draw("circle", {
      class: `point ${sideFill(report, point.side)}`,
      cx: chart.x(point.x),
      cy: chart.y(point.y),
      r: n > 300 ? 2 : 3.5,
      role: "img",
      "aria-label": `step ${point.x}, ${seriesLabel(name)} ${plainNumber(point.y)}`
    });
    explain(circle, () => iterationLines(report.runs[point.side], point.index, point.ms));
    return circle;
  }

  function drawSeries(name, place, isFirst) {
    const curves =
        report.runs.map(run => learningPoints(run, name)).filter(points => points.length > 0);
    const points = curves.flat();
    if (points.length === 0)
      return;
    const ys = points.map(point => point.y);
    const unit = report.runs.map(run => run.series.get(name)?.unit).find(Boolean);
    const chart = newChart({
      width: widthOf(place),
      height: isFirst ? chartHeight(0.42) : Math.max(190, chartHeight(0.3)),
      label: `${seriesLabel(name)} over the steps`,
      x: (from, to) => linearScale(steps[0] - edge, steps[1] + edge, from, to, 1),
      y: (from, to) => linearScale(Math.min(0, ...ys), Math.max(...ys) * 1.08 || 1, from, to),
      xLabel: "step",
      yLabel: seriesTitle(name, unit)
    });
    const circles = points.map(point => drawPoint(chart, name, point, points.length));
    rove(circles);
    chart.svg.append(...curves.map(each => drawCurve(chart, each)), ...circles);
    place.replaceChildren(chart.svg);
  }

  function render() {
    names.forEach((name, i) => drawSeries(name, places[i], i === 0));
  }
  return {key: "training", label: "Training", element, render};
}
