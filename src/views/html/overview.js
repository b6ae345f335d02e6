/* html/overview.js - what to know first: the figures, the parts of an iteration,
 * what was found, and where the time goes. */

function figure(label, parts, more, title) {
  return make("div", {title}, make("dt", {}, label),
      make("dd", {},
          make(
              "span", {class: "large"}, parts.text, " ", make("span", {class: "unit"}, parts.unit)),
          more ? make("div", {class: "more"}, more) : null));
}

/* The change from A to B of a number that is better if it is smaller; kind is its
 * colour. */
function changeNote(a, b, text, kind) {
  if (!isKnown(a) || !isKnown(b) || !(a > 0))
    return null;
  return [make("span", {class: kind}, changeText(b / a)), ` from ${text(a)}`];
}

function meanNote(report, latency, before) {
  if (before)
    return changeNote(before.mean_ms, latency.mean_ms, timeText, testedKind(report));
  if (!isKnown(latency.mean_low_ms))
    return null;
  return `95 % interval ${timeRange(latency.mean_low_ms, latency.mean_high_ms)}`;
}

/* The 95th percentile, or the slowest iteration if there are too few for that. */
function slowFigure(latency, before) {
  const hasP95 = isKnown(latency.p95_ms), key = hasP95 ? "p95_ms" : "max_ms";
  const note = before ? changeNote(before[key], latency[key], timeText, null)
                      : `from ${timeRange(latency.min_ms, latency.max_ms)}`;
  return figure(hasP95 ? "p95" : "slowest", timeParts(latency[key]), note);
}

function rateParts(run) {
  const latency = run.latency, images = run.facts["training.images_per_s"];
  if (isTraining(run) && images)
    return {text: threeDigits(Number(images)), unit: "images/s"};
  if (isKnown(latency.images_per_second))
    return {text: threeDigits(latency.images_per_second), unit: "images/s"};
  return {text: threeDigits(latency.per_second), unit: "/s"};
}

function latencyFigures(report) {
  const run = report.main, latency = run.latency, isStep = isTraining(run);
  const before = report.comparison ? report.runs[0].latency : null;
  const measured = counted(run.runs.measured, isStep ? "step" : "iteration");
  if (!isKnown(latency.mean_ms))
    return [figure("total", timeParts(run.whole), "no iterations are marked")];
  return [
    figure(isStep ? "mean step" : "mean latency", timeParts(latency.mean_ms),
        meanNote(report, latency, before)),
    slowFigure(latency, before),
    figure("throughput", rateParts(run), `${measured}, warm-up ${grouped(run.runs.warm_up)}`),
  ];
}

function memoryFigure(report) {
  const memory = report.main.memory;
  const before = report.comparison ? report.runs[0].memory : null;
  if (!memory)
    return figure("memory peak", {text: UNKNOWN, unit: ""}, "not recorded");
  const more = before     ? changeNote(before.peak_bytes, memory.peak_bytes, bytesText,
                                changeKindOf(before.peak_bytes, memory.peak_bytes))
      : memory.peak_scope ? ["at ", pathName(memory.peak_scope, 34)]
                          : null;
  return figure("memory peak", byteParts(memory.peak_bytes), more);
}

function workFigure(report) {
  const root = report.main.scopes[0];
  if (!isKnown(root.macs))
    return null;
  return figure("work", {text: threeDigits(root.macs / 1e9), unit: "GMAC"},
      isKnown(root.gflops) ? `${threeDigits(root.gflops)} GFLOP/s over the iteration` : null);
}

const STAGES = [
  ["decode", "part-1"], ["preprocess", "part-2"], ["model", "part-3"], ["postprocess", "part-4"],
  ["residual", "part-5"]
];

/* The parts of an iteration: {name, fill, ms, more} each. */
function partsStrip(parts) {
  const whole = sum(parts.map(part => part.ms));
  return make("div", {class: "stages"},
      make("div", {class: "strip", "aria-hidden": "true"}, parts.map(part => {
        const piece = make("span", {class: "fill-" + part.fill});
        piece.style.flexGrow = String(part.ms / whole);
        return piece;
      })),
      make("ul", {},
          parts.map(part => make("li", {}, make("span", {class: "swatch fill-" + part.fill}),
                        `${part.name} ${timeText(part.ms)}${part.more || ""}`))));
}

