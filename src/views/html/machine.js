/* html/machine.js - what the numbers depend on: machine, settings, model. */

const FACT_ORDER = [
  "machine", "settings", "model", "training", "loader", "input", "content", "photos", "memory",
  "program", "time", "config.training", "config.model", "config.dataset", "config.optimizer",
  "config.profile"
];

/* Facts, grouped by the first words of their keys. */
function factGroups(report) {
  const keys = new Set(report.runs.flatMap(run => Object.keys(run.facts)));
  const groups = new Map();
  for (const key of keys) {
    const group = FACT_ORDER.find(name => key.startsWith(name + ".")) || "other";
    if (!groups.has(group))
      groups.set(group, []);
    groups.get(group).push(key);
  }
  const rank = name => (FACT_ORDER.indexOf(name) + FACT_ORDER.length + 1) % (FACT_ORDER.length + 1);
  return Array.from(groups).sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
}

/* Endings of keys that stand for a unit. */
const FACT_UNITS = [
  [/_gflops$/, value => `${threeDigits(value)} GFLOP/s`],
  [/_gbs$/, value => `${threeDigits(value)} GB/s`],
  [/_us$/, value => timeText(value / 1000)],
  [/_ns$/, value => timeText(value / 1e6)],
  [/_share$/, value => percentText(value)],
  [/_per_s$/, value => threeDigits(value)],
  [/_bytes$/, value => bytesText(value)],
];

function factText(key, value) {
  if (value === undefined)
    return UNKNOWN;
  const unit = FACT_UNITS.find(([ending]) => ending.test(key));
  return unit && value.trim() !== "" && Number.isFinite(Number(value)) ? unit[1](Number(value))
                                                                       : nameText(value, 400);
}

/* "peak_gflops" of the group "machine": "peak". */
function factLabel(group, key) {
  const name = key.startsWith(group + ".") ? key.slice(group.length + 1) : key;
  return name.replace(/_(gflops|gbs|us|ns)$/, "").replace(/_per_s$/, "/s").replaceAll("_", " ");
}

/* A section of a configuration, as in its file: "[training]". */
function groupLabel(group) {
  return group.replace(/^config\.(.*)$/, "[$1]");
}

function factTable(report, group, keys) {
  return make("div", {class: "block"}, make("h2", {}, nameText(groupLabel(group))),
      make("table", {}, make("tbody", {}, keys.map(key => {
        const values = report.runs.map(run => run.facts[key]);
        const differs = values.length > 1 && values[0] !== values[1];
        return make("tr", {class: differs ? "differs" : null},
            make("th", {scope: "row"}, nameText(factLabel(group, key))),
            values.map(value => make("td", {}, factText(key, value))));
      }))));
}

function threadsTable(run) {
  return make("div", {class: "block"}, make("h2", {}, "threads"),
      make("table", {},
          make("tbody", {},
              run.threads.map(thread => make("tr", {}, make("td", {}, nameText(thread.name)),
                                  make("td", {class: "soft"}, thread.kind))))));
}

function machineView(report) {
  const groups = factGroups(report);
  const element = make("section", {},
      report.comparison ? make("p", {class: "note"}, "A, then B; differences are in bold.") : null,
      groups.some(([name]) => name === "machine")
          ? null
          : missing("This run does not say which machine it ran on; ",
                "traces of other profilers often do not."),
      make("div", {class: "facts"}, groups.map(([name, keys]) => factTable(report, name, keys)),
          report.main.threads.length > 1 ? threadsTable(report.main) : null));
  return {key: "machine", label: "Machine and settings", element, render() {}};
}
