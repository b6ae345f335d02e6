/* html/live.js - a run that is being recorded: asks its server for the data again
 * and shows it in place.
 *
 * The views are rebuilt; what the reader has chosen is kept: the address has
 * tab, selection, search and zoom, views that have more to keep give it with
 * keep() and take it with restore(). Controls, scrolled places and the focus are
 * kept here. */

const CONTROLS = "button, select, input, canvas, svg, [tabindex]";
const SCROLLERS = "section, div, ul, ol";

/* What is scrolled, as [element, top, left], in a part of the page. */
function scrolledIn(place) {
  return [place, ...place.querySelectorAll(SCROLLERS)]
      .map((item, i) => [i, item.scrollTop, item.scrollLeft])
      .filter(([, top, left]) => top || left);
}

function scrollAgain(place, scrolled) {
  const items = [place, ...place.querySelectorAll(SCROLLERS)];
  for (const [i, top, left] of scrolled)
    if (items[i])
      items[i].scrollTo({top, left, behavior: "instant"});
}

function keepView(view) {
  return {
    own: view.keep ? view.keep() : null,
    choices: Array.from(view.element.querySelectorAll("select"), choice => choice.value)
  };
}

function restoreView(view, kept) {
  view.element.querySelectorAll("select").forEach((choice, i) => {
    const isThere = Array.from(choice.options).some(option => option.value === kept.choices[i]);
    if (isThere && choice.value !== kept.choices[i]) {
      choice.value = kept.choices[i];
      choice.dispatchEvent(new Event("change"));
    }
  });
  if (view.restore && kept.own)
    view.restore(kept.own);
}

/* The place of the focus in a view, or null if it is elsewhere. */
function focusIn(view) {
  const at = Array.from(view.element.querySelectorAll(CONTROLS)).indexOf(document.activeElement);
  return at < 0 ? null : at;
}

/* Shows other data at the place where the reader is. show(report) replaces the
 * views. */
function showInPlace(data, tabs, show) {
  const before = tabs.current(), focus = focusIn(before), side = byId("side").scrollTop;
  const scrolled = scrolledIn(before.element);
  const kept = new Map(tabs.views().map(view => [view.key, keepView(view)]));
  const selected = state.selected ? pathText(state.selected) : null;
  tooltip.hide();
  show(readReport(data), selected);
  for (const view of tabs.views())
    if (kept.has(view.key))
      restoreView(view, kept.get(view.key));
  const now = tabs.current();
  now.render();
  scrollAgain(now.element, scrolled);
  byId("side").scrollTop = side;
  const control = focus === null ? null : now.element.querySelectorAll(CONTROLS)[focus];
  if (control)
    control.focus({preventScroll: true});
}

const live = {
  isOn: false,
  updates: 0, /* for the tests */
};

/* Asks until the server says that the run is complete. */
function startLive(data, tabs, show) {
  let isDown = false, last = byId("data").textContent;
  live.isOn = data.refresh_s > 0;
  if (!live.isOn)
    return;
  addEventListener("pointerdown", () => isDown = true, true);
  for (const end of ["pointerup", "pointercancel"])
    addEventListener(end, () => isDown = false, true);
  const wait = took => setTimeout(ask, Math.max(data.refresh_s * 1000, 10 * took));

  async function ask() {
    if (isDown || state.isPaper)
      return wait(0); /* not while something is dragged */
    let text;
    try {
      const answer = await fetch("/data" + location.search);
      if (!answer.ok)
        throw new Error(answer.statusText);
      text = await answer.text();
    } catch {
      live.isOn = false; /* the server is gone: what is here stays */
      byId("head").querySelectorAll(".live").forEach(sign => sign.remove());
      return;
    }
    const began = performance.now(), now = JSON.parse(text);
    live.isOn = now.refresh_s > 0;
    if (text !== last) {
      showInPlace(now, tabs, show);
      live.updates++;
    }
    last = text;
    if (live.isOn)
      wait(performance.now() - began);
    else
      speak("the run is complete");
  }
  wait(0);
}
