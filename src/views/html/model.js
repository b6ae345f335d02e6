/* html/model.js - the data structures of the views, made from the JSON that
 * src/views/report_data_internal.h describes.
 *
 * A node is a module: of the single run, or of both runs of a comparison.
 * node.sides has the scope of each run, or null. */

function readRun(data, side) {
  const columns = data.tree;
  const scopes = columns.name.map((name, i) => ({id: i, name}));
  for (const [key, values] of Object.entries(columns))
    for (let i = 0; i < values.length; i++)
      scopes[i][key] = values[i];
  const series = new Map(data.series.map(item => [item.name, item]));
  return {
    ...data,
    side,
    scopes,
    series,
    label: data.run.source || `run ${side + 1}`,
    whole: scopes[0].total_ms,
    firstStep: data.runs.first_step ?? 0,
    hasIterations: data.runs.measured > 0
  };
}

function newNode(id, scope, sides) {
  return {
    id,
    name: scope.name,
    class: scope.class,
    parent: null,
    children: [],
    depth: 0,
    sides,
    scope,
    isOutside: scope.is_outside === 1
  };
}

function hang(nodes, parents) {
  nodes.forEach((node, i) => {
    if (!isKnown(parents[i]))
      return;
    node.parent = nodes[parents[i]];
    node.depth = node.parent.depth + 1;
    node.parent.children.push(node);
  });
}

/* The width of a node: its time, or that of its children if threads ran in
 * parallel. What ran outside the iterations has no width. */
function weigh(nodes) {
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    const inside = sum(node.children.map(child => child.width));
    node.width = node.isOutside && i > 0 ? 0 : Math.max(node.scope.total_ms || 0, inside);
  }
}

/* What a module did itself, on the host or on devices; children have their own. */
function hostTime(node) {
  return node.scope.self_ms;
}

function deviceTime(node) {
  const inChildren = sum(node.children.map(child => child.scope.device_ms || 0));
  return Math.max(0, (node.scope.device_ms || 0) - inChildren);
}

/* Whether there is one run, in which a device worked. */
function hasDeviceTimes(report) {
  return !report.comparison && report.nodes.some(node => node.scope.device_ms > 0);
}

function nodesOfRun(run) {
  const nodes = run.scopes.map((scope, i) => newNode(i, scope, [scope]));
  hang(nodes, run.tree.parent);
  return nodes;
}

const COMPARED = [
  "a_ms", "b_ms", "ratio", "low", "high", "p", "mark", "is_cause", "is_shown", "effect", "change",
  "interval", "p_text"
];

function nodesOfComparison(rows, a, b) {
  const nodes = rows.parent.map((parent, i) => {
    const sides = [a.scopes[rows.a[i]] || null, b.scopes[rows.b[i]] || null];
    const node = newNode(i, sides[1] || sides[0], sides);
    for (const key of COMPARED)
      node[key] = rows[key][i];
    node.change =
        node.change === "-" ? UNKNOWN : node.change.replace(" ", "\u00a0").replace("-", "\u2212");
    if (sides[0] && sides[1] && sides[0].name !== sides[1].name)
      node.was = sides[0].name;
    return node;
  });
  hang(nodes, rows.parent);
  return nodes;
}

/* The node of each scope of each run. */
function mapScopes(nodes, runs) {
  const maps = runs.map(run => new Array(run.scopes.length).fill(nodes[0]));
  for (const node of nodes)
    node.sides.forEach((scope, side) => {
      if (scope)
        maps[side][scope.id] = node;
    });
  return maps;
}

function readReport(data) {
  const runs = data.runs.map(readRun);
  const comparison = data.comparison || null;
  const nodes =
      comparison ? nodesOfComparison(comparison.rows, runs[0], runs[1]) : nodesOfRun(runs[0]);
  weigh(nodes);
  for (const node of nodes)
    node.kind = kindOf(node);
  return {
    runs,
    comparison,
    nodes,
    root: nodes[0],
    pictures: data.pictures || [],
    trend: data.trend && data.trend.points.length > 0 ? data.trend : null,
    nodeOf: mapScopes(nodes, runs),
    main: runs[runs.length - 1]
  };
}

/* From below the root down to the node; the path of the root is itself. */
function pathOf(node) {
  const path = [];
  for (let at = node; at.parent; at = at.parent)
    path.unshift(at);
  return path.length ? path : [node];
}

function pathText(node) {
  return pathOf(node).map(at => at.name).join(".");
}

function shareOf(report, node) {
  return node.isOutside || !node.scope.total_ms ? null : node.scope.total_ms / report.main.whole;
}

/* ---- figures of a module --------------------------------------------- */

/* The figures of a scope, by name, for tooltips, details and the table. */
const FIGURES = [
  {key: "total_ms", label: "total", text: scope => timeText(scope.total_ms)},
  {key: "self_ms", label: "self", text: scope => timeText(scope.self_ms)},
  {key: "share", label: "share", text: scope => percentText(scope.share)},
  {key: "calls", label: "calls", text: scope => plainNumber(scope.calls)},
  {key: "median_ms", label: "median", text: scope => timeText(scope.median_ms)},
  {key: "p95_ms", label: "p95", text: scope => timeText(scope.p95_ms)},
  {key: "min_ms", label: "min", text: scope => timeText(scope.min_ms)},
  {key: "max_ms", label: "max", text: scope => timeText(scope.max_ms)},
  {key: "device_ms", label: "on devices", text: scope => timeText(scope.device_ms)},
  {key: "macs", label: "MACs", text: scope => countText(scope.macs)},
  {key: "gflops", label: "GFLOP/s", text: scope => threeDigits(scope.gflops)},
  {key: "done_gflops", label: "executed GFLOP/s", text: scope => threeDigits(scope.done_gflops)},
  {key: "gbs", label: "GB/s", text: scope => threeDigits(scope.gbs)},
  {key: "bound", label: "bound by", text: scope => scope.bound},
  {key: "reached", label: "of the roofline", text: scope => percentText(scope.reached)},
  {key: "saved_ms", label: "saved at the roofline", text: scope => timeText(scope.saved_ms)},
  {key: "parameters", label: "parameters", text: scope => countText(scope.parameters)},
  {key: "bytes", label: "memory gained", text: scope => bytesText(scope.bytes)},
  {key: "peak_bytes", label: "memory peak", text: scope => bytesText(scope.peak_bytes)},
];

function figuresOf(scope, keys) {
  return FIGURES.filter(
      figure => (!keys || keys.includes(figure.key)) && isKnown(scope[figure.key]));
}
