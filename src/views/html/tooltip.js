/* html/tooltip.js - a few lines about what is under the pointer. */

const tooltip = {
  show(event, ...children) {
    const box = byId("tooltip");
    box.replaceChildren(...children);
    box.hidden = false;
    this.place(event.clientX, event.clientY);
  },

  /* Next to the element that has the focus. */
  showAt(element, ...children) {
    const place = element.getBoundingClientRect();
    this.show({clientX: place.left + place.width / 2, clientY: place.bottom}, ...children);
  },

  place(x, y) {
    const box = byId("tooltip"), gap = 14;
    const size = box.getBoundingClientRect();
    const left = x + gap + size.width > innerWidth ? x - gap - size.width : x + gap;
    const top = y + gap + size.height > innerHeight ? y - gap - size.height : y + gap;
    box.style.left = Math.max(4, left) + "px";
    box.style.top = Math.max(4, top) + "px";
  },

  hide() {
    byId("tooltip").hidden = true;
  },
};

function tooltipHead(text) {
  return make("div", {class: "head"}, nameText(text, 120));
}

/* A module: its name, its class, and some figures. */
function nodeTooltip(node,
    keys = ["total_ms", "self_ms", "share", "calls", "median_ms", "gflops", "bound", "saved_ms"]) {
  const lines = [tooltipHead(node.name)];
  if (node.class)
    lines.push(make("div", {class: "soft"}, nameText(node.class, 120)));
  if (node.sides.length === 1) {
    lines.push(
        pairs(figuresOf(node.scope, keys).map(figure => [figure.label, figure.text(node.scope)])));
    return lines;
  }
  lines.push(pairs([
    ["A", node.sides[0] ? timeText(node.sides[0].total_ms) : "missing"],
    ["B", node.sides[1] ? timeText(node.sides[1].total_ms) : "missing"],
    ["change", isKnown(node.ratio) ? changeText(node.ratio) : UNKNOWN],
    ["verdict", markWord(node)],
  ]));
  return lines;
}

/* Shows a tooltip over an element as long as the pointer or focus is there. */
function explain(element, lines) {
  element.addEventListener("pointermove", event => tooltip.show(event, ...lines()));
  element.addEventListener("pointerleave", () => tooltip.hide());
  element.addEventListener("focus", () => {
    if (element.matches(":focus-visible"))
      tooltip.showAt(element, ...lines());
  });
  element.addEventListener("blur", () => tooltip.hide());
}
