/* html/timeline.js - an iteration over time, one track per thread.
 *
 * Drawn on a canvas: only what is visible, and only one of several slices in the
 * same pixel. Dragging moves; the wheel zooms once the timeline has been clicked,
 * so that scrolling past it does not; keys do both. */

const LANE = 19, TRACK_GAP = 10, RULER = 24, TRACK_NAME = 18;

function timelineView(report) {
  const runs = report.runs.filter(run => run.stretches.length > 0)
                   .map(run => ({...run, stretches: inOrder(run.stretches)}));
  const canvas = make("canvas", {tabindex: 0, role: "img", "aria-label": "Timeline"});
  const said = make("p", {class: "note said"});
  const notes = make("p", {class: "note"});
  const chosen = runs.map(run => typicalStretch(run, run.stretches));
  const seen = {from: 0, to: 1}; /* ms */
  let tracks = [], length = 1, height = 0, picked = null, drag = null;

  const element = make("section");
  if (runs.length === 0) {
    element.append(missing("No samples are kept in full in this run, so there is no timeline. ",
        "Runs that Assay records keep the first, a median, the slowest and the last iteration."));
    return {key: "timeline", label: "Timeline", element, render() {}};
  }
  element.append(
      make("div", {class: "controls"}, runs.map(chooser),
          ...[["Zoom in", () => zoom(0.5)], ["Zoom out", () => zoom(2)], ["All", showAll]].map(
              ([label, act]) =>
                  make("button", {class: "plain", type: "button", onclick: act}, label))),
      make("div", {class: "timeline"}, canvas), said, notes,
      make("p", {class: "note keys"}, make("kbd", {}, "\u2190 \u2192"), " move, ",
          make("kbd", {}, "+ \u2212"), " or the wheel zoom, ", make("kbd", {}, "0"), " all, ",
          make("kbd", {}, ", ."), " slice by slice, ", make("kbd", {}, "\u2191 \u2193"),
          " up and down the tree; double click zooms to a slice"));

  function chooser(run, i) {
    return make("label", {},
        report.comparison       ? letterOf(run.side)
            : run.hasIterations ? "Iteration"
                                : "Show",
        make("select", {
          onchange: event => {
            chosen[i] = Number(event.target.value);
            load();
          }
        },
            run.stretches.map((stretch, k) => make("option", {value: k, selected: k === chosen[i]},
                                  stretchLabel(run, stretch)))));
  }

  function load() {
    tracks = runs.flatMap((run, i) => {
      const stretch = run.stretches[chosen[i]];
      return readSlices(run, stretch, report.nodeOf[run.side]).map(track => ({
        ...track,
        title: (report.comparison ? letterOf(run.side) + "  " : "") + track.name
      }));
    });
    length = Math.max(1e-6, ...tracks.map(track => track.end));
    picked = null;
    const out = sum(runs.map((run, i) => run.stretches[chosen[i]].left_out));
    notes.textContent = out
        ? `${grouped(out)} shorter slices are left out of this page to keep it small; ` +
            "assay trace RUN has them all."
        : "";
    showAll();
  }

  function layOut() {
    let y = RULER;
    for (const track of tracks) {
      track.y = y + TRACK_NAME;
      y = track.y + track.lanes.length * LANE + TRACK_GAP;
    }
    height = Math.max(y, 120);
  }

  /* ---- drawing ---- */

  function render() {
    const width = widthOf(canvas.parentElement), ratio = devicePixelRatio || 1;
    layOut();
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    drawRuler(pen, width);
    for (const track of tracks)
      drawTrack(pen, track, width);
  }

  function toX(ms, width) {
    return (ms - seen.from) / (seen.to - seen.from) * width;
  }

  function drawRuler(pen, width) {
    pen.strokeStyle = colours.get("line");
    pen.fillStyle = colours.get("soft");
    pen.beginPath();
    const ticks = niceTicks(seen.from, seen.to, width / 110);
    for (const tick of ticks) {
      const x = Math.round(toX(tick, width)) + 0.5;
      pen.moveTo(x, RULER - 4);
      pen.lineTo(x, height);
      pen.fillText(tick === 0 ? "0" : timeText(tick), Math.min(x, width - 46), 10);
    }
    pen.stroke();
  }

  function drawTrack(pen, track, width) {
    pen.fillStyle = colours.get("soft");
    pen.fillText(
        isolated(shorten(track.title, 60)) + (track.kind === "cpu" ? "" : `  (${track.kind})`), 2,
        track.y - TRACK_NAME / 2);
    track.lanes.forEach((lane, i) => {
      const y = track.y + i * LANE;
      let covered = -1; /* pixels up to here are drawn */
      for (let k = firstAfter(lane, seen.from); k < lane.length && lane[k].start < seen.to; k++) {
        const left = Math.max(-1, toX(lane[k].start, width));
        const right = Math.min(width + 1, toX(lane[k].end, width));
        if (right - left < 0.7 && left < covered + 0.7)
          continue;
        covered = Math.max(right, left + 0.7);
        drawSlice(pen, lane[k], left, covered, y);
      }
    });
  }

  function drawSlice(pen, slice, left, right, y) {
    const kind = report.comparison ? changeKind(slice.node) : slice.node.kind;
    const wide = right - left;
    pen.globalAlpha = isDim(slice.node) ? 0.2 : 1;
    pen.fillStyle = colours.get("fill-" + kind.key);
    pen.fillRect(left, y, wide > 3 ? wide - 1 : wide, LANE - 2);
    if (wide > 30) {
      pen.fillStyle = colours.get("on-fill");
      pen.fillText(fitting(pen, slice.node.name, wide - 10), left + 5, y + LANE / 2 - 0.5);
    }
    if (slice === picked || slice.node === state.selected) {
      pen.strokeStyle = colours.get(slice === picked ? "accent" : "ink");
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, y + 1, Math.max(1, wide - 3), LANE - 4);
      pen.lineWidth = 1;
    }
    pen.globalAlpha = 1;
  }

  function fitting(pen, name, room) {
    const most = Math.floor(room / 5);
    let text = shorten(name, Math.max(3, most));
    if (pen.measureText(text).width > room)
      text = shorten(name, Math.max(3, Math.floor(most * room / pen.measureText(text).width)));
    return pen.measureText(text).width <= room + 4 ? isolated(text) : "";
  }

  /* ---- what is under the pointer ---- */

  function at(x, y, width) {
    const track = tracks.find(item => y >= item.y && y < item.y + item.lanes.length * LANE);
    if (!track)
      return null;
    const lane = track.lanes[Math.floor((y - track.y) / LANE)];
    const pixel = (seen.to - seen.from) / width;
    const moment = seen.from + x * pixel;
    const slice = lane[firstAfter(lane, moment - pixel)];
    return slice && slice.start <= moment + pixel ? slice : null;
  }

  function under(event) {
    const place = canvas.getBoundingClientRect();
    return at(event.clientX - place.left, event.clientY - place.top, place.width);
  }

  function lines(slice) {
    return [
      tooltipHead(slice.node.name),
      slice.node.class ? make("div", {class: "soft"}, nameText(slice.node.class)) : "", pairs([
        ["this time", timeText(slice.end - slice.start)], ["from", timeText(slice.start)],
        ["mean", timeText(slice.node.scope.total_ms)]
      ])
    ];
  }

  /* ---- moving ---- */

  function show(from, to) {
    const least = length / 1e6, span = Math.min(Math.max(to - from, least), length * 1.02);
    seen.from = Math.max(-length * 0.01, Math.min(from, length * 1.01 - span));
    seen.to = seen.from + span;
    render();
  }

  function showAll() {
    show(-length * 0.01, length * 1.01);
  }

  function zoom(factor, part = 0.5) {
    const span = seen.to - seen.from, centre = seen.from + part * span;
    show(centre - part * span * factor, centre + (1 - part) * span * factor);
  }

  function move(part) {
    const step = part * (seen.to - seen.from);
    show(seen.from + step, seen.to + step);
  }

  /* ---- picking ---- */

  function pick(slice) {
    picked = slice;
    if (slice) {
      select(slice.node);
      const text = `${shorten(slice.node.name, 80)}: ${timeText(slice.end - slice.start)} from ${
          timeText(slice.start)}`;
      said.replaceChildren(nameText(slice.node.name),
          `: ${timeText(slice.end - slice.start)} from ${timeText(slice.start)}`);
      speak(text);
      if (slice.end < seen.from || slice.start > seen.to)
        return show(
            slice.start - (seen.to - seen.from) / 2, slice.start + (seen.to - seen.from) / 2);
    }
    render();
  }

  /* Along the lane of the picked slice, or to the lane above or below it. */
  function step(along, down) {
    for (const track of tracks)
      for (let i = 0; i < track.lanes.length; i++) {
        const k = track.lanes[i].indexOf(picked);
        if (k < 0)
          continue;
        const lane = track.lanes[i + down];
        if (lane)
          pick(down === 0 ? lane[k + along] || picked
                          : lane[Math.min(firstAfter(lane, picked.start), lane.length - 1)]);
        return;
      }
    pick(tracks[0].lanes[0][0]);
  }

  const keys = {
    ArrowLeft: () => move(-0.2),
    ArrowRight: () => move(0.2),
    "+": () => zoom(0.6),
    "=": () => zoom(0.6),
    "-": () => zoom(1 / 0.6),
    0: showAll,
    ".": () => step(1, 0),
    ",": () => step(-1, 0),
    ArrowDown: () => step(0, 1),
    ArrowUp: () => step(0, -1),
    Enter: () => picked && show(picked.start, picked.end),
  };
  canvas.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || !keys[event.key])
      return;
    keys[event.key]();
    event.preventDefault();
  });
  canvas.addEventListener("wheel", event => {
    if (document.activeElement !== canvas && !event.ctrlKey)
      return;
    const place = canvas.getBoundingClientRect();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      move(event.deltaX / place.width);
    else
      zoom(Math.exp(Math.max(-80, Math.min(80, event.deltaY)) / 200),
          (event.clientX - place.left) / place.width);
    event.preventDefault();
  }, {passive: false});
  canvas.addEventListener("pointerdown", event => {
    drag = {x: event.clientX, from: seen.from, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    if (drag) {
      const by =
          (event.clientX - drag.x) / canvas.getBoundingClientRect().width * (seen.to - seen.from);
      drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
      canvas.classList.toggle("held", drag.moved);
      if (drag.moved)
        return show(drag.from - by, drag.from - by + seen.to - seen.from);
    }
    const slice = under(event);
    if (slice)
      tooltip.show(event, ...lines(slice));
    else
      tooltip.hide();
  });
  canvas.addEventListener("pointerup", event => {
    if (drag && !drag.moved)
      pick(under(event));
    drag = null;
    canvas.classList.remove("held");
  });
  canvas.addEventListener("pointerleave", () => tooltip.hide());
  canvas.addEventListener("dblclick", event => {
    const slice = under(event);
    if (slice)
      show(slice.start, slice.end);
  });
  onChange(what => {
    if (what === "matches" && !element.hidden)
      render();
  });
  let isLoaded = false;
  return {
    key: "timeline",
    label: "Timeline",
    element,
    render() {
      if (isLoaded)
        return render();
      isLoaded = true;
      load();
    }
  };
}
