/* html/head.js - the slim line at the top: what it is, and its main figures. */

function switchTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function themeSwitch() {
  const button = make("button", {class: "plain theme", type: "button", onclick: switchTheme});
  onChange(what => {
    if (what === "theme")
      name();
  });
  function name() {
    button.textContent = document.documentElement.dataset.theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
  }
  name();
  return button;
}


function helpButton() {
  return make("button", {
    class: "plain",
    type: "button",
    "aria-label": "Keys",
    title: "Keys (?)",
    onclick: () => keyHelp.open()
  },
      "?");
}

/* On a narrow screen the search box is behind this. */
function searchButton() {
  return make("button", {
    class: "plain search-open",
    type: "button",
    "aria-label": "Search",
    onclick: () => {
      byId("bar").classList.toggle("searching");
      byId("query").focus();
    }
  },
      "\u2315");
}

/* The device that computed, its threads if it has them, and when. */
function whatItIs(run) {
  const facts = run.facts;
  const gpu = facts["machine.gpu"], threads = Number(facts["settings.threads"]);
  return [
    gpu || facts["machine.cpu"], threads && !gpu ? counted(threads, "thread") : null,
    facts["time.started"]
  ].filter(Boolean);
}

function chip(label, text, title, kind) {
  return make("div", {title, class: kind}, make("dt", {}, label), make("dd", {}, text));
}

/* By the test for the time of an iteration; no other time is tested. */
function testedKind(report) {
  return {slower: "worse", faster: "better"}[report.root.mark] || null;
}

function changeKindOf(a, b) {
  const ratio = a > 0 && isKnown(b) ? b / a : 1;
  return ratio > 1.005 ? "worse" : ratio < 0.995 ? "better" : null;
}

/* "1.24 s", or in a comparison "1.24 s +5 %". */
function chipOf(report, label, of, text, title, kind) {
  const now = of(report.main);
  if (!isKnown(now))
    return null;
  if (!report.comparison)
    return chip(label, text(now), title);
  const before = of(report.runs[0]);
  return chip(label,
      [text(now), isKnown(before) && before > 0 ? ` ${changeText(now / before)}` : ""],
      isKnown(before) ? `A ${text(before)}, B ${text(now)}` : title, kind(before, now));
}

function chips(report) {
  const run = report.main, isStep = isTraining(run);
  const rate = isKnown(run.latency.mean_ms) ? rateParts(run) : null;
  const list = [
    chipOf(report, isStep ? "step" : "mean", item => item.latency.mean_ms, timeText,
        isStep ? "mean step" : "mean latency of an iteration", () => testedKind(report)),
    chipOf(report, "p95", item => item.latency.p95_ms, timeText, "95th percentile", () => null),
    isKnown(run.latency.mean_ms) ? null : chip("total", timeText(run.whole)),
    rate && !report.comparison ? chip("rate", joined(rate), "throughput") : null,
    chipOf(report, "peak", item => item.memory ? item.memory.peak_bytes : null, bytesText,
        "most memory at once", changeKindOf),
    report.comparison || !isKnown(run.scopes[0].macs)
        ? null
        : chip("work", countText(run.scopes[0].macs) + "MAC", "multiply-adds of an iteration"),
  ];
  return make("dl", {class: "chips", "aria-label": "Main figures"}, list);
}

/* How many findings and notices there are; leads to them. */
function alerts(report, openOverview) {
  const n = (report.main.findings || []).length;
  const wrong = report.runs.flatMap(noticeTexts).length;
  return [
    live.isOn ? make("span", {class: "live", title: "This page follows the run"}, "recording")
              : null,
    wrong ? make("button", {class: "plain alert", type: "button", onclick: openOverview},
                counted(wrong, "warning"))
          : null,
    n ? make("button", {class: "plain", type: "button", onclick: openOverview},
            counted(n, "finding"))
      : null
  ];
}

function renderHead(report, openOverview) {
  const run = report.main;
  const title = run.title || (run.run.name === "run" ? run.label : run.run.name);
  const under = report.comparison
      ? ["A ", nameText(report.runs[0].label), "  \u2192  B ", nameText(report.runs[1].label)]
      : [nameText(run.label), whatItIs(run).map(text => [" \u00b7 ", nameText(text)])];
  document.title = `${shorten(title, 60)} \u2013 Assay`;
  byId("head").replaceChildren();
  fill(byId("head"), {}, [
    make("div", {class: "title"}, make("h1", {}, nameText(title, 60)),
        make("p", {class: "soft", title: shorten(whatItIs(run).join(" \u00b7 "), 300)}, under)),
    chips(report),
    make("div", {class: "tools"}, alerts(report, openOverview), searchButton(), themeSwitch(),
        helpButton())
  ]);
}
