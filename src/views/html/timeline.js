/* html/timeline.js - an iteration over time, one track per thread, worker and
 * stream, with counters below.
 *
 * Dragging moves; the wheel scrolls if there are more tracks than fit, and zooms
 * if not or with Ctrl held. Shift and drag, or drag on the ruler, marks an area
 * and adds it up (area.js). paint.js draws. */

const ZOOM_STEP = 0.6;

/* "live memory, scratch" for memory.live.host.scratch; others have their name. */
function counterTitle(name) {
  const [, place, kind] = /^memory\.live(?:\.([^.]+)\.(.+))?$/.exec(name) || [null, null, null];
  if (name === LIVE_BYTES)
    return "live memory";
  return kind ? `live memory, ${kind}${place === "host" ? "" : ` on ${place}`}` : name;
}

/* Bytes have the colour of their kind, as in the view Memory. */
function counterFill(counter) {
  if (counter.unit !== "bytes")
    return "part-3";
  return LEDGER_FILLS[counter.name.split(".").pop()] || "memory-other";
}

/* Counters that say something about these milliseconds of the run. */
function countersOf(report, run, stretch, length) {
  return run.counters
      .map(counter => {
        const times = counter.ms.map(ms => ms - stretch.start_ms);
        const values = counter.value.map(value => value ?? 0);
        return {
          name: counter.name,
          title: (report.comparison ? letterOf(run.side) + "  " : "") + counterTitle(counter.name),
          unit: counter.unit,
          times,
          values,
          most: Math.max(...values),
          end: length,
          fill: counterFill(counter)
        };
      })
      .filter(counter => counter.times.length > 1 &&
              upperIndex(counter.times, length) - upperIndex(counter.times, -1e-9) > 1)
      /* The same bytes, of this iteration alone and of the whole run. */
      .filter((counter, _, all) =>
                  counter.name !== "memory" || !all.some(other => other.name === LIVE_BYTES));
}

