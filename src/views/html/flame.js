/* html/flame.js - where the time of an iteration goes, by module.
 *
 * In time order: the modules as they ran, each with its mean time. Left-heavy:
 * siblings of a class are one, the heaviest to the left. Sandwich: one class,
 * with the modules that call it above and what it calls below. On the device: the
 * modules as they ran, each with the time of what it launched. */

/* Classes of traces that say nothing about what was done. */
const EMPTY_CLASSES = /^(kernel|operator|annotation|function|memcpy|memset)$/i;

/* What merged modules have in common. */
function mergeKey(node) {
  return node.class && !EMPTY_CLASSES.test(node.class) ? node.class : node.name;
}

function newMerged(name, parent, members) {
  const total = sum(members.map(node => node.width));
  return {
    name: members.length > 1 ? `${name} \u00d7${members.length}` : members[0].name,
    class: name,
    parent,
    depth: parent ? parent.depth + 1 : 0,
    children: [],
    members,
    width: total,
    scope: {
      total_ms: total,
      self_ms: sum(members.map(node => node.scope.self_ms)),
      calls: sum(members.map(node => node.scope.calls))
    }
  };
}

function groupedBy(nodes, keyOf) {
  const groups = new Map();
  for (const node of nodes) {
    const key = keyOf(node);
    if (!groups.has(key))
      groups.set(key, []);
    groups.get(key).push(node);
  }
  return groups;
}

/* The children of several modules, merged by class, the heaviest first. */
function mergeBelow(merged) {
  const stack = [merged];
  while (stack.length) {
    const item = stack.pop();
    const inside = item.members.flatMap(node => node.children.filter(child => child.width > 0));
    item.children =
        Array.from(groupedBy(inside, mergeKey), ([key, members]) => newMerged(key, item, members));
    item.children.sort((a, b) => b.width - a.width);
    stack.push(...item.children);
  }
  return merged;
}

/* The modules for which a device worked, each as wide as it worked. */
function deviceTree(report) {
  const copyOf = (node, parent) => ({
    name: node.name,
    class: node.class,
    parent,
    depth: node.depth,
    children: [],
    members: [node],
    width: node.scope.device_ms,
    scope: {total_ms: node.scope.device_ms, self_ms: deviceTime(node), calls: node.scope.calls}
  });
  const root = copyOf(report.root, null), stack = [root];
  while (stack.length) {
    const item = stack.pop();
    item.children = item.members[0]
                        .children.filter(child => child.scope.device_ms > 0)
                        .map(child => copyOf(child, item));
    stack.push(...item.children);
  }
  return root;
}

/* The modules of a class, without those inside another of it. */
function topmostOf(report, key) {
  return report.nodes.filter(node => {
    if (mergeKey(node) !== key || !(node.width > 0))
      return false;
    for (let at = node.parent; at; at = at.parent)
      if (mergeKey(at) === key)
        return false;
    return true;
  });
}

/* Callers: the parents by class, then theirs. A caller weighs what it spends in
 * the class. members are the callers, spent the called modules. */
function callersOf(report, key) {
  const called = topmostOf(report, key);
  const root = newMerged(key, null, called);
  const stack = [{item: root, pairs: called.map(node => ({at: node, from: node}))}];
  while (stack.length) {
    const {item, pairs: all} = stack.pop();
    const above = all.filter(({at}) => at.parent).map(({at, from}) => ({at: at.parent, from}));
    for (const [name, group] of groupedBy(above, ({at}) => mergeKey(at))) {
      const members = Array.from(new Set(group.map(({at}) => at)));
      const child = newMerged(name, item, members);
      child.width = sum(group.map(({from}) => from.width));
      child.scope = {total_ms: child.width, calls: sum(group.map(({from}) => from.scope.calls))};
      item.children.push(child);
      stack.push({item: child, pairs: group});
    }
    item.children.sort((a, b) => b.width - a.width);
  }
  return root;
}

const FLAME_MODES = [
  ["order", "Time order", "Modules in the order they ran"],
  ["heavy", "Left-heavy", "Siblings of a class are one, the heaviest first"],
  ["sandwich", "Sandwich", "A class, with its callers and what it calls"],
  ["device", "On the device", "Modules by the time that a device worked for them"]
];

