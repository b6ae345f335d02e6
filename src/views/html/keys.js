/* html/keys.js - the keys that work everywhere, and the list of all of them. */

const KEY_LIST = [
  [
    "Anywhere",
    [
      ["/", "search; Enter goes to the next match, Shift+Enter back, Esc leaves"],
      ["1 \u2026 9", "open a view"], ["i", "show or hide the pane of the selected module"],
      ["d", "dark or light"], ["?", "this list"], ["Tab", "next control"]
    ]
  ],
  [
    "Flame",
    [
      ["\u2190 \u2191 \u2192 \u2193", "move"], ["Enter", "zoom in"], ["Esc", "zoom out"],
      ["Home", "to the top"]
    ]
  ],
  [
    "Timeline",
    [
      ["\u2190 \u2192 or a d", "move"], ["+ \u2212 or w s", "zoom; Ctrl and the wheel too"],
      ["0", "show all"], [", .", "slice by slice"], ["\u2191 \u2193", "up and down the levels"],
      ["Enter", "zoom to the slice"], ["m", "add up what is visible; Esc ends it"],
      ["Shift and drag", "add up an area"], ["double click", "zoom to a slice"]
    ]
  ],
  [
    "Graph",
    [
      ["\u2190 \u2191 \u2192 \u2193", "to the next module in that direction"],
      ["Enter", "open or close a module"], ["+ \u2212 0", "zoom, show all"]
    ]
  ],
  ["Table", [["\u2191 \u2193 Home End", "rows"], ["Enter", "select"]]],
  ["Charts", [["\u2190 \u2192", "from point to point"], ["Enter", "select"]]],
];

const keyHelp = {
  dialog: null,
  open() {
    if (!this.dialog) {
      this.dialog = make("dialog", {class: "keys-help", "aria-label": "Keys"},
          make("h2", {}, "Keys"), make("div", {class: "key-groups"}, KEY_LIST.map(([
            where, rows
          ]) => make("section", {}, make("h3", {}, where), make("dl", {}, rows.map(([keys,
            what]) => [make("dt", {}, make("kbd", {}, keys)), make("dd", {}, what)]))))),
          make("button", {class: "plain", type: "button", onclick: () => this.dialog.close()},
              "Close"));
      document.body.append(this.dialog);
    }
    if (!this.dialog.open)
      this.dialog.showModal();
  },
};

function startKeys(tabs) {
  document.addEventListener("keydown", event => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
      return;
    const act = {
      "/": () => {
        byId("bar").classList.add("searching");
        byId("query").focus();
        byId("query").select();
      },
      "?": () => keyHelp.open(),
      i: () => sidePane.toggle(),
      d: switchTheme,
      Escape: () => tooltip.hide(),
    }[event.key] ||
        (/^[1-9]$/.test(event.key) ? () => tabs.openAt(Number(event.key) - 1) : null);
    if (!act)
      return;
    act();
    if (event.key !== "Escape")
      event.preventDefault();
  });
}