function stageStrip(run) {
  if (isTraining(run))
    return partsStrip(stepParts(run));
  if (!run.stages)
    return null;
  return partsStrip(STAGES.map(([name, fill]) => ({name, fill, ms: run.stages[name + "_ms"]}))
                        .filter(part => isKnown(part.ms)));
}

/* What a device waits for; a reason that is not here has its own name. */
const WAITS = {
  launch: "launches",
  synchronisation: "a synchronisation",
  copy: "copies",
  photograph: "the photograph",
  data: "the next batch of data",
  host: "the host"
};

/* What a device did in one iteration, and what it waited for. */
function deviceStrip(run) {
  const device = run.device;
  if (!device || !isKnown(device.kernels_ms))
    return null;
  const waits = Object.entries(device.idle_for).map(([key, ms]) => {
    const reason = key.replace(/_ms$/, "");
    return {name: `idle for ${WAITS[reason] || reason}`, fill: "part-5", ms};
  });
  return partsStrip([
    {name: "device: kernels", fill: "part-3", ms: device.kernels_ms},
    {name: "copies", fill: "part-2", ms: device.copies_ms}, ...waits
  ].filter(part => part.ms > 0));
}

const HEALTH = [
  ["lost_spans", n => `${counted(n, "span")} lost while recording`],
  ["unbalanced_ends", n => `${counted(n, "end")} of spans that never began`],
  ["open_at_end", n => `${counted(n, "span")} still open at the end`],
  ["too_deep", n => `${counted(n, "span")} nested too deep to follow`],
];

function noticeTexts(run) {
  const texts =
      HEALTH.filter(([key]) => run.health[key] > 0).map(([key, say]) => say(run.health[key]));
  if (run.health.is_incomplete)
    texts.unshift("the program did not finish: this is what it recorded until then");
  return texts;
}


function notices(report) {
  return report.runs.flatMap(
      run => noticeTexts(run).map(
          text => make("p", {class: "notice"}, nameText(run.label), ": ", text, ".")));
}

const FINDINGS_AT_FIRST = 3;

/* Findings of one rule are one item: the first few, the others folded. */
function findingGroups(findings) {
  const groups = new Map();
  for (const item of findings) {
    if (!groups.has(item.rule))
      groups.set(item.rule, []);
    groups.get(item.rule).push(item);
  }
  return Array.from(groups.values());
}

function findingItem(item) {
  return make("li", {}, nameText(item.text, 600),
      item.help ? make("div", {class: "soft"}, nameText(item.help, 600)) : null);
}

function findingsList(report) {
  const findings = report.main.findings || [];
  if (findings.length === 0)
    return null;
  return make("section", {class: "findings card"},
      make("h2", {}, report.comparison ? "Findings in B" : "Findings"),
      findingGroups(findings).map(
          group => [make("ul", {}, group.slice(0, FINDINGS_AT_FIRST).map(findingItem)),
              group.length > FINDINGS_AT_FIRST
                  ? make("details", {},
                        make("summary", {}, `${group.length - FINDINGS_AT_FIRST} more like `,
                            "these"),
                        make("ul", {}, group.slice(FINDINGS_AT_FIRST).map(findingItem)))
                  : null]));
}

/* ---- where the time goes ------------------------------------------------ */

const BARS_SHOWN = 10;

/* A bar per row: {label, text, part (0 to 1), fill, node}. The path to a module is
 * behind its name, where it may be cut. */
function barList(label, rows) {
  return make("section", {class: "card"}, make("h2", {}, label),
      make("ol", {class: "bars"}, rows.map(row => {
        const bar = make("span", {class: "bar-fill fill-" + row.fill});
        bar.style.width = 100 * Math.max(0, Math.min(1, row.part)) + "%";
        const parts = [
          make("span", {class: "bar-name"},
              row.node ? whereCell(row.node) : nameText(row.label, 44)),
          make("span", {class: "bar-text"}, row.text), make("span", {class: "bar-line"}, bar)
        ];
        if (!row.node)
          return make("li", {}, make("div", {class: "bar-row"}, parts));
        const button = make(
            "button", {type: "button", class: "bar-row", onclick: () => select(row.node)}, parts);
        explain(button, () => nodeTooltip(row.node));
        return make("li", {}, button);
      })));
}