function flameView(report) {
  const trail = make("nav", {class: "trail", "aria-label": "Zoomed into"});
  const legend = make("ul", {class: "legend"});
  const modes = FLAME_MODES.filter(([key]) => key !== "device" || hasDeviceTimes(report));
  const buttons = new Map(modes.map(([
    key, label, hint
  ]) => [key, make("button", {type: "button", title: hint, onclick: () => setMode(key)}, label)]));
  const isMerged = node => Boolean(node.members);
  let mode = "order", chosenClass = null;

  const common = {
    textOf,
    kindOf: node => {
      const one = isMerged(node) ? node.members[0] : node;
      return report.comparison && !isMerged(node) ? changeKind(one) : one.kind;
    },
    figureOf: node => report.comparison && isKnown(node.ratio) ? changeText(node.ratio)
                                                               : timeText(node.scope.total_ms),
    lines: node => isMerged(node) ? mergedLines(node) : nodeTooltip(node),
    choose: node => select(isMerged(node) ? heaviest(node.members) : node),
    isChosen: node =>
        isMerged(node) ? node.members.includes(state.selected) : node === state.selected,
    isFaint: node => isMerged(node) ? node.members.every(isDim) : isDim(node),
  };
  const keysHint = " Arrow keys move, Enter zooms in, Escape zooms out.";
  const main = newIcicle({
    ...common,
    label: "Modules by time." + keysHint,
    isAlone: true,
    onZoom: renderTrail,
    onRender: showLegend
  });
  const callers = newIcicle({...common, label: "Callers of the class." + keysHint, isUp: true});
  const callees = newIcicle({...common, label: "What the class calls." + keysHint});
  const classes = newGrid({
    label: "Classes",
    sort: 1,
    columns: [
      {label: "class", value: row => row.name, cell: row => nameText(row.name, 40)},
      number("total ms", row => row.total_ms), number("self ms", row => row.self_ms)
    ],
    onChoose: row => {
      chosenClass = row.name;
      remember({cls: row.name.length <= KEY_MOST ? row.name : null});
      showClass();
    }
  });
  const single = make("div", {class: "scroll"}, main.element,
      report.main.threads_add_up
          ? make("p", {class: "note"},
                "Threads ran in parallel: the times of modules add up to more than the whole.")
          : null);
  const double = make("div", {class: "sandwich", hidden: true},
      make("div", {class: "scroll"}, classes.element),
      make("div", {class: "scroll"}, make("h2", {}, "Callers"), callers.element,
          make("h2", {}, "Calls"), callees.element));
  const element = make("section", {class: "column"},
      make("div", {class: "controls"},
          make("div", {class: "segments", role: "group", "aria-label": "Order"},
              Array.from(buttons.values())),
          trail),
      single, double, legend);

  function heaviest(nodes) {
    return nodes.reduce((best, node) => node.width > best.width ? node : best);
  }

  function textOf(node) {
    const share = isMerged(node) ? null : shareOf(report, node);
    return `${shorten(node.name, 200)}, ${timeText(node.scope.total_ms)}` +
        (isKnown(share) ? `, ${percentText(share)}` : "") +
        (report.comparison && isKnown(node.ratio) ? `, ${changeText(node.ratio)}` : "");
  }

  function mergedLines(node) {
    if (mode === "device")
      return nodeTooltip(node.members[0]);
    return [
      tooltipHead(node.class), pairs([
        ["modules", grouped(node.members.length)], ["total", timeText(node.scope.total_ms)],
        ["share", percentText(node.scope.total_ms / report.main.whole)],
        ...(isKnown(node.scope.self_ms) ? [["self", timeText(node.scope.self_ms)]] : []),
        ["calls", plainNumber(node.scope.calls)]
      ])
    ];
  }

  /* ---- modes ---- */

  const makers = {
    order: () => report.root,
    heavy: () => mergeBelow(newMerged(mergeKey(report.root), null, [report.root])),
    device: () => deviceTree(report)
  };
  const trees = new Map(); /* made when first shown */
  function treeOf(which) {
    if (!trees.has(which))
      trees.set(which, makers[which]());
    return trees.get(which);
  }

  function setMode(which) {
    mode = which;
    for (const [key, button] of buttons)
      button.setAttribute("aria-pressed", String(key === which));
    remember({flame: which === "order" ? null : which});
    single.hidden = which === "sandwich";
    double.hidden = which !== "sandwich";
    trail.hidden = legend.hidden = which === "sandwich";
    if (which === "sandwich")
      startSandwich();
    else
      main.setRoot(treeOf(which));
    renderView();
  }

  function startSandwich() {
    const rows = Array.from(
        groupedBy(report.nodes.filter(node => node.width > 0), mergeKey), ([name, nodes]) => ({
          name,
          total_ms: sum(topmostOf(report, name).map(node => node.width)),
          self_ms: sum(nodes.map(node => node.scope.self_ms))
        }));
    const wanted = state.selected ? mergeKey(state.selected) : remembered("cls");
    if (!chosenClass || wanted)
      chosenClass = rows.some(row => row.name === wanted)
          ? wanted
          : rows.reduce((best, row) => row.self_ms > best.self_ms ? row : best).name;
    classes.chosen = rows.find(row => row.name === chosenClass) || null;
    classes.setRows(rows);
    showClass();
  }

  function showClass() {
    callers.setRoot(callersOf(report, chosenClass));
    callees.setRoot(mergeBelow(newMerged(chosenClass, null, topmostOf(report, chosenClass))));
    callers.render();
    callees.render();
  }

  function renderView() {
    if (mode === "sandwich") {
      callers.render();
      callees.render();
    } else {
      main.render();
      renderTrail();
    }
  }

  /* ---- the trail and the legend ---- */

  /* The path to the zoomed module; only both ends of a long one. */
  function renderTrail() {
    const path = [];
    for (let node = main.zoomed(); node && node.parent; node = node.parent)
      path.unshift(node);
    if (path.length)
      path.unshift(treeOf(mode));
    const shown = path.length > 9 ? [...path.slice(0, 4), null, ...path.slice(-4)] : path;
    trail.replaceChildren(...shown.map(node => make("span", {}, trailStep(node))));
    remember({zoom: mode === "order" && path.length ? nodeKey(main.zoomed()) : null});
  }

  function trailStep(node) {
    if (node === null || node === main.zoomed())
      return node ? nameText(node.name, 40) : "\u2026";
    return make("button", {class: "link", type: "button", onclick: () => main.zoomTo(node)},
        nameText(node.name, 40));
  }

  /* What the colours mean, with the time of the modules of that kind that are
   * below the zoomed one. */
  function showLegend(shown) {
    const times = new Map();
    for (const node of shown) {
      const kind = common.kindOf(node);
      if (kind !== GROUP)
        times.set(
            kind.label, {kind, ms: (times.get(kind.label)?.ms || 0) + (node.scope.self_ms || 0)});
    }
    legend.replaceChildren(
        ...Array.from(times.values())
            .sort((a, b) => b.ms - a.ms)
            .map(({kind, ms}) => make("li", {}, make("span", {class: "swatch fill-" + kind.key}),
                     kind.label, report.comparison ? null : ` ${timeText(ms)}`)));
  }

  onChange(what => {
    if ((what === "selected" || what === "matches") && !element.hidden)
      renderView();
  });

  let isStarted = false;
  function startOnce() {
    if (isStarted)
      return;
    const zoom = nodeByKey(remembered("zoom"));
    isStarted = true;
    setMode(buttons.has(remembered("flame")) ? remembered("flame") : "order");
    if (zoom && mode === "order")
      main.zoomTo(zoom);
  }

  return {
    key: "flame",
    label: "Flame",
    element,
    render() {
      if (isStarted)
        renderView();
      else
        startOnce();
    },
    reveal(node) {
      if (mode === "sandwich")
        return startSandwich();
      if (mode === "order")
        return main.reveal(node);
      renderView();
    },
    print() {
      startOnce();
      setMode("order");
    }
  };
}
