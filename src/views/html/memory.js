/* html/memory.js - live bytes over time, by whose they are, and the peak with its
 * owners.
 *
 * A run of this version says for each category how much it held; the rest of the
 * live bytes is what the pool rounds up. Of older runs, traces and in a comparison
 * there is one line. The module that ran at a moment comes from the slices of the
 * same iteration. */

const LIVE_BYTES = "memory.live";

/* The counter of live bytes: of one iteration, or of the whole run. */
function liveBytes(run) {
  const counters = run.counters.filter(counter => counter.value.length > 1);
  return counters.find(counter => counter.name === LIVE_BYTES) ||
      counters.find(
          counter => counter.unit === "bytes" && /memory|live|alloc/i.test(counter.name)) ||
      counters.find(counter => counter.unit === "bytes") || null;
}

/* The index of the largest value. */
function peakOf(counter) {
  return counter.value.reduce((best, value, i) => value > counter.value[best] ? i : best, 0);
}

/* Also names the peak of the run if another iteration needed more, such as one
 * with larger images. */
function peakWords(here, most) {
  return most > here * 1.02 ? `${bytesText(here)}, peak of the run ${bytesText(most)}`
                            : `peak ${bytesText(most)}`;
}

/* A step line: memory stays constant until it changes. */
function stepPath(counter, x, y) {
  const begin = counter.ms[0];
  return counter.value
      .map((value, i) => {
        const at = x(counter.ms[i] - begin).toFixed(1), height = y(value / 1048576).toFixed(1);
        return i === 0 ? `M${at},${height}` : `H${at}V${height}`;
      })
      .join("");
}

/* In this order, from the bottom. */
const CATEGORY_ORDER =
    ["weights", "optimizer", "gradients", "scratch", "images", "activations", "other"];

/* {space, category, ms, value} of a run, those of one space first. */
function heldBytes(run) {
  const found = [];
  for (const counter of run.counters) {
    if (!counter.name.startsWith(LIVE_BYTES + ".") || counter.value.length === 0)
      continue;
    const words = counter.name.slice(LIVE_BYTES.length + 1), at = words.lastIndexOf(".");
    if (Math.max(...counter.value) > 0)
      found.push({
        space: words.slice(0, at),
        category: words.slice(at + 1),
        ms: counter.ms,
        value: counter.value
      });
  }
  const rank = item => CATEGORY_ORDER.indexOf(item.category);
  return found.sort((a, b) => a.space.localeCompare(b.space) || rank(a) - rank(b));
}

/* The last value of a step line at a time. */
function valueAt(counter, ms) {
  const i = upperIndex(counter.ms, ms) - 1;
  return i < 0 ? 0 : counter.value[i];
}

/* The categories of a space on top of each other: {times, layers: [{category, low,
 * high}]}, arrays by time. */
function stackBytes(held, total) {
  const times = Array.from(new Set([...held.map(item => item.ms), total ? total.ms : []].flat()))
                    .sort((a, b) => a - b);
  const layers = [];
  let below = times.map(() => 0);
  for (const item of held) {
    const high = times.map((ms, i) => below[i] + Math.max(0, valueAt(item, ms)));
    layers.push({category: item.category, low: below, high});
    below = high;
  }
  if (total) {
    const high = times.map((ms, i) => Math.max(below[i], valueAt(total, ms)));
    if (high.some((value, i) => value > below[i] * 1.001))
      layers.push({category: "fragmentation", low: below, high});
  }
  return {times, layers};
}

/* The steps of an edge, there and, for an area, back along another. */
function stackPath(times, low, high, end, x, y) {
  const forth = [], back = [];
  times.forEach((ms, i) => {
    const next = i + 1 < times.length ? times[i + 1] : end;
    const a = x(ms).toFixed(1), b = x(next).toFixed(1);
    forth.push(`${a},${y(high[i]).toFixed(1)}`, `${b},${y(high[i]).toFixed(1)}`);
    back.unshift(`${b},${y(low[i]).toFixed(1)}`, `${a},${y(low[i]).toFixed(1)}`);
  });
  return `M${forth.join("L")}L${back.join("L")}Z`;
}

/* What ran at a time of the run, by the slices of the iteration that the bytes are
 * of: at(ms) is a node or null, spans(node) its [from, to]. */
