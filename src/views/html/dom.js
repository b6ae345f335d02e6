"use strict";
/* html/dom.js - elements. Whatever comes from a run is inserted as text: nothing
 * here or in the other files reads markup. */

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on"))
      element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return element;
}

/* make("p", {class: "note"}, "text", element, null) */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/* The same for SVG. */
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

/* A name from a run: isolated from its neighbours, whichever direction it is
 * written in, and without its middle if it is longer than most. */
function nameText(text, most = 80) {
  return make("bdi", {}, shorten(text, most));
}

/* A letter may be two units of a string, which must not be separated. */
function shorten(text, most) {
  const ends = text.length > 4 * most ? text.slice(0, 2 * most) + text.slice(-2 * most) : text;
  const all = Array.from(ends);
  if (all.length <= most)
    return text;
  const half = Math.max(1, Math.floor((most - 1) / 2));
  return all.slice(0, half).join("") + "\u2026" + all.slice(-half).join("");
}

/* A path: may be broken after its dots. */
function pathName(text, most = 80) {
  const parts = shorten(text, most).split(/(?<=\.)/);
  return make("bdi", {}, parts.map((part, i) => i ? [make("wbr"), part] : part));
}

/* For a canvas, which has no element to isolate a name with. */
function isolated(text) {
  return "\u2068" + text + "\u2069";
}

/* Tells a screen reader what the eye sees happen. */
function speak(text) {
  byId("spoken").textContent = text;
}

/* [[label, value], ...] as a list; several values get one column each. */
function pairs(rows, columns = 1) {
  return make("dl", {class: columns > 1 ? "two" : null}, rows.map(([label,
    ...values]) => [make("dt", {}, label), values.map(value => make("dd", {}, value))]));
}

function missing(...text) {
  return make("p", {class: "missing"}, ...text);
}

function code(text) {
  return make("code", {}, text);
}
