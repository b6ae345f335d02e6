/* html/start.js - puts the page together and handles what concerns all of it:
 * colours, search, size, printing, the address. */

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  colours.forget();
  changed("theme");
}

function startSearch(tabs) {
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
      byId("bar").classList.remove("searching");
    } else if (event.key === "Enter" && state.matches && state.matches.size > 0) {
      const all = Array.from(state.matches), view = tabs.current();
      at = (at + (event.shiftKey ? all.length - 1 : 1)) % all.length;
      select(all[at]);
      if (view.reveal)
        view.reveal(all[at]);
    }
  });
  onChange(what => {
    if (what === "matches")
      found.textContent = state.matches ? `${grouped(state.matches.size)} found` : "";
  });
}

/* The view is drawn again when its pane gets another size. */
function startSize(tabs) {
  let size = "";
  new ResizeObserver(entries => {
    const {width, height} = entries[0].contentRect;
    const now = `${Math.round(width)} ${Math.round(height)}`;
    if (now !== size && size !== "" && !state.isPaper)
      requestAnimationFrame(() => tabs.current().render());
    size = now;
  }).observe(byId("views"));
}

/* Printing shows all views, in light colours. */
function startPrint(tabs) {
  let theme = null;
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    state.isPaper = true;
    setTheme("light");
    for (const view of tabs.views()) {
      view.element.hidden = false;
      if (view.print)
        view.print();
      view.render();
    }
  });
  addEventListener("afterprint", () => {
    state.isPaper = false;
    for (const view of tabs.views())
      view.element.hidden = view !== tabs.current();
    setTheme(theme);
  });
}

function newViews(report) {
  return [
    overviewView(report), ...(report.comparison ? [compareView(report)] : []),
    ...(report.trend ? [trendView(report)] : []), flameView(report), moduleView(report),
    timelineView(report), graphView(report), memoryView(report), rooflineView(report),
    latencyView(report), ...(report.runs.some(isTraining) ? [trainingView(report)] : []),
    picturesView(report), machineView(report)
  ];
}

/* The views that can show a module among others. */
function placesOf(tabs) {
  const places = ["compare", "flame", "table", "timeline", "graph", "roofline"]
                     .map(key => tabs.byKey(key))
                     .filter(view => view && view.reveal);
  const list = places.map(view => [view.key, view.label]);
  list.open = (key, node) => {
    tabs.openByKey(key);
    tabs.current().reveal(node);
  };
  return list;
}

/* Shows what the address says. */
function followAddress(tabs) {
  readAddress();
  const query = remembered("q") || "", node = nodeByKey(remembered("sel"));
  if (query !== state.query) {
    byId("query").value = query;
    search(query);
  }
  if (node)
    select(node);
  tabs.openByKey(address.view);
}

let pageViews = []; /* for the tests */

/* Builds the views of a report; those before are gone. */
function showReport(report, tabs) {
  forgetViews();
  state.report = report;
  pageViews = newViews(report);
  tabs.setViews(pageViews);
  renderHead(report, () => tabs.openByKey("overview"));
  detailsPanel(report, placesOf(tabs));
}

/* The same place in another report. */
function showAgain(report, tabs, selected) {
  const query = state.query;
  writeAddress();
  showReport(report, tabs);
  if (query)
    search(query);
  const node = selected === null ? null : nodeByPath(selected);
  if (node)
    select(node);
  tabs.openByKey(address.view);
}

function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const data = JSON.parse(byId("data").textContent), tabs = newTabs();
  readAddress();
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", event => setTheme(event.matches ? "dark" : "light"));
  onChange(what => {
    if (what === "theme")
      tabs.current().render();
  });
  startSearch(tabs);
  state.lasting = state.listeners.length;

  live.isOn = data.refresh_s > 0;
  showReport(readReport(data), tabs);
  sidePane.start(remembered("side") !== "0" && innerWidth > 700);
  followAddress(tabs);
  addEventListener("hashchange", () => followAddress(tabs));
  byId("skip").addEventListener("click", event => {
    byId("views").focus();
    event.preventDefault();
  });
  startKeys(tabs);
  startSize(tabs);
  startPrint(tabs);
  startLive(data, tabs, (report, selected) => showAgain(report, tabs, selected));
}

start();
