/* html/details.js - everything about the selected module. */

function detailsPanel(report) {
  const panel = make("aside", {class: "details", "aria-label": "The selected module"});

  function path(node) {
    return pathOf(node).map((at, i) => [i ? "." : null, nameText(at.name, 200)]).flat();
  }

  function ofOne(node) {
    const scope = node.scope;
    const rows = figuresOf(scope).map(item => [item.label, item.text(scope)]);
    if (isKnown(scope.done_by))
      rows.unshift(["done by", nameText(pathText(report.nodeOf[0][scope.done_by]), 60)]);
    return rows.length ? [pairs(rows)] : [make("p", {class: "soft"}, "It was never called.")];
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
      lines.unshift(pairs([
        ["change", changeText(node.ratio)],
        ["interval", `${changeText(node.low)} to ${changeText(node.high)}`],
        ["verdict", node.mark === "=" ? "within noise" : node.mark]
      ]));
    else
      lines.unshift(make("p", {class: "soft"}, node.mark));
    if (node.was)
      lines.unshift(make("p", {}, "was ", nameText(node.was)));
    return lines;
  }

  function render() {
    const node = state.selected || report.root;
    panel.replaceChildren(make("h2", {}, nameText(node.name, 20000)),
        make("p", {class: "path"}, node.class ? [nameText(node.class, 20000), make("br")] : null,
            node.depth > 1 ? path(node) : null),
        ...(node.isOutside ? [make("p", {class: "soft"}, "Outside the iterations, once.")] : []),
        ...(report.comparison ? ofTwo(node) : ofOne(node)));
  }

  onChange(what => {
    if (what === "selected")
      render();
  });
  render();
  return panel;
}