function moduleClock(report, run, counter) {
  const begin = counter.ms[0];
  const stretch = run.stretches.find(item => Math.abs(item.start_ms - begin) < 1);
  let track = null;
  const load = () => {
    if (!track && stretch)
      track = readSlices(run, stretch).tracks.find(item => item.kind === "cpu") || {lanes: []};
    return track ? track.lanes : [];
  };
  const nodeOf = report.nodeOf[run.side];
  return {
    at(ms) {
      const moment = stretch ? ms - stretch.start_ms : 0;
      let found = null;
      for (const lane of load()) {
        const i = firstAfter(lane, moment);
        if (i >= lane.n || lane.start[i] > moment)
          break;
        found = nodeOf[lane.rows[i]];
      }
      return found;
    },
    spans(node) {
      const spans = [];
      for (const lane of load())
        for (let i = 0; i < lane.n; i++)
          if (nodeOf[lane.rows[i]] === node)
            spans.push([lane.start[i] + stretch.start_ms, lane.end[i] + stretch.start_ms]);
      return spans;
    }
  };
}

function memoryView(report) {
  const place = make("div");
  const ledgers = report.runs.map(run => ledgerPanel(report, run));
  const curves = report.runs.map(run => ({run, counter: liveBytes(run)}))
                     .filter(curve => curve.counter)
                     .map(curve => ({
                       ...curve,
                       held: report.comparison ? [] : heldBytes(curve.run),
                       clock: moduleClock(report, curve.run, curve.counter)
                     }));
  const spaces = Array.from(new Set(curves.flatMap(curve => curve.held.map(item => item.space))));
  const space = make("select", {onchange: render}, spaces.map(name => make("option", {}, name)));
  const element = make("section", {class: "page"},
      spaces.length > 1 ? make("div", {class: "controls"}, make("label", {}, "Memory of", space))
                        : null,
      place, ledgers.map(ledger => ledger.element));

  function openLedger(run) {
    ledgers[run.side].element.scrollIntoView({block: "nearest"});
    speak("ledger at the peak");
  }

  /* ---- drawing ---- */

  function isAbove(other, curve) {
    const [theirs, own] = [other, curve].map(({counter}) => counter.value[peakOf(counter)]);
    return other !== curve && (theirs > own || (theirs === own && other.run.side < curve.run.side));
  }

  /* The label of the lower peak of two is below it, so that they do not meet. */
  function drawPeak(chart, {run, counter}, begin, isLower) {
    const i = peakOf(counter);
    const x = chart.x(counter.ms[i] - begin), y = chart.y(counter.value[i] / 1048576);
    const most = run.memory ? run.memory.peak_bytes : counter.value[i]; /* of all iterations */
    const isRight = x > (chart.plot.left + chart.plot.right) / 2;
    return draw("g", {
      class: "peak",
      tabindex: 0,
      role: "button",
      id: `peak-${run.side}`,
      "aria-label": `peak ${bytesText(most)}: who owns it`,
      onclick: () => openLedger(run),
      onkeydown: event => {
        if (event.key === "Enter" || event.key === " ") {
          openLedger(run);
          event.preventDefault();
        }
      }
    },
        draw("circle", {cx: x, cy: y, r: 6}),
        draw("text", {
          x: isRight ? x - 12 : x + 12,
          y: isLower ? y + 19 : y - 7,
          "text-anchor": isRight ? "end" : "start"
        },
            (report.comparison ? letterOf(run.side) + " " : "") +
                peakWords(counter.value[i], most)));
  }

  /* The categories of the chosen space; the total is of the host's. */
  function stackOf(curve) {
    const held = curve.held.filter(item => spaces.length < 2 || item.space === space.value);
    const isHost = spaces.length < 2 || space.value === "host";
    return held.length ? stackBytes(held, isHost ? curve.counter : null) : null;
  }

  function drawCurve(chart, curve, begin) {
    const {run, counter} = curve, end = counter.ms[counter.ms.length - 1];
    const x = ms => chart.x(ms - begin), y = bytes => chart.y(bytes / 1048576);
    const stack = stackOf(curve);
    if (stack) {
      for (const layer of stack.layers)
        chart.svg.append(draw("path", {
          class: "stacked fill-" + (LEDGER_FILLS[layer.category] || "memory-other"),
          d: stackPath(stack.times, layer.low, layer.high, end, x, y)
        }));
      return;
    }
    const side = report.comparison ? sideClass(run.side) : "side-b";
    const path = stepPath(counter, chart.x, chart.y);
    if (!report.comparison)
      chart.svg.append(draw("path",
          {class: "area " + side, d: `${path}H${x(end)}V${chart.plot.bottom}H${chart.x(0)}Z`}));
    chart.svg.append(draw("path", {class: "line " + side, d: path}));
  }

  /* Where the selected module ran. */
  function drawSpans(chart, curve, begin) {
    if (!state.selected || !state.selected.parent)
      return;
    for (const [from, to] of curve.clock.spans(state.selected).slice(0, 400))
      chart.svg.append(draw("rect", {
        class: "ran",
        x: chart.x(from - begin),
        y: chart.plot.top,
        width: Math.max(1, chart.x(to - begin) - chart.x(from - begin)),
        height: chart.plot.bottom - chart.plot.top
      }));
  }

  function mostOf(curve) {
    const stack = stackOf(curve);
    return stack ? Math.max(...stack.layers[stack.layers.length - 1].high)
                 : curve.counter.value[peakOf(curve.counter)];
  }

  function drawCurves() {
    const lengths = curves.map(({counter}) => counter.ms[counter.ms.length - 1] - counter.ms[0]);
    const longest = Math.max(...lengths), most = Math.max(...curves.map(mostOf)) / 1048576;
    const chart = newChart({
      width: widthOf(place),
      height: chartHeight(0.5),
      label: "Live memory over time",
      x: (from, to) => linearScale(0, longest, from, to),
      y: (from, to) => linearScale(0, most * 1.08, from, to),
      xLabel: "ms",
      yLabel: "live MiB"
    });
    for (const curve of curves) {
      drawCurve(chart, curve, curve.counter.ms[0]);
      drawSpans(chart, curve, curve.counter.ms[0]);
    }
    const line = draw(
        "line", {class: "cursor", y1: chart.plot.top, y2: chart.plot.bottom, visibility: "hidden"});
    chart.svg.append(line);
    chart.svg.addEventListener("pointermove", event => follow(event, chart, line, longest));
    chart.svg.addEventListener("click", event => {
      const ms = msUnder(event, chart, longest);
      const node = ms === null || event.target.closest(".peak")
          ? null
          : curves[curves.length - 1].clock.at(ms + curves[curves.length - 1].counter.ms[0]);
      if (node)
        select(node);
    });
    chart.svg.addEventListener("pointerleave", () => {
      line.setAttribute("visibility", "hidden");
      tooltip.hide();
    });
    if (spaces.length < 2 || space.value === "host")
      chart.svg.append(...curves.map(curve => drawPeak(chart, curve, curve.counter.ms[0],
                                         curves.some(other => isAbove(other, curve)))));
    return chart.svg;
  }

  /* ---- under the pointer ---- */

  function msUnder(event, chart, longest) {
    const box = chart.svg.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width * chart.svg.viewBox.baseVal.width -
                     chart.plot.left) /
        (chart.plot.right - chart.plot.left);
    return part < 0 || part > 1 ? null : part * longest;
  }

  function linesAt(curve, ms) {
    const moment = ms + curve.counter.ms[0], node = curve.clock.at(moment);
    const label = report.comparison ? letterOf(curve.run.side) : "live";
    const held = curve.held.filter(item => spaces.length < 2 || item.space === space.value);
    return [
      ...(node ? [["in", nameText(pathText(node), 60)]] : []),
      [label, bytesText(valueAt(curve.counter, moment))],
      ...held.slice().reverse().map(item => [item.category, bytesText(valueAt(item, moment))])
    ];
  }

  function follow(event, chart, line, longest) {
    const ms = msUnder(event, chart, longest);
    if (ms === null)
      return;
    for (const key of ["x1", "x2"])
      line.setAttribute(key, chart.x(ms));
    line.setAttribute("visibility", "visible");
    tooltip.show(
        event, tooltipHead(timeText(ms)), pairs(curves.flatMap(curve => linesAt(curve, ms))));
  }

  function legendOf() {
    const stack = report.comparison ? null : stackOf(curves[0]);
    if (!stack)
      return null;
    return make("ul", {class: "legend"},
        stack.layers.slice().reverse().map(
            layer => make("li", {},
                make("span",
                    {class: "swatch fill-" + (LEDGER_FILLS[layer.category] || "memory-other")}),
                layer.category === "fragmentation" ? "rounded up by the pool" : layer.category)));
  }

  function render() {
    if (curves.length === 0) {
      place.replaceChildren(
          missing("This run does not say how much memory was live over time. Runs of ",
              code("assay run"), " do; traces of other profilers often do not."));
      return;
    }
    const isWhole = curves[0].counter.name !== LIVE_BYTES;
    fill(place, {}, []).replaceChildren();
    fill(place, {}, [
      drawCurves(), legendOf(),
      make("p", {class: "note"}, isWhole ? "Over the whole run. " : "Over the last iteration. ",
          "The pointer names the module that ran; a click selects it. ",
          "Below is who owned the bytes at the peak.")
    ]);
  }

  onChange(what => {
    if (what === "selected" && !element.hidden)
      render();
  });
  return {key: "memory", label: "Memory", element, render};
}
