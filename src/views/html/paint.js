/* html/paint.js - draws the timeline on a canvas: only what is visible, and only
 * one of several slices in the same pixel, so that a frame takes as long for
 * 200 000 slices as for 2000.
 *
 * A scene: tracks (with y, height and lanes, see slices.js), counters (with y),
 * seen {from, to} in ms, width, height, scroll, picked, area, launches. */

const LANE = 18, TRACK_NAME = 18, TRACK_GAP = 8, RULER = 24, COUNTER = 52;

function sceneX(scene, ms) {
  return (ms - scene.seen.from) / (scene.seen.to - scene.seen.from) * scene.width;
}

/* Gives tracks and counters their places; returns the height of all. */
function layOutScene(scene) {
  let y = RULER;
  for (const track of scene.tracks) {
    track.y = y + TRACK_NAME;
    track.height = track.isClosed ? 4 : track.lanes.length * LANE;
    y = track.y + track.height + TRACK_GAP;
  }
  for (const counter of scene.counters) {
    counter.y = y + TRACK_NAME;
    y = counter.y + COUNTER + TRACK_GAP;
  }
  return y;
}

function paintScene(pen, scene) {
  pen.clearRect(0, 0, scene.width, scene.height);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const ticks = niceTicks(scene.seen.from, scene.seen.to, scene.width / 110);
  paintRules(pen, scene, ticks);
  pen.save();
  pen.beginPath();
  pen.rect(0, RULER, scene.width, scene.height - RULER);
  pen.clip();
  pen.translate(0, -scene.scroll);
  for (const track of scene.tracks)
    if (track.y + track.height > scene.scroll && track.y - TRACK_NAME < scene.scroll + scene.height)
      paintTrack(pen, scene, track);
  for (const counter of scene.counters)
    paintCounter(pen, scene, counter);
  paintArrows(pen, scene);
  pen.restore();
  paintArea(pen, scene);
  paintRuler(pen, scene, ticks);
}

function paintRules(pen, scene, ticks) {
  pen.strokeStyle = colours.get("line");
  pen.beginPath();
  for (const tick of ticks) {
    const x = Math.round(sceneX(scene, tick)) + 0.5;
    pen.moveTo(x, RULER);
    pen.lineTo(x, scene.height);
  }
  pen.stroke();
}

function paintRuler(pen, scene, ticks) {
  pen.fillStyle = colours.get("ground");
  pen.fillRect(0, 0, scene.width, RULER - 2);
  pen.fillStyle = colours.get("soft");
  pen.strokeStyle = colours.get("line");
  pen.beginPath();
  let free = -1;
  for (const tick of ticks) {
    const x = Math.round(sceneX(scene, tick)) + 0.5;
    const text = tickText(tick, ticks), wide = pen.measureText(text).width;
    pen.moveTo(x, RULER - 6);
    pen.lineTo(x, RULER);
    const left = Math.max(2, Math.min(x - wide / 2, scene.width - wide - 2));
    if (left > free) {
      pen.fillText(text, left, 9);
      free = left + wide + 8;
    }
  }
  pen.stroke();
}

/* The time of a tick, in the unit of the largest, as exact as the step. */
function tickText(tick, ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(tick) || 1;
  const most = Math.max(...ticks.map(Math.abs));
  const unit = TIME_STEPS.findLast(([size]) => size <= most) || TIME_STEPS[0];
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step / unit[0]) + 1e-9)));
  return tick === 0 ? "0" : `${(tick / unit[0]).toFixed(decimals)} ${unit[1]}`;
}

function paintTrack(pen, scene, track) {
  pen.fillStyle = colours.get("soft");
  pen.fillText((track.isClosed ? "\u25b8 " : "\u25be ") + isolated(shorten(track.title, 60)) +
          (track.kind === "cpu" ? "" : `  (${track.kind})`),
      2, track.y - TRACK_NAME / 2);
  if (track.isClosed)
    return paintLane(pen, scene, track, track.lanes[0], track.y, 4);
  track.lanes.forEach((lane, i) => {
    const y = track.y + i * LANE;
    if (y + LANE > scene.scroll && y < scene.scroll + scene.height)
      paintLane(pen, scene, track, lane, y, LANE - 2);
  });
}

function paintLane(pen, scene, track, lane, y, high) {
  const pixel = (scene.seen.to - scene.seen.from) / scene.width;
  let k = firstAfter(lane, scene.seen.from);
  while (k < lane.n && lane.start[k] < scene.seen.to) {
    const left = Math.max(-1, sceneX(scene, lane.start[k]));
    const right = Math.min(scene.width + 1, sceneX(scene, lane.end[k]));
    if (right - left < 1) {
      /* Narrower than a pixel: one for all that end in this pixel. */
      paintSlice(pen, scene, track, lane, k, left, left + 1, y, high);
      k = firstAfter(lane, lane.start[k] + pixel, k + 1);
    } else {
      paintSlice(pen, scene, track, lane, k, left, right, y, high);
      k++;
    }
  }
}

