/* html/modules.js - the table of modules, of leaves or of classes. */

function shareCell(report, node) {
  const share = shareOf(report, node);
  const bar = make("span", {class: "bar", "aria-hidden": "true"},
      make("span", {class: "fill-" + node.kind.key}));
  bar.firstChild.style.width = 100 * Math.min(1, share || 0) + "%";
  return [percentText(share), bar];
}

/* The name of a module, and the path to it in a softer colour. */
function whereCell(node) {
  const above = pathOf(node).slice(0, -1);
  return [
    nameText(node.name, 60), " ",
    node.isOutside ? make("span", {class: "in"}, "outside the iterations")
        : above.length
        ? make("span", {class: "in"}, pathName(above.map(at => at.name).join("."), 36))
        : null
  ];
}

function per(value, unit) {
  return isKnown(value) ? value / unit : null;
}

function number(label, value, hint) {
  return {label, value, isNumber: true, hint};
}

function moduleColumns(report) {
  const columns = [
    {label: "module", value: pathText, cell: whereCell, class: "where"},
    {
      label: "class",
      value: node => node.class || null,
      cell: node => nameText(node.class || "", 26),
      class: "kept class-column"
    },
    number("total ms", node => node.scope.total_ms, "mean per iteration"),
    number("self ms", node => node.scope.self_ms, "without the modules inside it"),
    {...number("share", node => shareOf(report, node)), cell: node => shareCell(report, node)},
    number("calls", node => node.scope.calls),
    number("median ms", node => node.scope.median_ms, "over the iterations it was called in"),
    number("p95 ms", node => node.scope.p95_ms),
    {...number("GMAC", node => per(node.scope.macs, 1e9)), digits: 4},
    {...number("GFLOP/s", node => node.scope.gflops), digits: 3},
    {
      label: "bound",
      value: node => node.scope.bound,
      text: node => node.scope.bound || UNKNOWN,
      hint: "what keeps it from being faster"
    },
    {
      ...number("of roof", node => node.scope.reached, "share of the roofline that it reaches"),
      text: node => percentText(node.scope.reached)
    },
    {
      ...number("peak MiB", node => per(node.scope.peak_bytes, 1048576),
          "most bytes that were live during a call"),
      digits: 3
    },
  ];
  return columns.filter(column => report.nodes.some(node => isKnown(column.value(node))));
}

function sideColumn(label, side, key, hint) {
  return number(label, node => node.sides[side] ? node.sides[side][key] : null, hint);
}

function differenceColumns() {
  return [
    {label: "module", value: pathText, cell: whereCell, class: "where"},
    {
      label: "class",
      value: node => node.class || null,
      cell: node => nameText(node.class || "", 26),
      class: "kept class-column"
    },
    sideColumn("A total ms", 0, "total_ms"),
    sideColumn("B total ms", 1, "total_ms"),
    number("B \u2212 A ms",
        node => node.sides[0] && node.sides[1] ? node.sides[1].total_ms - node.sides[0].total_ms
                                               : null),
    {...number("change", node => node.ratio), text: node => node.change},
    {label: "interval %", isNumber: true, value: node => node.low, text: node => node.interval},
    {label: "verdict", value: node => node.mark, text: markWord, class: "kept"},
    sideColumn("A self ms", 0, "self_ms"),
    sideColumn("B self ms", 1, "self_ms"),
  ];
}

/* Joins the modules of a class. */
function classRows(nodes) {
  const rows = new Map();
  for (const node of nodes) {
    if (node.isOutside || !isKnown(node.scope.self_ms))
      continue;
    const key = node.class || "no class";
    const row = rows.get(key) || {name: key, modules: 0, calls: 0, self_ms: 0, macs: 0};
    row.modules++;
    row.calls += node.scope.calls || 0;
    row.self_ms += node.scope.self_ms;
    row.macs += node.scope.self_macs || 0;
    rows.set(key, row);
  }
  return Array.from(rows.values());
}

function classColumns(report) {
  return [
    {label: "class", value: row => row.name, cell: row => nameText(row.name, 60)},
    number("modules", row => row.modules),
    number("calls", row => row.calls),
    number("self ms", row => row.self_ms),
    {
      ...number("share", row => row.self_ms / report.main.whole),
      text: row => percentText(row.self_ms / report.main.whole)
    },
    number("GMAC", row => row.macs ? row.macs / 1e9 : null),
  ];
}

const ROW_CHOICES = [["all", "all modules"], ["leaves", "leaves only"], ["classes", "classes"]];

function moduleView(report) {
  const choice = make("select", {
    id: "rows",
    onchange: () => {
      remember({rows: choice.value === "all" ? null : choice.value});
      render();
    }
  },
      ROW_CHOICES.map(([key, label]) => make("option", {value: key}, label)));
  const count = make("span", {class: "soft"});
  const modules = newGrid({
    label: "Modules",
    sort: 2 + (report.comparison ? 1 : 0),
    columns: report.comparison ? differenceColumns() : moduleColumns(report),
    onChoose: select
  });
  const classes = newGrid({label: "Classes", sort: 3, columns: classColumns(report)});
  const element = make("section", {class: "column"},
      make("div", {class: "controls"}, make("label", {}, "Rows", choice), count),
      make("div", {class: "scroll"}, modules.element, classes.element));
  if (ROW_CHOICES.some(([key]) => key === remembered("rows")))
    choice.value = remembered("rows");

  function rows() {
    return report.nodes.filter(
        node => !isDim(node) && (choice.value !== "leaves" || node.children.length === 0));
  }

  function render() {
    const isByClass = choice.value === "classes";
    const shown = rows();
    modules.element.hidden = isByClass;
    classes.element.hidden = !isByClass;
    modules.chosen = state.selected;
    if (isByClass)
      classes.setRows(classRows(shown));
    else
      modules.setRows(shown);
    count.textContent = state.matches
        ? `${grouped(shown.length)} of ${grouped(report.nodes.length)} match the search`
        : "";
  }

  onChange(what => {
    if (what === "matches" && !element.hidden)
      render();
    if (what === "selected" && !element.hidden)
      modules.mark(state.selected);
  });
  return {
    key: "table",
    label: "Table",
    element,
    render,
    keep: modules.keep,
    restore: modules.restore,
    reveal(node) {
      if (choice.value !== "classes")
        modules.reveal(node);
    }
  };
}
