/* html/state.js - what the reader has chosen, and who listens to changes. */

const state = {
  report: null,
  selected: null, /* a node */
  query: "",
  matches: null,  /* a Set of nodes, or null without a search */
  isPaper: false, /* being printed */
  listeners: [],
};

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
}

function isDim(node) {
  return state.matches !== null && !state.matches.has(node);
}
