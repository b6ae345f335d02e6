/* html/photographs.js - time against what was in the photograph. */

const PHOTO_SERIES = "input.photo";

/* The numbers of each iteration that time can be plotted against: of those that
 * differ, what was in the photograph first. */
function contentSeries(report) {
  const names =
      new Set(report.runs.flatMap(run => Array.from(run.series.values())
                                             .filter(series => series.iterations)
                                             .filter(series => typeof series.values[0] === "number")
                                             .map(series => series.name)));
  const order = name => ["content.detections", "content.proposals"].indexOf(name);
  const differs = name => report.runs.some(
      run => run.series.has(name) && new Set(run.series.get(name).values).size > 1);
  const some = Array.from(names).filter(differs);
  return (some.length ? some : Array.from(names))
      .sort((a, b) => isContent(b) - isContent(a) || order(b) - order(a) || a.localeCompare(b));
}

function isContent(name) {
  return name.startsWith("content.");
}

function photoOf(run) {
  const series = run.series.get(PHOTO_SERIES);
  if (!series)
    return () => null;
  const values = seriesValues(series);
  return iteration => values.get(iteration) ?? null;
}

/* "time = 812 ms + 0.12 ms x proposals (R2 0.93)" */
function fitWords(fit) {
  const terms = Object.entries(fit.terms_ms).filter(([, ms]) => isKnown(ms));
  return `Fitted over ${counted(fit.photos, "photograph")}: time = ${timeText(fit.base_ms)}` +
      terms.map(([name, ms]) => ` + ${timeText(ms)} \u00d7 ${name}`).join("") +
      ` (R\u00b2 ${threeDigits(fit.r2)}). `;
}

/* What the run says about its photographs as a set. */
function contentWords(content) {
  return make("p", {class: "note"}, content.fit ? fitWords(content.fit) : null, "The slowest is ",
      nameText(content.slowest_photo, 60), ` (${timeText(content.slowest_ms)}`,
      content.slowest_reason ? [": ", nameText(content.slowest_reason, 200)] : null, ")",
      isKnown(content.p99_ms) ? `; p99 projected for such a set ${timeText(content.p99_ms)}.`
                              : ".");
}

/* One row per photograph, with columns that at least one of them has. */
function photoTable(content) {
  const terms = Object.keys(content.photos[0])
                    .filter(key => !["photo", "runs", "median_ms"].includes(key) &&
                            content.photos.some(row => isKnown(row[key])));
  const grid = newGrid({
    label: "Photographs",
    sort: 1,
    columns: [
      {label: "photograph", value: row => row.photo, cell: row => nameText(row.photo, 60)},
      number("median ms", row => row.median_ms),
      number("runs", row => row.runs),
      ...terms.map(key => number(key, row => row[key])),
    ]
  });
  grid.setRows(content.photos);
  return grid.element;
}

function photographsBlock(report) {
  const names = contentSeries(report);
  const content = report.main.content;
  const place = make("div", {class: "block"});
  const axis = make("select", {onchange: render},
      names.map(name => make("option", {value: name}, seriesLabel(name))));
  const element = make("div", {class: "block"},
      make("h2", {}, names.some(isContent) ? "By photograph" : "By what else was measured"));
  let lit = null; /* the photograph under the pointer */

  if (names.length === 0) {
    element.append(
        missing("This run does not say what was in each photograph (proposals, detections), ",
            "so time cannot be plotted against it. Runs of ", code("assay run"),
            " on photographs do."));
    return {element, render() {}};
  }
  element.append(make("div", {class: "controls"}, make("label", {}, "Time against", axis)), place,
      ...(content ? [contentWords(content), photoTable(content)] : []));

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

  /* Highlights the other iterations of a photograph too. */
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
    const unit = report.main.series.get(axis.value)?.unit;
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
      xLabel: seriesLabel(axis.value) + (unit ? `, ${unit}` : ""),
      yLabel: "ms per iteration"
    });
    const circles = points.map(point => drawPoint(chart, point));
    rove(circles);
    chart.svg.append(...circles);
    place.replaceChildren(chart.svg);
  }

  return {element, render};
}
