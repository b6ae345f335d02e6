/* html/compare.js - the two runs side by side, as `assay compare` judges them.
 *
 * Every figure, mark and sentence is made by the code of that command
 * (src/views/report_compare.c); here they are only placed. Rows are sorted by how
 * much they changed the whole. */

const GATE_KINDS = {
  passed: "better",
  failed: "worse",
  noisy: null
};

function sideCard(report, run) {
  const letter = letterOf(run.side), facts = run.facts;
  const whole = report.comparison.rows[run.side === 0 ? "a_ms" : "b_ms"][0];
  const rows = [
    [run.hasIterations ? "iteration" : "whole", timeText(whole)],
    ["measured", report.comparison.sides[run.side]],
    run.memory ? ["memory peak", bytesText(run.memory.peak_bytes)] : null,
    run.title ? ["model", nameText(run.title, 40)] : null,
    facts["machine.cpu"] ? ["machine", nameText(facts["machine.cpu"], 40)] : null,
    facts["time.started"] ? ["began", facts["time.started"]] : null
  ];
  return make("section", {class: "card side-card", "aria-label": `Run ${letter}`},
      make("h2", {}, make("span", {class: "swatch " + sideClass(run.side)}), letter + " ",
          nameText(run.label, 60)),
      pairs(rows.filter(Boolean)));
}

/* "failed: the whole +5.1 % is over its budget ...", its first word as the sign. */
function gateLine(gate) {
  const [, sign, rest] = /^([^:]*)(.*)$/s.exec(gate.text);
  return make("p", {class: "gate"},
      make("strong", {class: GATE_KINDS[gate.result]}, `Gate ${sign}`), `${rest}.`);
}

function verdictLines(comparison) {
  const gate = comparison.gate;
  return [
    gate ? gateLine(gate) : null, verdictWords(comparison),
    gate ? null
         : make("p", {class: "note"}, "No budget was given, so no gate was asked: ",
               code("assay report A B --fail-above 5%"), " does.")
  ];
}

/* Both times as bars on one scale, A above B. */
function barsCell(node, most) {
  return make(
      "span", {class: "twin", "aria-hidden": "true"}, [node.a_ms, node.b_ms].map((ms, i) => {
        const bar = make("span", {class: i === 0 ? "side-a" : "side-b"});
        bar.style.width = 100 * Math.min(1, (ms || 0) / most) + "%";
        return bar;
      }));
}

function verdictCell(node) {
  const kind = changeKind(node);
  return [
    make("span", {class: "swatch fill-" + kind.key}), markWord(node),
    node.is_cause ? make("span", {class: "in", title: "no module inside it explains it"}, " cause")
                  : null
  ];
}

/* "passed", "failed", "undecided", as the gate says of the whole. */
function budgetWord(gate, node) {
  return gate.rows[node.id] === "noisy" ? "undecided" : gate.rows[node.id];
}

function budgetText(gate, node) {
  return plainNumber(100 * gate.budgets[node.id]) + "\u00a0%";
}

function compareColumns(report) {
  const gate = report.comparison.gate, most = report.comparison.rows.b_ms[0] || 1;
  const scale = Math.max(most, report.comparison.rows.a_ms[0] || 0);
  const size = node => isKnown(node.effect) ? Math.abs(node.effect) : null;
  return [
    {label: "module", value: pathText, cell: whereCell, class: "where"},
    number("A ms", node => node.a_ms, "mean per iteration"),
    number("B ms", node => node.b_ms, "mean per iteration"),
    {label: "A and B", value: node => node.b_ms, cell: node => barsCell(node, scale)}, {
      ...number("change", node => node.ratio, "from A to B, as the test estimates it"),
      text: node => node.change
    },
    {
      label: `${100 * report.comparison.confidence} % interval`,
      isNumber: true,
      value: node => node.low,
      text: node => node.interval,
      hint: "in percent, over all modules at once"
    },
    {
      ...number("p", node => node.p, "corrected for the number of modules"),
      text: node => node.p_text
    },
    {
      ...number("of the whole", size, "by how much it changed an iteration of A"),
      text: node => isKnown(node.effect) ? changeText(1 + node.effect) : UNKNOWN
    },
    {label: "verdict", value: node => node.mark, cell: verdictCell, class: "kept"},
    ...(gate ? [{
      label: "budget",
      value: node => gate.rows[node.id],
      text: node =>
          gate.rows[node.id] ? `${budgetWord(gate, node)} (${budgetText(gate, node)})` : "",
      class: "kept"
    }]
             : [])
  ];
}

const COMPARE_CHOICES = [["differs", "what differs"], ["all", "all modules"]];

function compareView(report) {
  const columns = compareColumns(report);
  const choice = make("select", {
    id: "differences",
    onchange: () => {
      remember({differ: choice.value === "differs" ? null : choice.value});
      render();
    }
  },
      COMPARE_CHOICES.map(([key, label]) => make("option", {value: key}, label)));
  const count = make("span", {class: "soft"});
  const grid = newGrid({
    label: "Modules of both runs, by change",
    sort: columns.findIndex(column => column.label === "of the whole"),
    columns,
    onChoose: select
  });
  const element = make("section", {class: "compare"},
      make("div", {class: "sides"}, report.runs.map(run => sideCard(report, run))),
      verdictLines(report.comparison),
      make("div", {class: "controls"}, make("label", {}, "Rows", choice), count), grid.element);
  if (remembered("differ") === "all")
    choice.value = "all";

  function rows() {
    return report.nodes.filter(node => !isDim(node) &&
            (choice.value === "all" || state.matches !== null || node.is_shown));
  }

  function render() {
    const shown = rows(), hidden = report.nodes.length - shown.length;
    grid.chosen = state.selected;
    grid.setRows(shown);
    count.textContent = state.matches
        ? `${grouped(shown.length)} of ${grouped(report.nodes.length)} match the search`
        : hidden ? `${grouped(hidden)} more among all modules`
                 : "";
  }

  onChange(what => {
    if (what === "matches" && !element.hidden)
      render();
    if (what === "selected" && !element.hidden)
      grid.mark(state.selected);
  });
  return {
    key: "compare",
    label: "Compare",
    element,
    render,
    keep: grid.keep,
    restore: grid.restore,
    reveal(node) {
      if (!node.is_shown && choice.value !== "all") {
        choice.value = "all";
        render();
      }
      grid.reveal(node);
    }
  };
}
