/* html/memory.js - live bytes over time, and the peak that opens the ledger. */

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

function memoryView(report) {
  const place = make("div");
  const ledgers = report.runs.map(run => ledgerPanel(report, run));
  const element = make("section", {}, place, ledgers.map(ledger => ledger.element));
  const curves =
      report.runs.map(run => ({run, counter: liveBytes(run)})).filter(curve => curve.counter);

  function openLedger(run) {
    const ledger = ledgers[run.side];
    ledger.element.hidden = !ledger.element.hidden;
    speak(ledger.element.hidden ? "ledger closed" : "ledger at the peak opened");
  }

  function drawPeak(chart, {run, counter}) {
    const i = peakOf(counter);
    const x = chart.x(counter.ms[i] - counter.ms[0]), y = chart.y(counter.value[i] / 1048576);
    const most = run.memory ? run.memory.peak_bytes : counter.value[i]; /* of all iterations */
    const isRight = x > (chart.plot.left + chart.plot.right) / 2;
    const peak = draw("g", {
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
        draw("text",
            {x: isRight ? x - 12 : x + 12, y: y - 7, "text-anchor": isRight ? "end" : "start"},
            (report.comparison ? letterOf(run.side) + " " : "") +
                peakWords(counter.value[i], most)));
    return peak;
  }

  function drawCurves() {
    const longest =
        Math.max(...curves.map(({counter}) => counter.ms[counter.ms.length - 1] - counter.ms[0]));
    const most = Math.max(...curves.map(({counter}) => counter.value[peakOf(counter)])) / 1048576;
    const chart = newChart({
      width: widthOf(element),
      height: 320,
      label: "Live memory over time",
      x: (from, to) => linearScale(0, longest, from, to),
      y: (from, to) => linearScale(0, most * 1.08, from, to),
      xLabel: "ms",
      yLabel: "live MiB"
    });
    for (const curve of curves) {
      const side = report.comparison ? sideClass(curve.run.side) : "side-b";
      const path = stepPath(curve.counter, chart.x, chart.y);
      const begin = chart.x(0),
            end = chart.x(curve.counter.ms[curve.counter.ms.length - 1] - curve.counter.ms[0]);
      if (!report.comparison)
        chart.svg.append(draw(
            "path", {class: "area " + side, d: `${path}H${end}V${chart.plot.bottom}H${begin}Z`}));
      chart.svg.append(draw("path", {class: "line " + side, d: path}));
    }
    const line = draw(
        "line", {class: "axis", y1: chart.plot.top, y2: chart.plot.bottom, visibility: "hidden"});
    chart.svg.append(line);
    chart.svg.addEventListener("pointermove", event => follow(event, chart, line, longest));
    chart.svg.addEventListener("pointerleave", () => {
      line.setAttribute("visibility", "hidden");
      tooltip.hide();
    });
    chart.svg.append(...curves.map(curve => drawPeak(chart, curve)));
    return chart.svg;
  }

  function follow(event, chart, line, longest) {
    const box = chart.svg.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width * chart.svg.viewBox.baseVal.width -
                     chart.plot.left) /
        (chart.plot.right - chart.plot.left);
    if (part < 0 || part > 1)
      return;
    const ms = part * longest;
    const rows = curves.map(({run, counter}) => {
      let i = counter.ms.findIndex(moment => moment - counter.ms[0] > ms);
      i = i < 0 ? counter.ms.length - 1 : Math.max(0, i - 1);
      return [report.comparison ? letterOf(run.side) : "live", bytesText(counter.value[i])];
    });
    for (const key of ["x1", "x2"])
      line.setAttribute(key, chart.x(ms));
    line.setAttribute("visibility", "visible");
    tooltip.show(event, tooltipHead(timeText(ms)), pairs(rows));
  }

  function render() {
    if (curves.length === 0) {
      place.replaceChildren(
          missing("This run does not say how much memory was live over time. Runs of ",
              code("assay run"), " do; traces of other profilers often do not."));
      return;
    }
    const isWhole = curves[0].counter.name !== LIVE_BYTES;
    place.replaceChildren(drawCurves(),
        make("p", {class: "note"}, isWhole ? "Over the whole run. " : "Over the last iteration. ",
            "Click the peak, or press Enter on it, to see who owned these bytes."));
  }

  return {
    key: "memory",
    label: "Memory",
    element,
    render,
    print() {
      for (const ledger of ledgers)
        ledger.element.hidden = false;
    }
  };
}
