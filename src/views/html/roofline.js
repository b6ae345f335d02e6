/* html/roofline.js - modules compared with what the machine can do.
 *
 * The horizontal axis has the operations per byte moved, the vertical axis the
 * operations per second. Nothing can be above the roof: its slope is the memory
 * bandwidth, its flat part the peak of the arithmetic. */

/* The highest line first: caches, then memory. */
function peaksOf(run) {
  const peaks = run.peaks;
  const lines = [
    ...peaks.caches.map(cache => ({name: `L${cache.level}`, gbs: cache.gbs})),
    {name: "memory", gbs: peaks.gbs}
  ];
  return {
    gflops: peaks.gflops,
    isRaised: peaks.is_raised,
    bandwidths: lines.filter(line => isKnown(line.gbs)).sort((a, b) => b.gbs - a.gbs)
  };
}

/* What was executed, or else what the direct algorithm would execute. */
function workOf(scope) {
  if (isKnown(scope.own_done_flops) && isKnown(scope.own_done_bytes))
    return {flops: scope.own_done_flops, bytes: scope.own_done_bytes, isDone: true};
  const flops = 2 * (scope.own_macs || 0) + (scope.own_flops || 0);
  return {flops, bytes: (scope.own_read_bytes || 0) + (scope.own_write_bytes || 0), isDone: false};
}

/* What a device took for the work of a module, its kernels included; without a
 * device, the host. */
function workTime(node, side) {
  const scope = node.sides[side];
  const others = node.children.map(child => child.sides[side])
                     .filter(child => child && workOf(child).flops > 0);
  const onDevice = (scope.device_ms || 0) - sum(others.map(child => child.device_ms || 0));
  return onDevice > 0 ? onDevice : scope.self_ms;
}

function rooflinePoint(node, side) {
  const scope = node.sides[side];
  if (!scope || node.isOutside || !(scope.self_ms > 0))
    return null;
  const ms = workTime(node, side);
  const work = workOf(scope);
  if (!(work.flops > 0) || !(work.bytes > 0))
    return null;
  return {
    node,
    side,
    scope,
    isDone: work.isDone,
    intensity: work.flops / work.bytes,
    gflops: work.flops / ms / 1e6,
    gbs: work.bytes / ms / 1e6,
    ms
  };
}

const LABEL_LETTER = 6.8; /* pixels of a letter, at most, on average */
const PEAK_LABEL = 140;   /* pixels of the words about the peak, at most */
const POINT_MOST = 16;    /* the radius of the largest point */

