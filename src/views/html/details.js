/* html/details.js - the pane with everything about the selected module. */

const DETAIL_GROUPS = [
  [
    "Time", ["total_ms", "self_ms", "calls", "median_ms", "p95_ms", "min_ms", "max_ms", "device_ms"]
  ],
  ["Work", ["macs", "gflops", "done_gflops", "gbs", "bound", "reached", "saved_ms", "parameters"]],
  ["Memory", ["bytes", "peak_bytes"]],
];

function detailsPanel(report, openIn) {
  const panel = byId("side");

  function trail(node) {
    const above = pathOf(node).slice(0, -1);
    const shown = above.length > 8 ? [...above.slice(0, 3), null, ...above.slice(-4)] : above;
    return make("p", {class: "path"}, shown.map(at => at === null ? "\u2026 \u203a " : [
      make("button", {class: "link", type: "button", onclick: () => select(at)},
          nameText(at.name, 40)),
      " \u203a "
    ]));
  }

  function shareBar(node) {
    const share = shareOf(report, node);
    if (!isKnown(share))
      return null;
    const bar = make("span", {class: "fill-" + node.kind.key});
    bar.style.width = 100 * Math.min(1, share) + "%";
    return [
      make("div", {class: "whole", "aria-hidden": "true"}, bar),
      make("p", {class: "soft"},
          `${percentText(share)} of the ${report.main.hasIterations ? "iteration" : "run"}`)
    ];
  }

  function words(scope) {
    const rows = [];
    if (isKnown(scope.done_by))
      rows.push(["done by", nameText(pathText(report.nodeOf[0][scope.done_by]), 60)]);
    if (scope.shapes)
      rows.push(["shapes", nameText(scope.shapes, 120)]);
    if (scope.kernel)
      rows.push(["kernel", nameText(scope.kernel, 80)]);
    return rows;
  }

  function ofOne(node) {
    const scope = node.scope;
    const groups = DETAIL_GROUPS.map(([label, keys]) => [label, figuresOf(scope, keys)])
                       .filter(([, figures]) => figures.length > 0)
                       .map(([label, figures]) => [make("h3", {}, label),
                                pairs(figures.map(item => [item.label, item.text(scope)]))]);
    const told = words(scope);
    return [
      shareBar(node), told.length ? make("div", {class: "words"}, pairs(told)) : null,
      groups.length ? groups : make("p", {class: "soft"}, "It was never called.")
    ];
  }

  function ofTwo(node) {
    const [a, b] = node.sides;
    const rows = FIGURES.filter(item => (a && isKnown(a[item.key])) || (b && isKnown(b[item.key])));
    const lines = [pairs(
        [
          ["", "A", "B"],
          ...rows.map(item => [item.label, a ? item.text(a) : UNKNOWN, b ? item.text(b) : UNKNOWN])
        ],
        2)];
    if (isKnown(node.ratio))
      lines.unshift(pairs(
          [["change", node.change], ["interval %", node.interval], ["verdict", markWord(node)]]));
    else
      lines.unshift(make("p", {class: "soft"}, node.mark));
    if (node.was)
      lines.unshift(make("p", {}, "was ", nameText(node.was)));
    return lines;
  }

  function elsewhere(node) {
    return make("p", {class: "elsewhere"},
        openIn.map(
            ([key, label]) => make("button",
                {class: "plain small", type: "button", onclick: () => openIn.open(key, node)},
                label)));
  }

  function render() {
    const node = state.selected || report.root;
    const kind = report.comparison ? changeKind(node) : node.kind;
    fill(panel, {}, []).replaceChildren();
    fill(panel, {}, [
      make("button", {
        class: "plain small close",
        type: "button",
        "aria-label": "Close the pane of the selected module",
        title: "Close (i)",
        onclick: () => sidePane.toggle()
      },
          "\u00d7"),
      make("div", {class: "details"}, trail(node),
          make("h2", {}, make("span", {class: "swatch fill-" + kind.key}),
              nameText(node.name, 20000)),
          node.class ? make("p", {class: "class"}, nameText(node.class, 20000)) : null,
          node.isOutside ? make("p", {class: "soft"}, "Outside the iterations, once.") : null,
          report.comparison ? ofTwo(node) : ofOne(node), elsewhere(node))
    ]);
  }

  onChange(what => {
    if (what === "selected" || what === "theme")
      render();
  });
  render();
}
