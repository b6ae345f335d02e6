/* html/icicle.js - a tree drawn as one row per level, each node as wide as its
 * weight.
 *
 * The part of a node that its children do not cover is its own. A click zooms
 * into a node, a click above it zooms out again. Nodes have name, parent,
 * children, width and scope; those of flame.js's merged trees stand for several
 * modules. */

const LEVELS_SHOWN = 64, LEVELS_ABOVE = 4, ROW_PIXELS = 22, PHONE_ROW_PIXELS = 28,
      TALL_ROW_PIXELS = 30, CONTROLS_PIXELS = 150, LABEL_PIXELS = 42;

/* options: label; isUp: the root is the lowest row; isAlone: nothing else is in the
 * view; textOf(node), kindOf(node),
 * lines(node) for the tooltip; choose(node); isChosen(node); isFaint(node);
 * onZoom(). */
function newIcicle(options) {
  const frame = make("div",
      {class: options.isUp ? "icicle up" : "icicle", role: "tree", "aria-label": options.label});
  const cells = new Map();                   /* by node */
  let root = null, zoomed = null, at = null; /* at: the node that has the focus */

  function newCell(node) {
    const cell = make("div", {
      class: "cell",
      role: "treeitem",
      tabindex: -1,
      "aria-level": node.depth + 1,
      "aria-label": options.textOf(node)
    });
    explain(cell, () => options.lines(node));
    cell.addEventListener("click", () => {
      choose(node);
      zoomTo(node.children.length && node.width > 0 ? node : zoomed);
      focusOn(node);
    });
    return cell;
  }

  function choose(node) {
    at = node;
    options.choose(node);
  }

  /* The nodes to draw: those above the zoomed one at full width, then those below
   * it as far as they are visible. */
  function place(pixels) {
    const placed = [];
    const above = [];
    for (let node = zoomed.parent; node && above.length < LEVELS_ABOVE; node = node.parent)
      above.unshift(node);
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
    cell.className = `cell fill-${options.kindOf(node).key}` + (item.isAbove ? " above" : "") +
        (width < 4 ? " thin" : "") + (width < LABEL_PIXELS ? " narrow" : "") +
        (options.isFaint(node) ? " dim" : "");
    cell.setAttribute("aria-selected", String(options.isChosen(node)));
    cell.tabIndex = node === focused() ? 0 : -1;
    cell.style.left = 100 * item.left + "%";
    cell.style.width = 100 * item.width + "%";
    cell.style[options.isUp ? "bottom" : "top"] = `calc(${item.row} * var(--row))`;
    const texts = width < LABEL_PIXELS ? [] : [nameText(node.name, 60)];
    if (width > 40 + 8 * Math.min(node.name.length, 60) + 60)
      texts.unshift(make("span", {class: "time"}, options.figureOf(node)));
    cell.replaceChildren(...texts);
  }

  /* The node that the tab key leads to. */
  function focused() {
    if (at && cells.has(at))
      return at;
    for (const node of cells.keys())
      if (options.isChosen(node))
        return node;
    return zoomed;
  }

  /* Few levels are taller, if the view is theirs. */
  function rowPixels(levels) {
    if (innerWidth <= 704)
      return PHONE_ROW_PIXELS;
    const room = byId("views").clientHeight - CONTROLS_PIXELS;
    return options.isAlone && levels * TALL_ROW_PIXELS <= room ? TALL_ROW_PIXELS : ROW_PIXELS;
  }

  function render() {
    if (!root)
      return;
    const pixels = widthOf(frame), placed = place(pixels);
    const levels = placed.reduce((most, item) => Math.max(most, item.row), 0) + 1;
    const row = rowPixels(levels);
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
    frame.style.setProperty("--row", row + "px");
    frame.style.height = `${row * levels + 2}px`;
    if (options.onRender)
      options.onRender(placed.filter(item => !item.isAbove).map(item => item.node));
  }

  function zoomTo(node) {
    zoomed = node;
    render();
    if (options.onZoom)
      options.onZoom(zoomed);
  }

  function focusOn(node) {
    render();
    const cell = cells.get(node);
    if (cell) {
      cell.focus({preventScroll: true});
      cell.scrollIntoView({block: "nearest"});
    }
  }

  /* Makes a node visible. */
  function reveal(node) {
    at = node;
    if (!cells.has(node) && node.parent)
      zoomTo(node.parent.width > 0 ? node.parent : root);
    render();
    const cell = cells.get(node);
    if (cell)
      cell.scrollIntoView({block: "nearest"});
  }

  function sibling(node, step) {
    if (!node.parent)
      return null;
    const all = node.parent.children.filter(child => cells.has(child));
    return all[all.indexOf(node) + step] || null;
  }

  frame.addEventListener("keydown", event => {
    const node = focused();
    const down = () => node.children.find(child => cells.has(child)) || null;
    const up = () => node.parent && cells.has(node.parent) ? node.parent : null;
    const moves = {
      ArrowDown: options.isUp ? up : down,
      ArrowUp: options.isUp ? down : up,
      ArrowLeft: () => sibling(node, -1),
      ArrowRight: () => sibling(node, 1),
      Home: () => root,
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
        choose(next);
        focusOn(next);
      }
    } else {
      return;
    }
    event.preventDefault();
  });

  return {
    element: frame,
    render,
    reveal,
    zoomTo,
    zoomed: () => zoomed,
    has: node => cells.has(node),
    setRoot(node) {
      for (const cell of cells.values())
        cell.remove();
      cells.clear();
      root = zoomed = node;
      at = null;
    }
  };
}