function rooflineView(report) {
  const element = make("section");
  const points = report.runs.flatMap(run => report.nodes.map(node => rooflinePoint(node, run.side)))
                     .filter(Boolean)
                     .sort((a, b) => b.ms - a.ms);
  const peaks = peaksOf(report.main);
  const unit = peaks.gflops >= 1e4 ? {text: "TFLOP/s", gflops: 1e3} : {text: "GFLOP/s", gflops: 1};
  const heightOf = (chart, gflops) => chart.y(gflops / unit.gflops);

  function ranges() {
    const xs = points.map(point => point.intensity), ys = points.map(point => point.gflops);
    if (peaks.gflops)
      ys.push(peaks.gflops * 1.3);
    if (peaks.gflops && peaks.bandwidths.length)
      xs.push(...peaks.bandwidths.map(line => peaks.gflops / line.gbs * 1.5));
    const down = values => 10 ** Math.floor(Math.log10(Math.min(...values)));
    const up = values => 10 ** Math.ceil(Math.log10(Math.max(...values)));
    return {x: [Math.max(down(xs), 1e-4), up(xs)], y: [Math.max(down(ys), up(ys) / 1e6), up(ys)]};
  }

  /* The slope of a cache or the memory, up to the flat roof: {text, x1, y1, x2, y2}, or
   * null if it is not in the picture. */
  function drawSlope(chart, range, {name, gbs}) {
    const top = peaks.gflops || range.y[1];
    const from = Math.max(range.x[0], range.y[0] / gbs), to = Math.min(range.x[1], top / gbs);
    if (!(from < to))
      return null;
    const x1 = chart.x(from), x2 = chart.x(to);
    const y1 = heightOf(chart, from * gbs), y2 = heightOf(chart, to * gbs);
    chart.svg.append(
        draw("line", {class: name === "memory" ? "roof" : "roof thin", x1, y1, x2, y2}));
    return {text: `${name} ${threeDigits(gbs)} GB/s`, x1, y1, x2, y2};
  }

  /* Labels along the slopes, which are parallel: above or below its line, at the first
   * place where it crosses no other line, label or point. Without such a place there is
   * none; the note has them all. */
  function labelSlopes(chart, slopes, circles) {
    if (slopes.length === 0)
      return;
    const {x1, y1, x2, y2} = slopes[0], angle = Math.atan2(y2 - y1, x2 - x1);
    const cos = Math.cos(angle), sin = Math.sin(angle);
    const turned = (x, y) => ({u: x * cos + y * sin, v: y * cos - x * sin});
    const lines = slopes.map(slope => ({
      from: turned(slope.x1, slope.y1).u,
      to: turned(slope.x2, slope.y2).u,
      v: turned(slope.x1, slope.y1).v
    }));
    const taken = circles.map(circle => {
      const r = Number(circle.getAttribute("r")) + 1;
      const {u, v} = turned(Number(circle.getAttribute("cx")), Number(circle.getAttribute("cy")));
      return {left: u - r, right: u + r, top: v - r, bottom: v + r};
    });
    const isFree = (box, own) =>
        taken.every(other => box.right < other.left || box.left > other.right ||
                box.bottom < other.top || box.top > other.bottom) &&
        lines.every((line, i) => i === own || line.v < box.top - 2 || line.v > box.bottom + 2 ||
                box.right < line.from || box.left > line.to);
    slopes.forEach((slope, i) => {
      const line = lines[i], length = LABEL_LETTER * slope.text.length;
      for (const above of [true, false])
        for (let u = line.from + 12; u + length < line.to - 12; u += 16) {
          const bottom = above ? line.v - 3 : line.v + 15;
          const box = {left: u, right: u + length, top: bottom - 12, bottom};
          if (!isFree(box, i))
            continue;
          const v = bottom - 3;
          chart.svg.append(draw("text", {
            class: "slope",
            transform: `translate(${u * cos - v * sin},${u * sin + v * cos}) ` +
                `rotate(${angle * 180 / Math.PI})`
          },
              slope.text));
          taken.push(box);
          return;
        }
    });
  }

  function drawRoof(chart, range) {
    if (isKnown(peaks.gflops)) {
      const widest = peaks.bandwidths.length ? peaks.bandwidths[0].gbs : Infinity;
      const from = Math.min(range.x[1], Math.max(range.x[0], peaks.gflops / widest));
      const y = heightOf(chart, peaks.gflops);
      const isTaken =
          points.some(point => chart.x(point.intensity) > chart.plot.right - PEAK_LABEL &&
                  Math.abs(heightOf(chart, point.gflops) - y) < 2 * LABEL_LETTER + POINT_MOST);
      chart.svg.append(
          draw("line", {class: "roof", x1: chart.x(from), x2: chart.plot.right, y1: y, y2: y}),
          draw("text", {
            x: isTaken ? chart.x(from) : chart.plot.right,
            y: y - 6,
            "text-anchor": isTaken ? "start" : "end"
          },
              `peak ${threeDigits(peaks.gflops / unit.gflops)} ${unit.text}`));
    }
    return peaks.bandwidths.map(line => drawSlope(chart, range, line)).filter(Boolean);
  }

  function lines(point) {
    const rows = [
      [unit.text, threeDigits(point.gflops / unit.gflops)], ["GB/s", threeDigits(point.gbs)],
      ["FLOP per byte", threeDigits(point.intensity)], ["self", timeText(point.ms)]
    ];
    if (isKnown(point.scope.bound))
      rows.push(
          ["bound by", point.scope.bound], ["of the roofline", percentText(point.scope.reached)]);
    if (report.comparison)
      rows.unshift(["run", letterOf(point.side)]);
    return [tooltipHead(pathText(point.node)), pairs(rows)];
  }

  function drawPoint(chart, point, most) {
    const r = 3 + (POINT_MOST - 3) * Math.sqrt(point.ms / most);
    const fillName = report.comparison ? sideClass(point.side) : "fill-" + point.node.kind.key;
    const circle = draw("circle", {
      class: `point ${fillName}` + (isDim(point.node) ? " dim" : "") +
          (point.node === state.selected ? " chosen" : ""),
      cx: chart.x(point.intensity),
      cy: heightOf(chart, point.gflops),
      r,
      role: "img",
      "aria-label": `${shorten(pathText(point.node), 120)}, ${
          threeDigits(point.gflops / unit.gflops)} ${unit.text}`,
      onclick: () => select(point.node)
    });
    explain(circle, () => lines(point));
    return circle;
  }

  /* A line from the module in A to the one in B. */
  function drawMoves(chart) {
    const before =
        new Map(points.filter(point => point.side === 0).map(point => [point.node, point]));
    for (const point of points)
      if (point.side === 1 && before.has(point.node)) {
        const old = before.get(point.node);
        chart.svg.append(draw("line", {
          class: "joined",
          x1: chart.x(old.intensity),
          y1: heightOf(chart, old.gflops),
          x2: chart.x(point.intensity),
          y2: heightOf(chart, point.gflops)
        }));
      }
  }

  function notes() {
    const texts = [];
    if (!isKnown(peaks.gflops))
      texts.push("The machine's peaks are not in this run, so there is no roof; ",
          code("assay machine"), " measures them for later runs. ");
    if (peaks.isRaised)
      texts.push("A module was faster than the measured peak, so the peak is what it reached. ");
    if (!points.some(point => point.isDone))
      texts.push("Operations and bytes are those of the direct algorithm; ",
          "what the kernels really executed is not in this run. ");
    if (peaks.bandwidths.length)
      texts.push("The slopes are ",
          peaks.bandwidths.map(line => `${line.name} ${threeDigits(line.gbs)} GB/s`).join(", "),
          ". ");
    texts.push(`${
        counted(points.length, "module")} with known work; the area of a point is its own time.`);
    return make("p", {class: "note"}, texts);
  }

  function render() {
    if (points.length === 0) {
      element.replaceChildren(missing(
          "This run does not say how many operations its modules do, so they cannot be compared ",
          "with the machine. Runs of ", code("assay run"), " do."));
      return;
    }
    const range = ranges();
    const chart = newChart({
      width: widthOf(element),
      height: chartHeight(0.82),
      label: "Roofline: modules against the peaks of the machine",
      x: (from, to) => logScale(range.x[0], range.x[1], from, to),
      y: (from, to) => logScale(range.y[0] / unit.gflops, range.y[1] / unit.gflops, from, to),
      xLabel: "FLOP per byte moved",
      yLabel: unit.text
    });
    const most = points[0].ms;
    const slopes = drawRoof(chart, range);
    if (report.comparison)
      drawMoves(chart);
    const circles =
        points.filter(point => point.gflops >= range.y[0] && point.intensity >= range.x[0])
            .map(point => drawPoint(chart, point, most));
    rove(circles, i => select(points[i].node));
    chart.svg.append(...circles);
    labelSlopes(chart, slopes, circles);
    element.replaceChildren(chart.svg, kindLegend(), notes());
  }

  function kindLegend() {
    if (report.comparison)
      return make("ul", {class: "legend"},
          report.runs.map(
              run => make("li", {}, make("span", {class: "swatch " + sideClass(run.side)}),
                  letterOf(run.side) + " ", nameText(run.label))));
    const kinds = new Set(points.map(point => point.node.kind));
    return make("ul", {class: "legend"},
        Array.from(kinds,
            kind => make("li", {}, make("span", {class: "swatch fill-" + kind.key}), kind.label)));
  }

  onChange(what => {
    if ((what === "matches" || what === "selected") && !element.hidden)
      render();
  });
  return {key: "roofline", label: "Roofline", element, render, reveal: render};
}
