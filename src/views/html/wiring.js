/* html/wiring.js - which modules of a run are connected, and the boxes of those
 * that are visible.
 *
 * A module is closed (a box) or open (a frame around what is in it). A line
 * between two modules is drawn where their paths part: between the two children
 * of the module that both are in. */

/* {root, has(node), edges, isGuess}: the part of the tree that the edges of a run
 * connect. Without edges, modules follow each other in the order they ran. */
function wiringOf(report) {
  const nodeOf = report.nodeOf[report.main.side], flat = report.main.edges || [];
  let edges = [];
  for (let i = 0; i + 1 < flat.length; i += 2)
    edges.push({
      from: flat[i] === null ? null : nodeOf[flat[i]],
      to: flat[i + 1] === null ? null : nodeOf[flat[i + 1]]
    });
  const isGuess = edges.length === 0;
  if (isGuess)
    edges = guessedEdges(report);
  const ends = new Set(edges.flatMap(edge => [edge.from, edge.to]).filter(Boolean));
  const inside = new Set();
  for (const end of ends)
    for (let at = end; at && !inside.has(at); at = at.parent)
      inside.add(at);
  let root = report.root;
  for (;;) {
    const below = root.children.filter(child => inside.has(child));
    if (below.length !== 1 || ends.has(root))
      break;
    root = below[0];
  }
  return {root, ends, edges, isGuess, has: node => inside.has(node)};
}

/* Each leaf after the one before it. */
function guessedEdges(report) {
  const leaves =
      report.nodes.filter(node => node.children.length === 0 && node.width > 0 && node.parent);
  return leaves.slice(1).map((to, i) => ({from: leaves[i], to}));
}

/* The modules from below the root down to a node. */
function chainBelow(root, node) {
  const chain = [];
  for (let at = node; at && at !== root; at = at.parent)
    chain.unshift(at);
  return chain;
}

/* What is visible: a tree of boxes {node, kind, children, links}. kinds: "module",
 * "own" (what an open module does itself), "in" and "out" (where lines enter and
 * leave). */
function visibleBoxes(wiring, isOpen) {
  const boxes = new Map(); /* by node: the frames */
  const frame = node => {
    const box = {node, kind: "module", isOpen: true, children: [], links: [], known: new Map()};
    boxes.set(node, box);
    for (const child of node.children)
      if (wiring.has(child)) {
        const inner = isOpen(child) ? frame(child) : {node: child, kind: "module", isOpen: false};
        box.children.push(inner);
        box.known.set(child, inner);
      }
    return box;
  };
  const root = frame(wiring.root);
  for (const edge of wiring.edges)
    addLine(wiring, boxes, root, edge);
  for (const box of boxes.values())
    numberBoxes(box);
  return root;
}

/* A box of a frame that stands for no module in it. */
function portOf(box, kind) {
  if (!box.known.has(kind)) {
    const port = {node: kind === "own" ? box.node : null, kind, isOpen: false};
    box.known.set(kind, port);
    box.children.push(port);
  }
  return box.known.get(kind);
}

/* The box of the i-th step of a chain in a frame. */
function stepBox(frame, chain, i) {
  return i < chain.length ? frame.known.get(chain[i]) : portOf(frame, "own");
}

function addLine(wiring, boxes, root, {from, to}) {
  const a = from ? chainBelow(wiring.root, from) : [], b = to ? chainBelow(wiring.root, to) : [];
  let frame = root, depth = 0;
  while (from && to && depth < a.length && depth < b.length && a[depth] === b[depth]) {
    const next = frame.known.get(a[depth]);
    if (!next || !next.isOpen)
      return;
    frame = next;
    depth++;
  }
  const start = from ? stepBox(frame, a, depth) : portOf(frame, "in");
  const end = to ? stepBox(frame, b, depth) : portOf(frame, "out");
  connect(frame, start, end, from);
  if (from)
    for (let at = start, i = depth + 1; at && at.isOpen; i++) {
      const inner = stepBox(at, a, i);
      connect(at, inner, portOf(at, "out"), from);
      at = inner;
    }
  if (to)
    for (let at = end, i = depth + 1; at && at.isOpen; i++) {
      const inner = stepBox(at, b, i);
      connect(at, portOf(at, "in"), inner, from);
      at = inner;
    }
}

function connect(frame, start, end, from) {
  if (!start || !end || start === end)
    return;
  if (!start.ends)
    start.ends = new Set();
  if (start.ends.has(end))
    return;
  start.ends.add(end);
  frame.links.push({start, end, shape: from ? shapeAfter(from) : null});
}

/* "1x64x56x56" of "1x3x224x224 -> 1x64x56x56, 1x4". */
function shapeAfter(node) {
  const text = node.scope.shapes || "", at = text.lastIndexOf("->");
  return at < 0 ? null : text.slice(at + 2).split(",")[0].trim();
}

/* Inputs come first and outputs last, what the module does itself before those it
 * feeds; the links get the numbers of their ends. */
function numberBoxes(box) {
  const feeds = child =>
      Array.from(child.ends || []).filter(end => end.kind === "module").length > 0;
  const rank = child => child.kind === "in" ? 0
      : child.kind === "out"                ? 4
      : child.kind === "module"             ? 2
      : feeds(child)                        ? 1
                                            : 3;
  box.children.sort((a, b) => rank(a) - rank(b));
  const numbers = new Map(box.children.map((child, i) => [child, i]));
  for (const link of box.links) {
    link.from = numbers.get(link.start);
    link.to = numbers.get(link.end);
  }
}
