/* html/head.js - what it is, how long it took, what to know first. */

function figure(label, parts, more, title) {
  return make("div", {title}, make("dt", {}, label),
      make("dd", {},
          make(
              "span", {class: "large"}, parts.text, " ", make("span", {class: "unit"}, parts.unit)),
          more ? make("div", {class: "more"}, more) : null));
}

/* The change from A to B, of a number of which less is better. */
function changeNote(a, b, text) {
  if (!isKnown(a) || !isKnown(b) || !(a > 0))
    return null;
  const ratio = b / a;
  const kind = ratio > 1.005 ? "worse" : ratio < 0.995 ? "better" : null;
  return [make("span", {class: kind}, changeText(ratio)), ` from ${text(a)}`];
}

function latencyFigures(report) {
  const run = report.main, latency = run.latency;
  const before = report.comparison ? report.runs[0].latency : null;
  const isStep = isTraining(run), images = run.facts["training.images_per_s"];
  if (!isKnown(latency.median_ms))
    return [figure("total", timeParts(run.whole), "no iterations are marked")];
  return [
    figure(isStep ? "median step" : "median latency", timeParts(latency.median_ms),
        before ? changeNote(before.median_ms, latency.median_ms, timeText)
               : `95 % interval ${timeRange(latency.median_low_ms, latency.median_high_ms)}`),
    figure("p95", timeParts(latency.p95_ms),
        before ? changeNote(before.p95_ms, latency.p95_ms, timeText)
               : `from ${timeRange(latency.min_ms, latency.max_ms)}`),
    figure("throughput",
        isStep && images ? {text: threeDigits(Number(images)), unit: "images/s"}
                         : {text: threeDigits(latency.per_second), unit: "/s"},
        `${counted(run.runs.measured, isStep ? "step" : "iteration")}, warm-up ${
            grouped(run.runs.warm_up)}`),
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

/* What an iteration consists of: {name, fill, ms, more} each. */
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
    texts.unshift("the program did not reach its end: this is what there was until then");
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
      ". Times are of one iteration, on the mean, ", "unless they say otherwise; 1 MAC is 2 FLOP.");
}
