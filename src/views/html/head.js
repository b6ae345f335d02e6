/* html/head.js - what it is, how long it took, what to know first. */

function figure(label, parts, more, title) {
  return make("div", {title}, make("dt", {}, label),
      make("dd", {},
          make(
              "span", {class: "large"}, parts.text, " ", make("span", {class: "unit"}, parts.unit)),
          more ? make("div", {class: "more"}, more) : null));
}

/* The change from A to B of a number that is better if it is smaller. */
function changeNote(a, b, text) {
  if (!isKnown(a) || !isKnown(b) || !(a > 0))
    return null;
  const ratio = b / a;
  const kind = ratio > 1.005 ? "worse" : ratio < 0.995 ? "better" : null;
  return [make("span", {class: kind}, changeText(ratio)), ` from ${text(a)}`];
}

function meanNote(latency, before) {
  if (before)
    return changeNote(before.mean_ms, latency.mean_ms, timeText);
  if (!isKnown(latency.mean_low_ms))
    return null;
  return `95 % interval ${timeRange(latency.mean_low_ms, latency.mean_high_ms)}`;
}

/* The 95th percentile, or the slowest iteration if there are too few for that. */
function slowFigure(latency, before) {
  const hasP95 = isKnown(latency.p95_ms), key = hasP95 ? "p95_ms" : "max_ms";
  const note = before ? changeNote(before[key], latency[key], timeText)
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
        meanNote(latency, before)),
    slowFigure(latency, before),
    figure("throughput", rateParts(run), `${measured}, warm-up ${grouped(run.runs.warm_up)}`),
  ];
}

function memoryFigure(report) {
  const memory = report.main.memory;
  const before = report.comparison ? report.runs[0].memory : null;
  if (!memory)
    return figure("memory peak", {text: UNKNOWN, unit: ""}, "not recorded");
  const more = before     ? changeNote(before.peak_bytes, memory.peak_bytes, bytesText)
      : memory.peak_scope ? ["at ", nameText(memory.peak_scope, 34)]
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
  ["decode", "picture"], ["preprocess", "pooling"], ["model", "convolution"],
  ["postprocess", "detection"], ["residual", "other"]
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

const HEALTH = [
  ["lost_spans", n => `${counted(n, "span")} lost while recording`],
  ["unbalanced_ends", n => `${counted(n, "end")} of spans that never began`],
  ["open_at_end", n => `${counted(n, "span")} still open at the end`],
  ["too_deep", n => `${counted(n, "span")} nested too deep to follow`],
];

function notices(run) {
  const texts =
      HEALTH.filter(([key]) => run.health[key] > 0).map(([key, say]) => say(run.health[key]));
  if (run.health.is_incomplete)
    texts.unshift("the program did not finish: this is what it recorded until then");
  return texts.map(text => make("p", {class: "notice"}, nameText(run.label), ": ", text, "."));
}

function findingsList(report) {
  const findings = report.main.findings || [];
  if (findings.length === 0)
    return null;
  return make("section", {class: "findings"},
      make("h2", {}, report.comparison ? "Findings in B" : "Findings"),
      make("ol", {},
          findings.map(
              item => make("li", {}, nameText(item.text, 600),
                  item.help ? make("div", {class: "soft"}, nameText(item.help, 600)) : null))));
}

function themeSwitch() {
  const button = make("button", {
    class: "plain theme",
    type: "button",
    onclick: () => {
      setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    }
  });
  onChange(what => {
    if (what === "theme")
      name();
  });
  function name() {
    button.textContent = document.documentElement.dataset.theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
  }
  name();
  return button;
}

function whatItIs(run) {
  const facts = run.facts;
  return [
    facts["model.name"] || facts["program.name"] || run.run.name, facts["machine.cpu"],
    facts["settings.threads"] ? `${facts["settings.threads"]} threads` : null, facts["time.started"]
  ].filter(Boolean);
}

function renderHead(report) {
  const run = report.main, facts = run.facts;
  const title = facts["model.name"] || (run.run.name === "run" ? run.label : run.run.name);
  const under = report.comparison
      ? ["A ", nameText(report.runs[0].label), "  \u2192  B ", nameText(report.runs[1].label)]
      : [
          nameText(run.label),
          whatItIs(run).slice(1).map(text => [" \u00b7 ", nameText(text)]).flat()
        ];
  document.title = `${shorten(title, 60)} \u2013 Assay`;
  byId("head").append(...[make("div", {class: "title"},
                              make("div", {}, make("h1", {}, nameText(title, 120)),
                                  make("p", {class: "soft"}, ...under.flat())),
                              themeSwitch()),
      make("dl", {class: "figures"}, latencyFigures(report), memoryFigure(report),
          workFigure(report)),
      report.comparison ? make("p", {class: "note"}, report.comparison.verdict,
                              report.comparison.note ? ". " + report.comparison.note : "")
                        : stageStrip(run),
      !report.comparison && run.steady && run.steady.verdict !== "steady"
          ? make("p", {class: "note"}, `Steadiness: ${run.steady.text}.`)
          : null,
      ...report.runs.flatMap(notices),
      findingsList(report),
  ].filter(Boolean));
  byId("foot").append(`Made by Assay ${facts["assay.version"] || ""} from `,
      nameText(report.runs.map(item => item.label).join(" and ")),
      ". Times are means per iteration unless stated otherwise; 1 MAC is 2 FLOP.");
}
