/* html/panes.js - edges between panes that can be dragged, or moved with the
 * arrow keys.
 *
 * An edge sets a custom property (in pixels) on an element; the style sheet uses
 * it as the size of the pane after the edge. */

/* options: element (the edge), target and property to set, isRow (the edge lies
 * between rows), least, most() and first in pixels, label, onMove. */
function newEdge(options) {
  const {element, target, property, isRow, least} = options;
  let size = options.first;

  function set(pixels) {
    size = Math.round(Math.max(least, Math.min(options.most(), pixels)));
    target.style.setProperty(property, size + "px");
    element.setAttribute("aria-valuenow", size);
    element.setAttribute("aria-valuemax", Math.round(options.most()));
    if (options.onMove)
      options.onMove(size);
  }

  fill(element, {
    class: isRow ? "edge row" : "edge",
    role: "separator",
    tabindex: 0,
    "aria-orientation": isRow ? "horizontal" : "vertical",
    "aria-label": options.label,
    "aria-valuemin": least
  },
      []);
  element.addEventListener("pointerdown", event => {
    const from = isRow ? event.clientY : event.clientX, before = size;
    element.setPointerCapture(event.pointerId);
    element.onpointermove = move => set(before + from - (isRow ? move.clientY : move.clientX));
    event.preventDefault();
  });
  for (const end of ["pointerup", "pointercancel"])
    element.addEventListener(end, () => {
      element.onpointermove = null;
    });
  element.addEventListener("keydown", event => {
    const step = {ArrowLeft: 24, ArrowUp: 24, ArrowRight: -24, ArrowDown: -24}[event.key];
    if (!step || event.key === (isRow ? "ArrowLeft" : "ArrowUp") ||
        event.key === (isRow ? "ArrowRight" : "ArrowDown"))
      return;
    set(size + step);
    event.preventDefault();
  });
  element.addEventListener("dblclick", () => set(options.first));
  set(size);
  return {set, size: () => size};
}

/* The pane of the selected module, right of the views or, on a narrow screen,
 * below them. */
const sidePane = {
  isOpen: true,
  start(isOpen) {
    newEdge({
      element: byId("edge"),
      target: byId("desk"),
      property: "--side",
      least: 180,
      most: () => Math.max(240, innerWidth * 0.6),
      first: 300,
      label: "Width of the pane of the selected module"
    });
    this.show(isOpen);
  },
  show(isOpen) {
    this.isOpen = isOpen;
    byId("desk").classList.toggle("alone", !isOpen);
    remember({side: isOpen ? null : "0"});
  },
  toggle() {
    this.show(!this.isOpen);
    speak(this.isOpen ? "details shown" : "details hidden");
  },
};