function timelineView(report) {
  const runs = report.runs.filter(run => run.stretches.length > 0)
                   .map(run => ({...run, stretches: inOrder(run.stretches)}));
  const element = make("section", {class: "column"});
  if (runs.length === 0) {
    element.append(missing("No samples are kept in full in this run, so there is no timeline. ",
        "Runs that Assay records keep the first, a median, the slowest and the last iteration."));
    return {key: "timeline", label: "Timeline", element, render() {}};
  }
  const canvas = make("canvas", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "timeline",
    "aria-label": "Timeline. Left and right move, plus and minus zoom, " +
        "comma and full stop go from slice to slice, question mark lists all keys."
  });
  const said = make("p", {class: "note said"});
  const notes = make("span", {class: "soft"});
  const chosen = runs.map(run => typicalStretch(run, run.stretches));
  const scene = {
    tracks: [],
    counters: [],
    launches: [],
    seen: {from: 0, to: 1}, /* ms */
    length: 1,
    width: 1,
    height: 1,
    scroll: 0,
    picked: null, /* {track, lane, i} */
    area: null,   /* {from, to, top, bottom} */
    kindOf: node => report.comparison ? changeKind(node) : node.kind,
    hostOf: launch => hostOf(launch),
  };
  const minimap = newMinimap((from, to) => show(from, to));
  const pane = areaPane(() => mark(null));
  const edge = make("div", {hidden: true});
  let whole = 0, drag = null, frame = 0;
  const legend = make("ul", {class: "legend"});

  element.append(
      make("div", {class: "controls"}, runs.map(chooser),
          make("div", {class: "segments", role: "group", "aria-label": "Zoom"},
              ...[["+", "Zoom in", () => zoom(0.5)], ["\u2212", "Zoom out", () => zoom(2)],
                  ["All", "Show all", showAll]]
                  .map(([text, label, act]) => make("button",
                           {type: "button", title: label, "aria-label": label, onclick: act},
                           text))),
          make("button", {
            class: "plain",
            type: "button",
            title: "Shift and drag marks an area (m)",
            onclick: markVisible
          },
              "Add up what is visible"),
          notes),
      minimap.element, make("div", {class: "timeline"}, canvas), said, edge, pane.element, legend);
  newEdge({
    element: edge,
    target: element,
    property: "--area",
    isRow: true,
    least: 90,
    most: () => element.clientHeight ? Math.max(120, element.clientHeight - 260) : 1000,
    first: 230,
    label: "Height of the pane of the marked area",
    onMove: () => !element.hidden && render()
  });

  function chooser(run, i) {
    return make("label", {},
        report.comparison       ? letterOf(run.side)
            : run.hasIterations ? "Iteration"
                                : "Show",
        make("select", {
          onchange: event => {
            chosen[i] = Number(event.target.value);
            remember({it: chosen.join("-"), t: null});
            load();
          }
        },
            run.stretches.map((stretch, k) => make("option", {value: k, selected: k === chosen[i]},
                                  stretchLabel(run, stretch)))));
  }

  /* ---- what is shown ---- */

  function load() {
    scene.tracks = [];
    scene.launches = [];
    scene.counters = [];
    runs.forEach((run, i) => {
      const {tracks, launches} = readSlices(run, run.stretches[chosen[i]]);
      for (const track of tracks) {
        track.nodeOf = report.nodeOf[run.side];
        track.title = (report.comparison ? letterOf(run.side) + "  " : "") + track.name;
      }
      scene.tracks.push(...tracks);
      scene.launches.push(...launches);
    });
    scene.length = Math.max(1e-6, ...scene.tracks.map(track => track.end));
    runs.forEach((run, i) => scene.counters.push(
                     ...countersOf(report, run, run.stretches[chosen[i]], scene.length)));
    scene.tracks.sort((a, b) => (a.kind === "helper") - (b.kind === "helper"));
    scene.picked = null;
    scene.scroll = 0;
    mark(null);
    minimap.setScene(scene);
    const out = sum(runs.map((run, i) => run.stretches[chosen[i]].left_out));
    notes.textContent =
        out ? `${grouped(out)} shorter slices are left out; assay trace RUN has them all` : "";
    showAll();
  }

  function render() {
    if (frame)
      return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      renderNow();
    });
  }

  function renderNow() {
    const ratio = devicePixelRatio || 1;
    whole = layOutScene(scene);
    scene.width = state.isPaper ? PAPER_WIDTH : Math.max(100, canvas.parentElement.clientWidth);
    scene.height = state.isPaper ? whole : Math.max(60, canvas.parentElement.clientHeight);
    canvas.parentElement.style.minHeight = state.isPaper ? whole + "px" : "";
    scene.scroll = Math.max(0, Math.min(scene.scroll, whole - scene.height));
    const wide = Math.round(scene.width * ratio), high = Math.round(scene.height * ratio);
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.width = wide;
      canvas.height = high;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const began = performance.now();
    paintScene(pen, scene);
    minimap.render();
    state.frameMs = performance.now() - began; /* for the tests */
    showLegend();
  }

  /* The kinds of what is visible, at most every so often: it follows the zoom. */
  let legendTimer = 0;
  function showLegend() {
    if (legendTimer)
      return;
    legendTimer = setTimeout(() => {
      legendTimer = 0;
      const kinds = new Map();
      for (const sum of addUpArea(scene.tracks, scene.seen.from, scene.seen.to)) {
        const kind = scene.kindOf(sum.node);
        if (kind !== GROUP && sum.self > 0)
          kinds.set(kind.key, {kind, ms: (kinds.get(kind.key)?.ms || 0) + sum.self});
      }
      legend.replaceChildren(
          ...Array.from(kinds.values())
              .sort((a, b) => b.ms - a.ms)
              .map(({kind, ms}) => make("li", {}, make("span", {class: "swatch fill-" + kind.key}),
                       `${kind.label} ${timeText(ms)}`)));
    }, 200);
  }

  /* ---- what is where ---- */

  function sliceOf({track, lane, i}) {
    return {node: track.nodeOf[lane.rows[i]], start: lane.start[i], end: lane.end[i]};
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }

  function msAt(x) {
    return scene.seen.from + x / scene.width * (scene.seen.to - scene.seen.from);
  }

  function under(event) {
    const {x, y} = place(event), deep = y + scene.scroll;
    const track = scene.tracks.find(item => deep >= item.y && deep < item.y + item.height);
    if (!track || track.isClosed || y < RULER)
      return null;
    const lane = track.lanes[Math.floor((deep - track.y) / LANE)];
    const pixel = (scene.seen.to - scene.seen.from) / scene.width, moment = msAt(x);
    const i = firstAfter(lane, moment - pixel);
    return i < lane.n && lane.start[i] <= moment + pixel ? {track, lane, i} : null;
  }

  /* The track whose name is under the pointer. */
  function nameUnder(event) {
    const {y} = place(event), deep = y + scene.scroll;
    return y < RULER ? null
                     : scene.tracks.find(item => deep < item.y && deep >= item.y - TRACK_NAME);
  }

  /* The slice of the host in which work was launched: the innermost of those that
   * the work belongs to, or of any. */
  function hostOf(launch) {
    if (launch.host !== undefined)
      return launch.host;
    const node = launch.track.nodeOf[launch.track.lanes[launch.lane].rows[launch.i]];
    launch.host = null;
    let best = -1;
    for (const track of scene.tracks)
      for (let d = 0; track.kind === "cpu" && d < track.lanes.length; d++) {
        const lane = track.lanes[d], i = firstAfter(lane, launch.at);
        if (i >= lane.n || lane.start[i] > launch.at)
          break;
        const at = track.nodeOf[lane.rows[i]];
        const rank = d + (at === node || at === node.parent ? 1000 : 0);
        if (rank > best) {
          best = rank;
          launch.host = {track, lane: d, i};
        }
      }
    return launch.host;
  }

  function lines(spot) {
    const slice = sliceOf(spot);
    const launch = scene.launches.find(item => item.track === spot.track &&
            item.track.lanes[item.lane] === spot.lane && item.i === spot.i);
    return [
      tooltipHead(slice.node.name),
      slice.node.class ? make("div", {class: "soft"}, nameText(slice.node.class)) : "", pairs([
        ["this time", timeText(slice.end - slice.start)], ["from", timeText(slice.start)],
        ["mean", timeText(slice.node.scope.total_ms)], ["on", nameText(spot.track.name, 40)],
        ...(launch ? [["waited since launch", timeText(slice.start - launch.at)]] : [])
      ])
    ];
  }

  /* ---- moving ---- */

  function show(from, to) {
    const least = scene.length / 1e6;
    const span = Math.min(Math.max(to - from, least), scene.length * 1.02);
    scene.seen.from = Math.max(-scene.length * 0.01, Math.min(from, scene.length * 1.01 - span));
    scene.seen.to = scene.seen.from + span;
    const isAll = span >= scene.length * 1.019;
    remember({t: isAll ? null : `${scene.seen.from.toFixed(4)}~${scene.seen.to.toFixed(4)}`});
    render();
  }

  function showAll() {
    show(-scene.length * 0.01, scene.length * 1.01);
  }

  function zoom(factor, part = 0.5) {
    const span = scene.seen.to - scene.seen.from, centre = scene.seen.from + part * span;
    show(centre - part * span * factor, centre + (1 - part) * span * factor);
  }

  function move(part) {
    const step = part * (scene.seen.to - scene.seen.from);
    show(scene.seen.from + step, scene.seen.to + step);
  }

  function scrollBy(pixels) {
    scene.scroll = Math.max(0, Math.min(scene.scroll + pixels, whole - scene.height));
    render();
  }

  /* ---- picking ---- */

  function pick(spot) {
    scene.picked = spot;
    if (spot) {
      const slice = sliceOf(spot), length = timeText(slice.end - slice.start);
      select(slice.node);
      said.replaceChildren(nameText(slice.node.name), `: ${length} from ${timeText(slice.start)}`);
      speak(said.textContent);
      bringIntoView(spot, slice);
    }
    render();
  }

  function bringIntoView(spot, slice) {
    const y = spot.track.y + spot.track.lanes.indexOf(spot.lane) * LANE;
    const half = (scene.seen.to - scene.seen.from) / 2;
    if (y < scene.scroll + RULER)
      scene.scroll = y - RULER;
    else if (y + LANE > scene.scroll + scene.height)
      scene.scroll = y + LANE - scene.height;
    if (slice.end < scene.seen.from || slice.start > scene.seen.to)
      show(slice.start - half, slice.start + half);
  }

  /* Along the lane of the picked slice, or to the lane above or below it. */
  function step(along, down) {
    const picked = scene.picked;
    if (!picked)
      return pick({track: scene.tracks[0], lane: scene.tracks[0].lanes[0], i: 0});
    const lanes = picked.track.lanes, at = lanes.indexOf(picked.lane);
    const lane = lanes[at + down];
    if (!lane)
      return;
    const i = down === 0 ? picked.i + along
                         : Math.min(firstAfter(lane, picked.lane.start[picked.i]), lane.n - 1);
    if (i >= 0 && i < lane.n)
      pick({track: picked.track, lane, i});
  }

  /* Picks the next slice of a module after the picked one, or its first. */
  function reveal(node) {
    let first = null, next = null;
    const after = scene.picked && sliceOf(scene.picked).node === node ? scene.picked : null;
    for (const track of scene.tracks)
      for (const lane of track.lanes)
        for (let i = 0; i < lane.n && !next; i++) {
          if (track.nodeOf[lane.rows[i]] !== node)
            continue;
          first = first || {track, lane, i};
          if (after && (lane !== after.lane || i <= after.i))
            continue;
          next = {track, lane, i};
        }
    const spot = next || first;
    if (!spot) {
      said.textContent = `${shorten(node.name, 80)} has no slice in this iteration.`;
      return render();
    }
    spot.track.isClosed = false;
    const slice = sliceOf(spot), span = scene.seen.to - scene.seen.from;
    if (slice.end - slice.start < span / scene.width * 6)
      show(
          slice.start - (slice.end - slice.start) * 20, slice.end + (slice.end - slice.start) * 20);
    layOutScene(scene);
    pick(spot);
  }

  /* ---- the area ---- */

  function mark(area) {
    scene.area = area;
    edge.hidden = area === null;
    if (area === null)
      pane.hide();
    render();
  }

  function addUp() {
    const area = scene.area;
    if (!area || !(area.to > area.from))
      return mark(null);
    const tracks =
        scene.tracks.filter(track => track.y + track.height > area.top && track.y < area.bottom);
    edge.hidden = false;
    pane.show(tracks, area.from, area.to);
    render();
  }

  function markVisible() {
    scene.area = {
      from: Math.max(0, scene.seen.from),
      to: Math.min(scene.length, scene.seen.to),
      top: 0,
      bottom: whole
    };
    addUp();
  }

  /* ---- keys and pointer ---- */

  const keys = {
    ArrowLeft: () => move(-0.2),
    a: () => move(-0.2),
    ArrowRight: () => move(0.2),
    d: () => move(0.2),
    "+": () => zoom(ZOOM_STEP),
    "=": () => zoom(ZOOM_STEP),
    w: () => zoom(ZOOM_STEP),
    "-": () => zoom(1 / ZOOM_STEP),
    s: () => zoom(1 / ZOOM_STEP),
    0: showAll,
    ".": () => step(1, 0),
    ",": () => step(-1, 0),
    ArrowDown: () => step(0, 1),
    ArrowUp: () => step(0, -1),
    PageDown: () => scrollBy(scene.height * 0.8),
    PageUp: () => scrollBy(-scene.height * 0.8),
    m: markVisible,
    Escape: () => mark(null),
    Enter: () => {
      if (scene.picked)
        show(scene.picked.lane.start[scene.picked.i], scene.picked.lane.end[scene.picked.i]);
    },
  };
  canvas.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || !keys[event.key])
      return;
    keys[event.key]();
    event.preventDefault();
  });
  canvas.addEventListener("wheel", event => {
    const isTall = whole > scene.height + 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      move(event.deltaX / scene.width);
    else if (isTall && !event.ctrlKey && !event.metaKey)
      scrollBy(event.deltaY);
    else
      zoom(Math.exp(Math.max(-80, Math.min(80, event.deltaY)) / 200), place(event).x / scene.width);
    event.preventDefault();
  }, {passive: false});
  canvas.addEventListener("pointerdown", event => {
    const {x, y} = place(event);
    drag = {
      x,
      y,
      from: scene.seen.from,
      scroll: scene.scroll,
      moved: false,
      isMark: event.shiftKey || y < RULER,
      isRuler: y < RULER
    };
    canvas.setPointerCapture(event.pointerId);
  });
  function dragTo({x, y}) {
    drag.moved = drag.moved || Math.abs(x - drag.x) > 3 || Math.abs(y - drag.y) > 3;
    if (!drag.moved)
      return;
    tooltip.hide();
    if (drag.isMark) {
      canvas.classList.add("marking");
      scene.area = {
        from: Math.max(0, msAt(Math.min(x, drag.x))),
        to: Math.min(scene.length, msAt(Math.max(x, drag.x))),
        top: drag.isRuler ? 0 : Math.min(y, drag.y) + scene.scroll,
        bottom: drag.isRuler ? whole : Math.max(y, drag.y) + scene.scroll
      };
      return render();
    }
    canvas.classList.add("held");
    const span = scene.seen.to - scene.seen.from,
          from = drag.from - (x - drag.x) / scene.width * span;
    scene.scroll = drag.scroll - (y - drag.y);
    show(from, from + span);
  }
  canvas.addEventListener("pointermove", event => {
    if (drag)
      return dragTo(place(event));
    const spot = under(event);
    if (spot)
      tooltip.show(event, ...lines(spot));
    else
      tooltip.hide();
  });
  canvas.addEventListener("pointerup", event => {
    const name = drag && !drag.moved ? nameUnder(event) : null;
    if (name) {
      name.isClosed = !name.isClosed;
      render();
    } else if (drag && drag.isMark && drag.moved) {
      addUp();
    } else if (drag && !drag.moved) {
      pick(under(event));
    }
    drag = null;
    canvas.classList.remove("held", "marking");
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => tooltip.hide());
  canvas.addEventListener("dblclick", event => {
    const spot = under(event);
    if (spot)
      show(spot.lane.start[spot.i], spot.lane.end[spot.i]);
  });
  onChange(what => {
    if (what === "theme")
      scene.isNew = true;
    if ((what === "matches" || what === "selected") && !element.hidden)
      render();
  });

  /* ---- from the address ---- */

  let isLoaded = false;
  function loadOnce() {
    const wanted = (remembered("it") || "").split("-").map(Number);
    const range = (remembered("t") || "").split("~").map(Number);
    isLoaded = true;
    runs.forEach((run, i) => {
      if (remembered("it") && run.stretches[wanted[i]]) {
        chosen[i] = wanted[i];
        element.querySelectorAll("select")[i].value = String(wanted[i]);
      }
    });
    load();
    if (range.length === 2 && range.every(Number.isFinite) && range[0] < range[1])
      show(range[0], range[1]);
  }

  return {
    key: "timeline",
    label: "Timeline",
    element,
    scene,
    render() {
      if (!isLoaded)
        loadOnce();
      renderNow();
    },
    reveal(node) {
      if (!isLoaded)
        loadOnce();
      reveal(node);
    }
  };
}