function paintSlice(pen, scene, track, lane, k, left, right, y, high) {
  const node = track.nodeOf[lane.rows[k]], wide = right - left;
  const isFaint = isDim(node);
  if (isFaint)
    pen.globalAlpha = 0.2;
  pen.fillStyle = colours.get("fill-" + scene.kindOf(node).key);
  pen.fillRect(left, y, wide > 3 ? wide - 1 : wide, high);
  if (wide > 30 && high > 10) {
    pen.fillStyle = colours.get("on-fill");
    const text = fittingText(pen, node, wide - 10);
    if (text)
      pen.fillText(text, left + 5, y + high / 2 + 0.5);
  }
  if (isFaint)
    pen.globalAlpha = 1;
  const picked = scene.picked;
  const isPicked = picked && picked.lane === lane && picked.i === k;
  if (isPicked || node === state.selected) {
    pen.strokeStyle = colours.get(isPicked ? "accent" : "ink");
    pen.lineWidth = isPicked ? 3 : 2;
    pen.strokeRect(left + 1, y + 1, Math.max(1, wide - 3), high - 2);
    pen.lineWidth = 1;
  }
}

const LABEL_LEAST = 4, LABEL_MIDDLE = 10; /* letters */

/* As much of a node's name as there is room for; its width is measured once. Short
 * labels have the start of the name, longer ones its end too; two or three letters
 * say nothing. */
function fittingText(pen, node, room) {
  if (node.textWidth === undefined) {
    node.textStart = shorten(node.name, 80);
    node.textWidth = pen.measureText(node.textStart).width;
  }
  if (node.textWidth <= room)
    return isolated(node.textStart);
  const letters = Math.floor(room / node.textWidth * node.textStart.length) - 1;
  if (letters < LABEL_LEAST)
    return "";
  return isolated(letters < LABEL_MIDDLE
          ? Array.from(node.textStart).slice(0, letters - 1).join("") + "\u2026"
          : shorten(node.textStart, letters));
}

/* A counter as an area below a step line; its scale begins at 0. */
function paintCounter(pen, scene, counter) {
  const {times, values} = counter;
  const high = counter.most > 0 ? (COUNTER - 4) / counter.most : 0;
  const base = counter.y + COUNTER;
  let k = Math.max(0, upperIndex(times, scene.seen.from) - 1);
  pen.fillStyle = colours.get("soft");
  pen.fillText(isolated(shorten(counter.title, 60)) +
          `  0 to ${
              counter.unit === "bytes" ? bytesText(counter.most) : plainNumber(counter.most)}`,
      2, counter.y - TRACK_NAME / 2);
  pen.fillStyle = colours.get("fill-" + counter.fill);
  let x = Math.round(sceneX(scene, times[k])), value = values[k];
  for (; k < times.length && times[k] < scene.seen.to; k++) {
    const next = Math.round(sceneX(scene, k + 1 < times.length ? times[k + 1] : counter.end));
    value = Math.max(value, values[k]);
    if (next === x)
      continue;
    pen.fillRect(x, base - value * high, next - x, value * high);
    x = next;
    value = values[k + 1] ?? 0;
  }
}

/* How many of sorted numbers are at most a value. */
function upperIndex(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const ARROWS_MOST = 300;

/* From where the host launched work to where a device did it: those of the
 * picked slice, or all that are visible if they are few. */
function paintArrows(pen, scene) {
  const chosen = scene.launches.filter(launch => isPickedLaunch(scene, launch));
  const all = chosen.length ? chosen : visibleLaunches(scene);
  if (all.length > ARROWS_MOST)
    return;
  pen.strokeStyle = colours.get("accent");
  pen.fillStyle = colours.get("accent");
  pen.globalAlpha = chosen.length ? 1 : 0.45;
  for (const launch of all) {
    const host = scene.hostOf(launch);
    if (!host || host.track.isClosed || launch.track.isClosed)
      continue;
    const x1 = sceneX(scene, launch.at), y1 = host.track.y + host.lane * LANE + LANE - 2;
    const x2 = sceneX(scene, launch.track.lanes[launch.lane].start[launch.i]);
    const y2 = launch.track.y + launch.lane * LANE;
    const bend = Math.max(12, Math.min(80, Math.abs(x2 - x1) / 2));
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 1, y2 + 1);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x2, y2 + 2);
    pen.lineTo(x2 - 5, y2 - 3);
    pen.lineTo(x2 - 6, y2 + 3);
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function isPickedLaunch(scene, launch) {
  const picked = scene.picked;
  if (!picked)
    return false;
  if (picked.lane === launch.track.lanes[launch.lane])
    return picked.i === launch.i;
  const host = scene.hostOf(launch);
  return Boolean(host) && picked.lane === host.track.lanes[host.lane] && picked.i === host.i;
}

function visibleLaunches(scene) {
  const found = [];
  for (const launch of scene.launches) {
    const start = launch.track.lanes[launch.lane].start[launch.i];
    if (start >= scene.seen.from && launch.at <= scene.seen.to && found.length <= ARROWS_MOST)
      found.push(launch);
  }
  return found;
}

function paintArea(pen, scene) {
  const area = scene.area;
  if (!area)
    return;
  const left = sceneX(scene, area.from), right = sceneX(scene, area.to);
  const top = Math.max(RULER, area.top - scene.scroll), bottom = area.bottom - scene.scroll;
  pen.fillStyle = colours.get("accent");
  pen.globalAlpha = 0.12;
  pen.fillRect(left, top, right - left, bottom - top);
  pen.globalAlpha = 1;
  pen.strokeStyle = colours.get("accent");
  pen.strokeRect(left + 0.5, top + 0.5, right - left - 1, bottom - top - 1);
  const text = timeText(area.to - area.from), wide = pen.measureText(text).width;
  if (right - left > wide + 8) {
    pen.fillStyle = colours.get("ink");
    pen.fillText(text, (left + right - wide) / 2, top + 9);
  }
}
