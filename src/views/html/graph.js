/* html/graph.js - the model as a picture: modules that open and close, lines with
 * the shapes of what flows, coloured by what modules do or cost.
 *
 * wiring.js says what is connected, layers.js where it goes. Drawn as SVG, so that
 * boxes have names and can be walked with the keys; at most BOXES_MOST of them. */

const BOX_HEIGHT = 40, FRAME_PAD = 14, FRAME_HEAD = 26, BOXES_MOST = 700, BOXES_AT_FIRST = 44;

const GRAPH_COLOURS = [
  ["kind", "what it does"], ["time", "time"], ["memory", "bytes written"],
  ["bound", "what limits it"]
];

/* A trace may have 100 000 modules side by side. */
function tooManyToDraw() {
  const element = make("section", {},
      missing(`More than ${BOXES_MOST} modules are side by side in this run: too many to draw.`));
  return {key: "graph", label: "Graph", element, render() {}};
}

function graphView(report) {
  const wiring = wiringOf(report);
  if (wiring.root.children.filter(wiring.has).length > BOXES_MOST)
    return tooManyToDraw();
  const open = new Set([wiring.root]);
  const colour = make("select", {onchange: () => setColour(colour.value)},
      GRAPH_COLOURS.filter(([key]) => key !== "bound" || report.nodes.some(n => n.scope.bound))
          .map(([key, label]) => make("option", {value: key}, label)));
  const scene = draw("g");
  const svg = draw("svg", {
    class: "graph",
    role: "tree",
    "aria-label": "The model. Arrow keys move, Enter opens or closes a module."
  },
      draw("defs", {},
          draw("marker", {
            id: "arrow",
            viewBox: "0 0 8 8",
            refX: 7,
            refY: 4,
            markerWidth: 7,
            markerHeight: 7,
            orient: "auto-start-reverse"
          },
              draw("path", {d: "M0,1 L7,4 L0,7 z", class: "arrow"}))),
      scene);
  const legend = make("ul", {class: "legend"});
  const note = make("span", {class: "soft"});
  const element = make("section", {class: "column"},
      make("div", {class: "controls"}, make("label", {}, "Colour by", colour),
          make("div", {class: "segments", role: "group", "aria-label": "Modules"},
              make("button", {type: "button", onclick: openAll}, "Open all"),
              make("button", {type: "button", onclick: closeAll}, "Close all")),
          make("div", {class: "segments", role: "group", "aria-label": "Zoom"},
              ...[["+", "Zoom in", () => zoom(1.4)], ["\u2212", "Zoom out", () => zoom(1 / 1.4)],
                  ["Fit", "Show all", fit]]
                  .map(([text, label, act]) => make("button",
                           {type: "button", title: label, "aria-label": label, onclick: act},
                           text))),
          note),
      make("div", {class: "graph-frame"}, svg), legend);
  const view = {x: 0, y: 0, scale: 1};
  let placed = new Map(); /* node: {x, y, w, h, element}, of what is visible */
  let size = {w: 1, h: 1}, isBuilt = false, drag = null, focusedNode = null, heat = null;
  let shapes = []; /* texts, above all lines */

  /* ---- what is open ---- */

  function canOpen(node) {
    return node.children.some(wiring.has);
  }

  /* Without frames around a single box: conv in "Conv". */
  function isWrapper(node) {
    return !wiring.ends.has(node) && node.children.filter(wiring.has).length === 1;
  }

  /* What a closed module does, if it is only around one. */
  function kindOfBox(node) {
    let at = node;
    while (isWrapper(at))
      at = at.children.find(wiring.has);
    return canOpen(at) ? GROUP : at.kind;
  }

  function count() {
    let n = 0;
    const stack = [wiring.root];
    while (stack.length) {
      const node = stack.pop();
      n++;
      if (open.has(node))
        stack.push(...node.children.filter(wiring.has));
    }
    return n;
  }

  /* Level by level, as long as there are not more boxes than allowed. */
  function openUpTo(most) {
    let level = [wiring.root];
    while (level.length) {
      const next = level.flatMap(node => node.children.filter(wiring.has))
                       .filter(node => canOpen(node) && kindOfBox(node) === GROUP);
      next.forEach(node => open.add(node));
      if (count() > most) {
        next.forEach(node => open.delete(node));
        /* Those with most time, one by one. */
        next.sort((a, b) => b.width - a.width);
        for (const node of next.slice(0, most)) {
          open.add(node);
          if (count() > most)
            open.delete(node);
        }
        return;
      }
      level = next;
    }
  }

  function openAll() {
    openUpTo(BOXES_MOST);
    build();
    fit();
  }

  function closeAll() {
    open.clear();
    open.add(wiring.root);
    build();
    fit();
  }

  function toggle(node) {
    if (!canOpen(node) || node === wiring.root)
      return;
    const before = placed.get(node);
    if (open.has(node))
      open.delete(node);
    else
      open.add(node);
    if (count() > BOXES_MOST) {
      open.delete(node);
      speak(`at most ${BOXES_MOST} boxes are shown`);
    }
    build();
    const now = placed.get(node);
    if (before && now) { /* the module stays where it was */
      view.x += (before.x - now.x) * view.scale;
      view.y += (before.y - now.y) * view.scale;
    }
    place();
    focusOn(node);
    speak(`${shorten(node.name, 80)} ${open.has(node) ? "opened" : "closed"}`);
  }

  /* ---- layout ---- */

  function textWidth(text) {
    return 7.1 * Math.min(text.length, 30);
  }

  function measure(box) {
    if (box.kind === "in" || box.kind === "out") {
      const isEnd = box.isTop;
      box.w = isEnd ? 64 : 10;
      box.h = isEnd ? 24 : 4;
    } else if (!box.isOpen) {
      box.w = Math.max(92,
          (canOpen(box.node) ? 44 : 26) + textWidth(box.kind === "own" ? "itself" : box.node.name),
          16 + textWidth(underName(box)) * 0.86);
      box.h = BOX_HEIGHT;
    } else {
      for (const child of box.children) {
        child.isFirst = child.kind === "in";
        child.isLast = child.kind === "out";
        measure(child);
      }
      const inner = layOutLayers(box.children, box.links);
      const least = 40 + textWidth(box.node.name);
      box.shift = Math.max(0, (least - inner.w) / 2);
      box.w = Math.max(inner.w, least) + 2 * FRAME_PAD;
      box.h = inner.h + FRAME_HEAD + FRAME_PAD;
    }
  }

  function underName(box) {
    const node = box.node, cls = shorten(node.class || "", 18);
    const ms = box.kind === "own" ? node.scope.self_ms : node.scope.total_ms;
    return [cls, isKnown(ms) ? timeText(ms) : ""].filter(Boolean).join("  ");
  }

  function build() {
    const root = visibleBoxes(wiring, node => open.has(node));
    for (const port of root.children)
      port.isTop = port.kind === "in" || port.kind === "out";
    measure(root);
    size = {w: root.w, h: root.h};
    heat = newHeat();
    placed = new Map();
    scene.replaceChildren();
    shapes = [];
    drawBox(root, 0, 0);
    scene.append(...shapes);
    renderLegend();
    note.textContent = wiring.isGuess
        ? "This run does not say how modules are connected: they follow each other as they ran."
        : "";
  }

  /* ---- colours ---- */

  function valueOf(node) {
    if (colour.value === "time")
      return canOpen(node) ? node.scope.total_ms : node.scope.self_ms || node.scope.total_ms;
    return node.scope.write_bytes ?? node.scope.own_write_bytes ?? null;
  }

  /* The largest value of what is closed. */
  function newHeat() {
    const values = report.nodes
                       .filter(node => wiring.has(node) && !open.has(node) && node.parent &&
                               open.has(node.parent))
                       .map(valueOf)
                       .filter(isKnown);
    return {most: Math.max(0, ...values)};
  }

  function fillOf(node) {
    if (report.comparison)
      return `var(--fill-${changeKind(node).key})`;
    if (colour.value === "kind")
      return `var(--fill-${kindOfBox(node).key})`;
    if (colour.value === "bound")
      return node.scope.bound ? `var(--fill-bound-${node.scope.bound})` : "var(--fill-group)";
    const value = valueOf(node);
    if (!isKnown(value) || !(heat.most > 0))
      return "var(--fill-group)";
    const part = Math.round(100 * Math.sqrt(value / heat.most));
    return `color-mix(in srgb, var(--heat-high) ${part}%, var(--heat-low))`;
  }

  function setColour(which) {
    colour.value = which;
    remember({by: which === "kind" ? null : which});
    build();
    place();
  }

  function renderLegend() {
    const item = (fill, text) => {
      const swatch = make("span", {class: "swatch"});
      swatch.style.background = fill;
      return make("li", {}, swatch, text);
    };
    const visible = Array.from(placed.keys());
    if (colour.value === "kind" || report.comparison) {
      const kinds = new Map(visible.filter(node => !open.has(node))
                                .map(node => report.comparison ? changeKind(node) : kindOfBox(node))
                                .map(kind => [kind.key, kind]));
      legend.replaceChildren(
          ...Array.from(kinds.values(), kind => item(`var(--fill-${kind.key})`, kind.label)));
    } else if (colour.value === "bound") {
      const bounds = new Set(visible.map(node => node.scope.bound).filter(Boolean));
      legend.replaceChildren(
          ...Array.from(bounds, bound => item(`var(--fill-bound-${bound})`, `${bound}-bound`)));
    } else {
      const text = colour.value === "time" ? timeText : bytesText;
      legend.replaceChildren(
          item("var(--heat-low)", "0"), item("var(--heat-high)", text(heat.most)));
    }
  }

  /* ---- drawing ---- */

  function drawBox(box, x, y) {
    if (box.kind === "in" || box.kind === "out")
      return drawPort(box, x, y);
    const node = box.node;
    const isOwn = box.kind === "own", isChosen = node === state.selected && !isOwn;
    const group = draw("g", {
      class: (box.isOpen ? "frame" : "box") + (isChosen ? " chosen" : "") +
          (isDim(node) && !box.isOpen ? " dim" : ""),
      transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`,
      role: "treeitem",
      tabindex: -1,
      "aria-label": `${shorten(pathText(node), 120)}, ${timeText(node.scope.total_ms)}`,
      "aria-expanded": canOpen(node) && !isOwn ? String(box.isOpen) : null,
      "aria-selected": String(isChosen)
    });
    const outline = draw("rect", {width: box.w.toFixed(1), height: box.h.toFixed(1), rx: 5});
    group.append(outline);
    if (box.isOpen) {
      drawFrameHead(group, box);
    } else {
      outline.style.fill = isOwn ? "var(--fill-group)" : fillOf(node);
      drawBoxText(group, box, isOwn);
    }
    explain(group, () => graphTooltip(node));
    scene.append(group);
    if (!isOwn)
      placed.set(node, {x, y, w: box.w, h: box.h, element: group});
    if (!box.isOpen)
      return;
    const left = x + FRAME_PAD + box.shift, top = y + FRAME_HEAD;
    const told = new Set();
    for (const link of box.links)
      drawLink(link, left, top, told);
    for (const child of box.children)
      drawBox(child, left + child.x, top + child.y);
  }

  function graphTooltip(node) {
    const lines = nodeTooltip(node);
    if (node.scope.shapes)
      lines.push(make("div", {class: "soft"}, nameText(node.scope.shapes, 120)));
    return lines;
  }

  function drawFrameHead(group, box) {
    group.append(draw("text", {x: 24, y: 17, class: "name"}, isolated(shorten(box.node.name, 30))));
    if (box.node !== wiring.root)
      group.append(drawSign(box.node, 12, 12, false));
  }

  function drawBoxText(group, box, isOwn) {
    const name = isOwn ? "itself" : box.node.name;
    group.append(draw("text", {x: box.w / 2, y: 16, class: "name on", "text-anchor": "middle"},
                     isolated(shorten(name, 28))),
        draw("text", {x: box.w / 2, y: 32, class: "under on", "text-anchor": "middle"},
            isolated(underName(box))));
    if (!isOwn && canOpen(box.node))
      group.append(drawSign(box.node, box.w - 10, 10, true));
  }

  /* The sign that opens or closes a module. */
  function drawSign(node, x, y, isPlus) {
    return draw("g", {
      class: "sign",
      transform: `translate(${x},${y})`,
      onclick: event => {
        toggle(node);
        event.stopPropagation();
      }
    },
        draw("circle", {r: 7}),
        draw("path", {d: isPlus ? "M-3.5,0H3.5M0,-3.5V3.5" : "M-3.5,0H3.5"}));
  }

  function drawPort(box, x, y) {
    if (!box.isTop) {
      scene.append(draw("circle", {class: "port", cx: x + box.w / 2, cy: y + box.h / 2, r: 2.5}));
      return;
    }
    scene.append(draw("g", {class: "end", transform: `translate(${x},${y})`},
        draw("rect", {width: box.w, height: box.h, rx: 12}),
        draw("text", {x: box.w / 2, y: 16, "text-anchor": "middle"},
            box.kind === "in" ? "input" : "output")));
  }

  /* A smooth line, and the shape once below each box that it comes from. */
  function drawLink(link, left, top, told) {
    const points = link.points.map(([x, y]) => [left + x, top + y])
                       .filter(([x, y], i, all) => i === 0 || Math.abs(x - all[i - 1][0]) > 0.5 ||
                               Math.abs(y - all[i - 1][1]) > 0.5);
    let d = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
    for (let i = 1; i < points.length; i++) {
      const [x0, y0] = points[i - 1], [x, y] = points[i], middle = ((y0 + y) / 2).toFixed(1);
      d += Math.abs(x - x0) < 0.5 ? `L${x.toFixed(1)},${y.toFixed(1)}`
                                  : `C${x0.toFixed(1)},${middle} ${x.toFixed(1)},${middle} ` +
              `${x.toFixed(1)},${y.toFixed(1)}`;
    }
    const isBack = !link.places;
    scene.append(draw("path",
        {class: isBack || wiring.isGuess ? "link guess" : "link", d, "marker-end": "url(#arrow)"}));
    if (link.shape && !told.has(link.start) && link.start.kind !== "in" && !isBack) {
      told.add(link.start);
      shapes.push(draw("text", {class: "shape", x: points[0][0] + 5, y: points[0][1] + 13},
          isolated(shorten(link.shape, 24))));
    }
  }

  /* ---- moving ---- */

  function place() {
    scene.setAttribute("transform",
        `translate(${view.x.toFixed(1)},${view.y.toFixed(1)}) scale(${view.scale.toFixed(4)})`);
    svg.classList.toggle("far", view.scale < 0.45);
  }

  function room() {
    return {w: svg.parentElement.clientWidth || 600, h: svg.parentElement.clientHeight || 400};
  }

  /* As much as can be read: the whole width, from the top. */
  function fit() {
    const {w, h} = room();
    const whole = Math.min(w / (size.w + 24), h / (size.h + 24));
    view.scale = Math.min(1.2, Math.max(whole, Math.min(0.85, w / (size.w + 24))));
    view.x = (w - size.w * view.scale) / 2;
    view.y = size.h * view.scale < h - 24 ? (h - size.h * view.scale) / 2 : 12;
    place();
  }

  function zoom(factor, x = room().w / 2, y = room().h / 2) {
    const scale = Math.max(0.03, Math.min(3, view.scale * factor));
    view.x = x - (x - view.x) * scale / view.scale;
    view.y = y - (y - view.y) * scale / view.scale;
    view.scale = scale;
    place();
  }

  function centre(node) {
    const at = placed.get(node), {w, h} = room();
    if (!at)
      return;
    const left = at.x * view.scale + view.x, top = at.y * view.scale + view.y;
    if (left < 0 || top < 0 || left + at.w * view.scale > w || top + at.h * view.scale > h) {
      view.x = w / 2 - (at.x + at.w / 2) * view.scale;
      view.y = h / 2 - (at.y + Math.min(at.h, 200) / 2) * view.scale;
      place();
    }
  }

  /* The module itself if it is connected, or the one that did its work, or the
   * nearest around it. */
  function shownFor(node) {
    if (isKnown(node.scope.done_by) && !wiring.ends.has(node))
      return report.nodeOf[report.main.side][node.scope.done_by];
    let at = node;
    while (at && !wiring.has(at))
      at = at.parent;
    return at || wiring.root;
  }

  function reveal(node) {
    const shown = shownFor(node);
    const chain = chainBelow(wiring.root, shown).slice(0, -1);
    if (chain.some(at => !open.has(at))) {
      chain.forEach(at => open.add(at));
      build();
    }
    if (view.scale < 0.5)
      view.scale = 0.8;
    markChosen();
    centre(shown);
    place();
  }

  function markChosen() {
    let shown = state.selected ? shownFor(state.selected) : null;
    while (shown && !placed.has(shown)) /* in a closed module */
      shown = shown.parent;
    for (const [node, at] of placed) {
      at.element.classList.toggle("chosen", node === shown);
      at.element.classList.toggle("dim", isDim(node) && !open.has(node));
      at.element.setAttribute("aria-selected", String(node === shown));
      at.element.setAttribute("tabindex", node === (shown || wiring.root) ? 0 : -1);
    }
  }

  /* ---- pointer and keys ---- */

  function nodeUnder(event) {
    const group = event.target.closest("g.box, g.frame");
    if (!group)
      return null;
    for (const [node, at] of placed)
      if (at.element === group)
        return node;
    return null;
  }

  function focusOn(node) {
    const at = placed.get(node);
    if (!at)
      return;
    focusedNode = node;
    at.element.setAttribute("tabindex", 0);
    at.element.focus({preventScroll: true});
    centre(node);
  }

  /* The nearest box in a direction. */
  function neighbour(node, dx, dy) {
    const from = placed.get(node);
    const middle = at => [at.x + at.w / 2, at.y + Math.min(at.h, BOX_HEIGHT) / 2];
    const [x, y] = middle(from);
    let best = null, least = Infinity;
    for (const [other, at] of placed) {
      if (other === node || open.has(other))
        continue;
      const [ox, oy] = middle(at), along = (ox - x) * dx + (oy - y) * dy;
      const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      const distance = along + 3 * aside;
      if (along > 4 && distance < least) {
        least = distance;
        best = other;
      }
    }
    return best;
  }

  svg.addEventListener("keydown", event => {
    const node = focusedNode && placed.has(focusedNode) ? focusedNode : wiring.root;
    const steps = {ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1,
                     0]}[event.key];
    const act = {
      Enter: () => toggle(node),
      "+": () => zoom(1.4),
      "=": () => zoom(1.4),
      "-": () => zoom(1 / 1.4),
      0: fit,
    }[event.key];
    if (steps) {
      const next = neighbour(node, steps[0], steps[1]);
      if (next) {
        select(next);
        focusOn(next);
      }
    } else if (act) {
      act();
    } else {
      return;
    }
    event.preventDefault();
  });
  svg.addEventListener("focusin", event => {
    focusedNode = nodeUnder(event) || focusedNode;
  });
  svg.addEventListener("click", event => {
    const node = drag && drag.moved ? null : nodeUnder(event);
    if (node) {
      select(node);
      focusedNode = node;
    }
  });
  svg.addEventListener("dblclick", event => {
    const node = nodeUnder(event);
    if (node)
      toggle(node);
  });
  svg.addEventListener("pointerdown", event => {
    drag = {x: event.clientX, y: event.clientY, left: view.x, top: view.y, moved: false, on: true};
  });
  svg.addEventListener("pointermove", event => {
    if (!drag || !drag.on)
      return;
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4)
      return;
    if (!drag.moved)
      svg.setPointerCapture(event.pointerId);
    drag.moved = true;
    tooltip.hide();
    view.x = drag.left + dx;
    view.y = drag.top + dy;
    place();
  });
  for (const end of ["pointerup", "pointercancel"])
    svg.addEventListener(end, () => {
      if (drag)
        drag.on = false;
    });
  svg.addEventListener("wheel", event => {
    const box = svg.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      zoom(Math.exp(-Math.max(-80, Math.min(80, event.deltaY)) / 150), event.clientX - box.left,
          event.clientY - box.top);
    } else {
      view.x -= event.shiftKey ? event.deltaY : event.deltaX;
      view.y -= event.shiftKey ? 0 : event.deltaY;
      place();
    }
    event.preventDefault();
  }, {passive: false});
  onChange(what => {
    if ((what === "selected" || what === "matches") && isBuilt && !element.hidden)
      markChosen();
  });

  function buildOnce() {
    if (isBuilt)
      return;
    isBuilt = true;
    if (Array.from(colour.options).some(option => option.value === remembered("by")))
      colour.value = remembered("by");
    openUpTo(BOXES_AT_FIRST);
    build();
    markChosen();
    fit();
  }

  return {
    key: "graph",
    label: "Graph",
    element,
    render() {
      buildOnce();
      if (state.isPaper) {
        svg.setAttribute("viewBox", `0 0 ${size.w} ${size.h}`);
        svg.style.height = Math.min(1000, size.h * PAPER_WIDTH / size.w) + "px";
        scene.removeAttribute("transform");
      } else {
        svg.removeAttribute("viewBox");
        svg.style.height = "";
        place();
      }
    },
    reveal(node) {
      buildOnce();
      reveal(node);
    },
    keep() {
      return isBuilt ? {open: Array.from(open, pathText), view: {...view}} : null;
    },
    restore(kept) {
      buildOnce();
      open.clear();
      open.add(wiring.root);
      for (const path of kept.open) {
        const node = nodeByPath(path);
        if (node && wiring.has(node) && canOpen(node))
          open.add(node);
      }
      build();
      markChosen();
      Object.assign(view, kept.view);
      place();
    }
  };
}
