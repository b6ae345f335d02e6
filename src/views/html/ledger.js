/* html/ledger.js - who owned the bytes at the peak. */

const OUTSIDE_KIND = "outside the pool";
/* One colour per kind, in the ledger and over time. */
const LEDGER_FILLS = {
  weights: "memory-weights",
  activations: "memory-activations",
  gradients: "memory-gradients",
  "optimizer state": "memory-optimizer",
  optimizer: "memory-optimizer",
  scratch: "memory-scratch",
  images: "memory-images",
  fragmentation: "memory-rounded",
  other: "memory-other",
  "outside the pool": "memory-outside"
};

function ledgerKinds(rows) {
  const kinds = new Map();
  for (const row of rows)
    kinds.set(row.kind, (kinds.get(row.kind) || 0) + row.bytes);
  return Array.from(
      kinds, ([kind, bytes]) => ({kind, bytes, fill: LEDGER_FILLS[kind] || "memory-other"}));
}

function ledgerStrip(kinds) {
  return make("div", {class: "strip", "aria-hidden": "true"}, kinds.map(({bytes, fill, kind}) => {
    const part = make("span", {class: "fill-" + fill, title: kind});
    part.style.flexGrow = String(bytes);
    return part;
  }));
}

/* Kinds inside the pool add up to its peak; with those outside, to the peak of
 * the process. */
function ledgerBooks(run, kinds) {
  const inside = kinds.filter(item => item.kind !== OUTSIDE_KIND);
  return [
    ledgerStrip(inside),
    make("ul", {class: "legend"},
        inside.map(item => make("li", {}, make("span", {class: "swatch fill-" + item.fill}),
                       `${item.kind} ${bytesText(item.bytes)}`))),
    make("p", {class: "note"}, `Together ${bytesText(sum(inside.map(item => item.bytes)))}`,
        `, of a recorded peak of ${bytesText(run.memory.peak_bytes)}.`,
        isKnown(run.memory.process_peak_bytes)
            ? ` The process itself reached ${bytesText(run.memory.process_peak_bytes)}.`
            : "")
  ];
}

function ledgerPanel(report, run) {
  const rows = (run.memory && run.memory.ledger) || [];
  const element = make("div", {class: "block ledger"},
      make("h2", {}, "At the peak",
          report.comparison ? [" of ", letterOf(run.side), ", ", nameText(run.label)] : null,
          run.memory && run.memory.peak_scope ? [", in ", nameText(run.memory.peak_scope, 80)]
                                              : null));
  if (rows.length === 0) {
    element.append(
        missing("This run has no ledger: it does not say who owned the bytes at the peak",
            run.memory ? ` of ${bytesText(run.memory.peak_bytes)}` : "", "."));
    return {element};
  }
  const owner = row => row.scope || "";
  const grid = newGrid({
    label: "Who owned the bytes at the peak",
    sort: 3,
    columns: [
      {label: "kind", value: row => row.kind, text: row => row.kind},
      {label: "module", value: owner, cell: row => pathName(owner(row)), class: "where"},
      {label: "what", value: row => row.what || "", cell: row => nameText(row.what || "", 80)},
      {...number("bytes", row => row.bytes), text: row => bytesText(row.bytes)},
    ]
  });
  grid.setRows(rows);
  element.append(...ledgerBooks(run, ledgerKinds(rows)), grid.element);
  return {element};
}
