/* html/tabs.js - one view at a time; the address remembers which. */

function newTabs(views) {
  const tabs = views.map(view => make("button", {
    type: "button",
    role: "tab",
    id: `tab-${view.key}`,
    "aria-controls": `view-${view.key}`,
    onclick: () => open(view)
  },
                             view.label));
  let current = null;

  for (const view of views) {
    view.element.id = `view-${view.key}`;
    view.element.setAttribute("role", "tabpanel");
    view.element.setAttribute("aria-label", view.label);
    view.element.hidden = true;
  }
  byId("tabs").append(...tabs);
  byId("views").append(...views.map(view => view.element));

  function open(view) {
    if (view === current)
      return;
    current = view;
    views.forEach((other, i) => {
      other.element.hidden = other !== view;
      tabs[i].setAttribute("aria-selected", String(other === view));
      tabs[i].tabIndex = other === view ? 0 : -1;
    });
    tooltip.hide();
    view.render();
    if (location.hash !== "#" + view.key)
      history.replaceState(null, "", "#" + view.key);
  }

  byId("tabs").addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step)
      return;
    const next = (views.indexOf(current) + step + views.length) % views.length;
    open(views[next]);
    tabs[next].focus();
    event.preventDefault();
  });

  return {
    open,
    current: () => current,
    openByKey: key => open(views.find(view => view.key === key) || views[0]),
  };
}
