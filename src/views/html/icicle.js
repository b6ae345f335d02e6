/* html/icicle.js - the tree: one row per level, modules as wide as their time.
 *
 * The part of a module that its children do not cover is its own time. A click
 * zooms into a module, a click above it zooms out again. */

const LEVELS_SHOWN = 48, LEVELS_ABOVE = 4;

function icicleView(report) {
  const frame = make("div", {
    class: "icicle",
    role: "tree",
    "aria-label": "Modules by time. Arrow keys move, Enter zooms in, Escape zooms out."
  });
  const trail = make("nav", {class: "trail", "aria-label": "Zoomed into"});
  const legend = make("ul", {class: "legend"});
  const cells = new Map(); /* by node */
  let zoomed = report.root;

  const element = make("section", {},
      make("div", {class: "tree"}, make("div", {}, trail, frame, legend), detailsPanel(report)),
      report.main.threads_add_up
          ? make("p", {class: "note"},
                "Threads ran in parallel: the times of modules add up to more than the whole.")
          : null,
      make("p", {class: "note keys"}, make("kbd", {}, "\u2190 \u2191 \u2192 \u2193"), " move, ",
          make("kbd", {}, "Enter"), " zoom in, ", make("kbd", {}, "Esc"), " zoom out, ",
          make("kbd", {}, "/"), " search, then ", make("kbd", {}, "Enter"), " for the next one"));

  function kindOfCell(node) {
    return report.comparison ? changeKind(node) : node.kind;
  }

  function labelOf(node) {
    const share = shareOf(report, node);
    return `${shorten(node.name, 200)}, ${timeText(node.scope.total_ms)}` +
        (isKnown(share) ? `, ${percentText(share)}` : "") +
        (report.comparison && isKnown(node.ratio) ? `, ${changeText(node.ratio)}` : "");
  }

  function newCell(node) {
    const cell = make("div", {
      class: "cell",
      role: "treeitem",
      tabindex: -1,
      "aria-level": node.depth + 1,
      "aria-label": labelOf(node)
    });
    explain(cell, () => nodeTooltip(node));
    cell.addEventListener("click", () => {
      select(node);
      zoomTo(node.children.length && node.width > 0 ? node : zoomed);
      focusOn(node);
    });
    return cell;
  }

  /* The nodes to draw: those above the zoomed one at full width, then those below
   * it as far as they are visible. */
  function place(pixels) {
    const placed = [];
    const above = [];
    for (let at = zoomed.parent; at && above.length < LEVELS_ABOVE; at = at.parent)
      above.unshift(at);
    above.forEach((node, i) => placed.push({node, left: 0, width: 1, row: i, isAbove: true}));
    const stack = [{node: zoomed, left: 0, width: 1, row: above.length}];
    while (stack.length) {
      const item = stack.pop();
      placed.push(item);
      if (item.row - above.length >= LEVELS_SHOWN || !(item.node.width > 0))
        continue;
      let left = item.left;
      for (const child of item.node.children) {
        const width = item.width * child.width / item.node.width;
        if (width * pixels >= 0.8)
          stack.push({node: child, left, width, row: item.row + 1});
        left += width;
      }
    }
    return placed;
  }

  function fillCell(cell, item, pixels) {
    const node = item.node, width = item.width * pixels;
    cell.className = `cell fill-${kindOfCell(node).key}` + (item.isAbove ? " above" : "") +
        (width < 30 ? " narrow" : "") + (isDim(node) ? " dim" : "");
    cell.setAttribute("aria-selected", String(node === state.selected));
    cell.tabIndex = node === focused() ? 0 : -1;
    cell.style.left = 100 * item.left + "%";
    cell.style.width = 100 * item.width + "%";
    cell.style.top = `calc(${item.row} * var(--row))`;
    const texts = width < 30 ? [] : [nameText(node.name, 60)];
    if (width > 40 + 8 * Math.min(node.name.length, 60) + 60)
      texts.unshift(make("span", {class: "time"},
          report.comparison && isKnown(node.ratio) ? changeText(node.ratio)
                                                   : timeText(node.scope.total_ms)));
    cell.replaceChildren(...texts);
  }

  /* The node that the tab key leads to. */
  function focused() {
    return cells.has(state.selected) ? state.selected : zoomed;
  }

  function render() {
    const pixels = widthOf(frame);
    const rowPixels = innerWidth <= 704 ? 28.5 : 26;
    const placed = place(pixels);
    const kept = new Set(placed.map(item => item.node));
    for (const [node, cell] of cells)
      if (!kept.has(node)) {
        cell.remove();
        cells.delete(node);
      }
    for (const item of placed)
      if (!cells.has(item.node)) {
        const cell = newCell(item.node);
        cells.set(item.node, cell);
        frame.append(cell);
      }
    for (const item of placed)
      fillCell(cells.get(item.node), item, pixels);
    frame.style.setProperty("--row", rowPixels + "px");
    frame.style.height =
        `${rowPixels * (placed.reduce((most, item) => Math.max(most, item.row), 0) + 1) + 2}px`;
    renderTrail();
    renderLegend(placed);
  }

  /* The path to the zoomed module; only both ends of a long one. */
  function renderTrail() {
    const path = zoomed.parent ? [report.root, ...pathOf(zoomed)] : [];
    const shown = path.length > 9 ? [...path.slice(0, 4), null, ...path.slice(-4)] : path;
    trail.hidden = path.length === 0;
    trail.replaceChildren(...shown.map(node => make("span", {}, step(node))));
  }

  function step(node) {
    if (node === null || node === zoomed)
      return node ? nameText(node.name, 40) : "\u2026";
    return make("button", {class: "link", type: "button", onclick: () => zoomTo(node)},
        nameText(node.name, 40));
  }

  /* What the colours mean, with the time of the modules of that kind. */
  function renderLegend(placed) {
    const kinds = new Map();
    for (const {node, isAbove} of placed) {
      const kind = kindOfCell(node);
      if (!isAbove && kind !== GROUP)
        kinds.set(kind.label, kind);
    }
    const time = kind => sum(report.nodes.filter(node => node.kind === kind && !node.isOutside)
                                 .map(node => node.scope.self_ms));
    legend.replaceChildren(
        ...Array.from(kinds.values(), kind => ({kind, ms: time(kind)}))
            .sort((a, b) => b.ms - a.ms)
            .map(({kind, ms}) => make("li", {}, make("span", {class: "swatch fill-" + kind.key}),
                     kind.label, report.comparison ? null : ` ${timeText(ms)}`)));
  }

  function zoomTo(node) {
    zoomed = node;
    render();
  }

  function focusOn(node) {
    render();
    const cell = cells.get(node);
    if (cell) {
      cell.focus({preventScroll: true});
      cell.scrollIntoView({block: "nearest"});
    }
  }

  /* Selects a node and makes it visible, from wherever it was chosen. */
  function reveal(node) {
    select(node);
    if (!cells.has(node) && node.parent)
      zoomed = node.parent.width > 0 ? node.parent : report.root;
    render();
  }

  function sibling(node, step) {
    if (!node.parent)
      return null;
    const all = node.parent.children.filter(child => cells.has(child));
    return all[all.indexOf(node) + step] || null;
  }

  frame.addEventListener("keydown", event => {
    const node = focused();
    const moves = {
      ArrowDown: () => node.children.find(child => cells.has(child)) || null,
      ArrowUp: () => node.parent,
      ArrowLeft: () => sibling(node, -1),
      ArrowRight: () => sibling(node, 1),
      Home: () => report.root,
    };
    if (event.key === "Enter" || event.key === " ") {
      zoomTo(node.children.length && node.width > 0 ? node : zoomed);
      focusOn(node);
    } else if (event.key === "Escape" && zoomed.parent) {
      zoomTo(zoomed.parent);
      focusOn(focused());
    } else if (moves[event.key]) {
      const next = moves[event.key]();
      if (next) {
        select(next);
        focusOn(next);
      }
    } else {
      return;
    }
    event.preventDefault();
  });
  onChange(what => {
    if ((what === "selected" || what === "matches") && frame.isConnected && !element.hidden)
      render();
  });
  return {key: "tree", label: "Tree", element, render, reveal};
}
