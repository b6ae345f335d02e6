/* html/tabs.js - one view at a time; the address remembers which.
 *
 * A view: {key, label, element, render()}, and if it can show one module among
 * others reveal(node). reveal() is called when the view opens and the selection
 * has changed since it was last seen. */

function newTabs() {
  let views = [], tabs = [];
  let current = null;
  const seen = new Map(); /* by view: the selection that it showed last */

  function newTab(view, i) {
    return make("button", {
      type: "button",
      role: "tab",
      id: `tab-${view.key}`,
      "aria-controls": `view-${view.key}`,
      title: i < 9 ? `${view.label} (${i + 1})` : null,
      onclick: () => open(view)
    },
        view.label);
  }

  /* Other views instead of those before; none is open then. A tab that
   * had the focus has it again. */
  function setViews(next) {
    const focused = document.activeElement ? document.activeElement.id : "";
    views = next;
    current = null;
    seen.clear();
    for (const view of views) {
      view.element.id = `view-${view.key}`;
      view.element.classList.add("view");
      view.element.setAttribute("role", "tabpanel");
      view.element.setAttribute("aria-label", view.label);
      view.element.hidden = true;
    }
    tabs = views.map(newTab);
    byId("tabs").replaceChildren(...tabs);
    byId("views").replaceChildren(...views.map(view => view.element));
    const again = tabs.find(tab => tab.id === focused);
    if (again)
      again.focus({preventScroll: true});
  }

  function open(view) {
    if (view === current)
      return;
    if (current)
      seen.set(current, state.selected);
    current = view;
    views.forEach((other, i) => {
      other.element.hidden = other !== view;
      tabs[i].setAttribute("aria-selected", String(other === view));
      tabs[i].tabIndex = other === view ? 0 : -1;
    });
    tabs[views.indexOf(view)].scrollIntoView({block: "nearest", inline: "nearest"});
    tooltip.hide();
    document.documentElement.dataset.view = view.key;
    view.render();
    if (view.reveal && state.selected && seen.get(view) !== state.selected)
      view.reveal(state.selected);
    address.view = view.key;
    remember({});
    changed("view");
  }

  function step(by) {
    const next = (views.indexOf(current) + by + views.length) % views.length;
    open(views[next]);
    tabs[next].focus();
  }

  byId("tabs").addEventListener("keydown", event => {
    const act = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      Home: () => step(-views.indexOf(current)),
      End: () => step(views.length - 1 - views.indexOf(current)),
    }[event.key];
    if (!act)
      return;
    act();
    event.preventDefault();
  });

  return {
    open,
    setViews,
    views: () => views,
    current: () => current,
    openAt: i => views[i] && open(views[i]),
    byKey: key => views.find(view => view.key === key) || null,
    openByKey: key => open(views.find(view => view.key === key) || views[0]),
  };
}
