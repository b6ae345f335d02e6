/* html/start.js - puts the page together and handles what concerns all of it:
 * colours, search, keys, size, printing. */

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  colours.forget();
  changed("theme");
}

function startSearch(tabs, tree) {
  const query = byId("query"), found = byId("found");
  let at = -1; /* the match that was visited last */

  query.addEventListener("input", () => {
    at = -1;
    search(query.value);
  });
  query.addEventListener("keydown", event => {
    if (event.key === "Escape") {
      query.value = "";
      search("");
      query.blur();
    } else if (event.key === "Enter" && state.matches && state.matches.size > 0) {
      const all = Array.from(state.matches);
      at = (at + (event.shiftKey ? all.length - 1 : 1)) % all.length;
      if (tabs.current() === tree)
        tree.reveal(all[at]);
      else
        select(all[at]);
    }
  });
  onChange(what => {
    if (what === "matches")
      found.textContent = state.matches ? `${grouped(state.matches.size)} found` : "";
  });
  document.addEventListener("keydown", event => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
      query.focus();
      query.select();
      event.preventDefault();
    } else if (event.key === "Escape") {
      tooltip.hide();
    }
  });
}

function startSize(tabs) {
  let width = 0;
  new ResizeObserver(entries => {
    const now = Math.round(entries[0].contentRect.width);
    if (now !== width && width !== 0)
      tabs.current().render();
    width = now;
  }).observe(byId("views"));
}

/* Printing shows all views, in light colours. */
function startPrint(tabs, views) {
  let theme = null;
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    state.isPaper = true;
    setTheme("light");
    for (const view of views) {
      view.element.hidden = false;
      if (view.print)
        view.print();
      view.render();
    }
  });
  addEventListener("afterprint", () => {
    state.isPaper = false;
    for (const view of views)
      view.element.hidden = view !== tabs.current();
    setTheme(theme);
  });
}

function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const report = readReport(JSON.parse(byId("data").textContent));
  state.report = report;
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", event => setTheme(event.matches ? "dark" : "light"));
  renderHead(report);

  const tree = icicleView(report);
  const views = [
    tree,
    moduleView(report,
        node => {
          tabs.open(tree);
          tree.reveal(node);
        }),
    timelineView(report), memoryView(report), rooflineView(report), latencyView(report),
    ...(report.runs.some(isTraining) ? [trainingView(report)] : []), picturesView(report),
    machineView(report)
  ];
  const tabs = newTabs(views);
  tabs.openByKey(location.hash.slice(1));
  addEventListener("hashchange", () => tabs.openByKey(location.hash.slice(1)));
  onChange(what => {
    if (what === "theme")
      tabs.current().render();
  });
  startSearch(tabs, tree);
  startSize(tabs);
  startPrint(tabs, views);
}

start();