function timedNodes(report, timeOf) {
  return report.nodes.filter(node => !node.isOutside)
      .map(node => ({node, ms: timeOf(node)}))
      .filter(row => row.ms > 0);
}

function slowestModules(report, label, timeOf) {
  const rows = timedNodes(report, timeOf).sort((a, b) => b.ms - a.ms).slice(0, BARS_SHOWN);
  return barList(label, rows.map(({node, ms}) => ({
    text: `${timeText(ms)}  ${percentText(ms / report.main.whole)}`,
    part: ms / rows[0].ms,
    fill: node.kind.key,
    node
  })));
}

function kindsOfTime(report, label, timeOf) {
  const times = new Map();
  for (const {node, ms} of timedNodes(report, timeOf))
    times.set(node.kind, (times.get(node.kind) || 0) + ms);
  const rows = Array.from(times).sort((a, b) => b[1] - a[1]);
  const isMore = sum(rows.map(row => row[1])) > 1.01 * report.main.whole;
  return barList(label + (isMore ? ", in all threads" : ""), rows.map(([kind, ms]) => ({
    label: kind === GROUP ? "between modules" : kind.label,
    text: `${timeText(ms)}  ${percentText(ms / report.main.whole)}`,
    part: ms / rows[0][1],
    fill: kind.key
  })));
}

/* If a device did the work, its time comes first: the host's is that of
 * launching. */
function timeCards(report) {
  const hasDevice = hasDeviceTimes(report);
  const host = hasDevice ? " on the host" : "";
  return [
    hasDevice ? slowestModules(report, "Longest modules on the device", deviceTime) : null,
    hasDevice ? kindsOfTime(report, "The device\u2019s time by what modules do", deviceTime) : null,
    slowestModules(report,
        hasDevice ? "Longest modules on the host" : "Longest modules, by their own time", hostTime),
    kindsOfTime(report, `Time${host} by what modules do`, hostTime)
  ];
}

/* The modules that made B slower or faster, the largest difference first. */
function largestChanges(report) {
  const rows =
      report.nodes
          .filter(node => /slower|faster/.test(node.mark) && node.sides[0] && node.sides[1] &&
                  node.parent)
          .map(node => ({node, ms: node.sides[1].total_ms - node.sides[0].total_ms}))
          .sort((a, b) => b.node.is_cause - a.node.is_cause || Math.abs(b.ms) - Math.abs(a.ms))
          .slice(0, 2 * BARS_SHOWN);
  if (rows.length === 0)
    return make("section", {class: "card"}, make("h2", {}, "Changed modules"),
        make("p", {class: "soft"}, "No module changed by more than noise."));
  const most = Math.max(...rows.map(row => Math.abs(row.ms)));
  return barList("Changed modules, those at the bottom of it first", rows.map(({node, ms}) => ({
    text: `${ms > 0 ? "+" : "\u2212"}${timeText(Math.abs(ms))}  ${node.change}`,
    part: Math.abs(ms) / most,
    fill: changeKind(node).key,
    node
  })));
}

/* What the command says: its verdict, what else differs, and what the verdict
 * does not cover. */
function verdictWords(comparison) {
  return [
    make("p", {class: "verdict"}, sentence(comparison.verdict)),
    comparison.unlike ? make("p", {class: "note"}, `Not the same: ${comparison.unlike}.`) : null,
    comparison.note ? make("p", {class: "note"}, sentence(comparison.note)) : null
  ];
}

function overviewView(report) {
  const run = report.main;
  const element = make("section", {class: "page"},
      make("dl", {class: "figures"}, latencyFigures(report), memoryFigure(report),
          workFigure(report)),
      report.comparison ? verdictWords(report.comparison) : [stageStrip(run), deviceStrip(run)],
      !report.comparison && run.steady && run.steady.verdict !== "steady"
          ? make("p", {class: "note"}, `Steadiness: ${run.steady.text}.`)
          : null,
      notices(report),
      make("div", {class: "cards"}, findingsList(report),
          report.comparison ? largestChanges(report) : timeCards(report)),
      make("footer", {class: "note"}, `Made by Assay ${run.facts["assay.version"] || ""} from `,
          nameText(report.runs.map(item => item.label).join(" and ")),
          ". Times are means per iteration unless stated otherwise; 1 MAC is 2 FLOP."));
  return {key: "overview", label: "Overview", element, render() {}};
}
