/* html/photographs.js - time against what was in the photograph. */

const PHOTO_SERIES = "input.photo";

/* The numbers of each iteration that time can be held against. */
function contentSeries(report) {
  const names = new Set(report.runs.flatMap(
      run => Array.from(run.series.values())
                 .filter(series => series.labels.length === 0 && series.value.length > 0)
                 .map(series => series.name)));
  const order = name => ["content.detections", "content.proposals"].indexOf(name);
  return Array.from(names).sort((a, b) => order(b) - order(a) || a.localeCompare(b));
}

function seriesLabel(name) {
  return name.replace(/^content\./, "").replace(/^steady\./, "").replaceAll("_", " ");
}

function photoOf(run) {
  const series = run.series.get(PHOTO_SERIES);
  if (!series)
    return () => null;
  const values = seriesValues(series);
  return iteration => series.labels[values.get(iteration)] ?? null;
}

/* A row a photograph: the median of its iterations, what was in it. */
function photoRows(run, names) {
  const photo = photoOf(run), rows = new Map();
  const columns =
      names.map(name => run.series.has(name) ? seriesValues(run.series.get(name)) : new Map());
  run.iterations.index.forEach((index, i) => {
    const name = photo(index);
    if (name === null)
      return;
    const row = rows.get(name) || {name, times: [], values: names.map(() => [])};
    row.times.push(run.iterations.ms[i]);
    columns.forEach((values, k) => {
      if (values.has(index))
        row.values[k].push(values.get(index));
    });
    rows.set(name, row);
  });
  return Array.from(rows.values());
}

function photographsBlock(report) {
  const names = contentSeries(report);
  const run = report.main;
  const place = make("div", {class: "block"}), table = make("div", {class: "block"});
  const axis = make("select", {onchange: render},
      names.map(name => make("option", {value: name}, seriesLabel(name))));
  const element = make("div", {class: "block"}, make("h2", {}, "By photograph"));
  let lit = null; /* the photograph under the pointer */

  if (names.length === 0) {
    element.append(
        missing("This run does not say what was in each photograph (proposals, detections), ",
            "so time cannot ", "be held against it. Runs of ", code("assay run"),
            " on photographs do."));
    return {element, render() {}};
  }
  element.append(
      make("div", {class: "controls"}, make("label", {}, "Time against", axis)), place, table);

  function pointsOf(side) {
    const values = report.runs[side].series.get(axis.value);
    if (!values)
      return [];
    const at = seriesValues(values), photo = photoOf(report.runs[side]);
    const times = report.runs[side].iterations;
    return times.index
        .map((index, i) => ({side, index, ms: times.ms[i], x: at.get(index), photo: photo(index)}))
        .filter(point => point.x !== undefined);
  }

  function drawPoint(chart, point) {
    const circle = draw("circle", {
      class: `point ${sideFill(report, point.side)}`,
      cx: chart.x(point.x),
      cy: chart.y(point.ms),
      r: 4.5,
      role: "img",
      "aria-label":
          `${point.photo === null ? "" : shorten(point.photo, 60) + ", "}${timeText(point.ms)}, ` +
          `${plainNumber(point.x)} ${seriesLabel(axis.value)}`
    });
    explain(circle, () => {
      light(point.photo);
      return iterationLines(report.runs[point.side], point.index, point.ms);
    });
    circle.addEventListener("pointerleave", () => light(null));
    circle.photo = point.photo;
    return circle;
  }

  /* The other iterations of a photograph stand out with it. */
  function light(photo) {
    if (photo === lit)
      return;
    lit = photo;
    for (const circle of place.querySelectorAll("circle"))
      circle.classList.toggle("dim", photo !== null && circle.photo !== photo);
  }

  function render() {
    const points = report.runs.flatMap(item => pointsOf(item.side));
    if (points.length === 0)
      return;
    const xs = points.map(point => point.x), ys = points.map(point => point.ms);
    const rim = values =>
        (Math.max(...values) - Math.min(...values) || Math.max(...values) || 1) * 0.06;
    const chart = newChart({
      width: widthOf(place),
      height: 300,
      label: `Time against ${seriesLabel(axis.value)}`,
      x: (from, to) =>
          linearScale(Math.max(0, Math.min(...xs) - rim(xs)), Math.max(...xs) + rim(xs), from, to),
      y: (from, to) =>
          linearScale(Math.max(0, Math.min(...ys) - rim(ys)), Math.max(...ys) + rim(ys), from, to),
      xLabel: seriesLabel(axis.value),
      yLabel: "ms an iteration"
    });
    const circles = points.map(point => drawPoint(chart, point));
    rove(circles);
    chart.svg.append(...circles);
    place.replaceChildren(chart.svg);
    renderTable();
  }

  function renderTable() {
    const shown = names.filter(name => !name.startsWith("steady."));
    const rows = photoRows(run, shown);
    if (rows.length === 0)
      return;
    const grid = newGrid({
      label: "Photographs",
      sort: 1,
      columns: [
        {label: "photograph", value: row => row.name, cell: row => nameText(row.name, 60)},
        number("median ms", row => median(row.times)),
        number("runs", row => row.times.length),
        ...shown.map((name, k) => number(seriesLabel(name), row => median(row.values[k]))),
      ]
    });
    grid.setRows(rows);
    table.replaceChildren(grid.element);
  }

  return {element, render};
}
