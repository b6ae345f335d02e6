/* html/state.js - what the reader has chosen, who listens to changes, and the
 * address that remembers it.
 *
 * The fragment of the address is "view&key=value&...": opening it again, or in
 * another window, shows the same. Views add keys of their own through
 * remember(); unknown keys are kept out. */

const state = {
  report: null,
  selected: null, /* a node */
  query: "",
  matches: null,  /* a Set of nodes, or null without a search */
  isPaper: false, /* being printed */
  listeners: [],
  lasting: 0, /* of the listeners, those that are not of a view */
};

/* Before the views are replaced. */
function forgetViews() {
  state.listeners.length = state.lasting;
  state.selected = null;
  state.matches = null;
}

function onChange(listener) {
  state.listeners.push(listener);
}

function changed(what) {
  for (const listener of state.listeners)
    listener(what);
}

function select(node) {
  if (state.selected === node)
    return;
  state.selected = node;
  changed("selected");
  remember({sel: node ? nodeKey(node) : null});
}

function fits(node, query) {
  return node.name.toLowerCase().includes(query) ||
      (node.class || "").toLowerCase().includes(query) ||
      (query.includes(".") && pathText(node).toLowerCase().includes(query));
}

function search(query) {
  const wanted = query.trim().toLowerCase();
  state.query = query;
  state.matches =
      wanted === "" ? null : new Set(state.report.nodes.filter(node => fits(node, wanted)));
  changed("matches");
  remember({q: query || null});
}

function isDim(node) {
  return state.matches !== null && !state.matches.has(node);
}

/* ---- the address ------------------------------------------------------- */

const KEY_MOST = 200;      /* letters of a path in the address */
const ADDRESS_PAUSE = 250; /* ms; browsers refuse many changes in a row */

const address = {
  view: "",
  keys: new Map(),
  timer: 0,
};

/* A module in the address: its path, or its number if that is long or not
 * unique. */
function nodeKey(node) {
  const path = pathText(node);
  return path.length <= KEY_MOST && nodeByPath(path) === node ? path : `@${node.id}`;
}

function nodeByPath(path) {
  const report = state.report;
  if (!report.byPath)
    report.byPath = new Map(report.nodes.map(node => [pathText(node), node]).reverse());
  return report.byPath.get(path) || null;
}

function nodeByKey(key) {
  if (!key)
    return null;
  return key.startsWith("@") ? state.report.nodes[Number(key.slice(1))] || null : nodeByPath(key);
}

/* Reads the address into `address`. */
function readAddress() {
  const [view, ...parts] = location.hash.slice(1).split("&");
  address.view = view;
  address.keys = new Map(parts.map(part => {
    const at = part.indexOf("=");
    try {
      return [part.slice(0, at), decodeURIComponent(part.slice(at + 1))];
    } catch {
      return ["", ""];
    }
  }));
}

function addressText() {
  const parts = [address.view];
  for (const [key, value] of address.keys)
    if (key && value !== "")
      parts.push(`${key}=${encodeURIComponent(value)}`);
  return "#" + parts.join("&");
}

function writeAddress() {
  clearTimeout(address.timer);
  address.timer = 0;
  if (location.hash !== addressText())
    history.replaceState(null, "", addressText());
}

/* Keys to change; null forgets one. */
function remember(keys) {
  for (const [key, value] of Object.entries(keys))
    if (value === null || value === undefined)
      address.keys.delete(key);
    else
      address.keys.set(key, String(value));
  if (!address.timer)
    address.timer = setTimeout(writeAddress, ADDRESS_PAUSE);
}

function remembered(key) {
  return address.keys.get(key) ?? null;
}
