/* html/slices.js - the samples of one iteration, laid out in lanes.
 *
 * A track is a thread, a worker or a stream of a device. Its slices are in lanes
 * by nesting depth or, if they may overlap, in the first lane that has room. A
 * lane has its slices in typed arrays: start and end in ms since the iteration
 * began, and the row of the scope; 200 000 slices take 5 MB. The slices of a lane
 * are sorted by start and do not overlap. */

/* Numbers of seven bits per byte, as report_slices.c writes them. */
function numberReader(base64) {
  const bytes = atob(base64);
  let at = 0;
  const next = () => {
    let value = 0, scale = 1;
    for (;;) {
      const byte = bytes.charCodeAt(at++);
      value += (byte & 127) * scale;
      if (byte < 128)
        return value;
      scale *= 128;
    }
  };
  return {
    next,
    /* A number with a sign: even ones are positive. */
    nextSigned() {
      const value = next();
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    },
    isAtEnd: () => at >= bytes.length,
  };
}

/* The tracks of a stretch. launches: {track, lane, i, at}, the slices of devices
 * with the time when the host launched them. */
function readSlices(run, stretch) {
  const reader = numberReader(stretch.slices), unit = stretch.unit_ns / 1e6;
  const tracks = [];
  const index = []; /* the track, lane and place of every slice that was launched */
  const launched = readLaunches(stretch, unit);
  let row = 0, first = 0;
  for (let t = 0; t + 1 < stretch.threads.length; t += 2) {
    const n = stretch.threads[t + 1];
    const start = new Float64Array(n), end = new Float64Array(n), rows = new Uint32Array(n);
    let at = 0;
    for (let i = 0; i < n; i++) {
      row += reader.nextSigned();
      at += reader.nextSigned();
      rows[i] = row;
      start[i] = at * unit;
      end[i] = (at + reader.next()) * unit;
    }
    const track = newTrack(run.threads[stretch.threads[t]], {start, end, rows}, tracks.length);
    for (let i = 0; i < n; i++)
      if (launched.has(first + i))
        index.push({
          track,
          lane: track.laneOf[i],
          i: track.placeOf[i],
          at: start[i] - launched.get(first + i)
        });
    first += n;
    tracks.push(track);
  }
  return {tracks, launches: index};
}

/* How long before its start a slice was launched, by number of the slice. */
function readLaunches(stretch, unit) {
  const reader = numberReader(stretch.launches), launched = new Map();
  let at = 0;
  while (!reader.isAtEnd()) {
    at += reader.next();
    launched.set(at, reader.next() * unit);
  }
  return launched;
}

function newTrack(thread, slices, id) {
  const laneOf = thread.kind === "async" ? laneByRoom(slices) : laneByDepth(slices);
  const counts = [];
  for (const lane of laneOf)
    counts[lane] = (counts[lane] || 0) + 1;
  const lanes = Array.from(counts, n => ({
    start: new Float64Array(n || 0),
    end: new Float64Array(n || 0),
    rows: new Uint32Array(n || 0),
    n: 0
  }));
  const placeOf = new Uint32Array(laneOf.length);
  let end = 0;
  for (let i = 0; i < laneOf.length; i++) {
    const lane = lanes[laneOf[i]];
    placeOf[i] = lane.n;
    lane.start[lane.n] = slices.start[i];
    lane.end[lane.n] = slices.end[i];
    lane.rows[lane.n++] = slices.rows[i];
    end = Math.max(end, slices.end[i]);
  }
  return {id, name: thread.name, kind: thread.kind, lanes, laneOf, placeOf, end};
}

/* Parents come before children, so a stack of open slices gives the depth. */
function laneByDepth(slices) {
  const lanes = new Uint16Array(slices.start.length), open = [];
  for (let i = 0; i < lanes.length; i++) {
    while (open.length && open[open.length - 1] <= slices.start[i])
      open.pop();
    lanes[i] = open.length;
    open.push(slices.end[i]);
  }
  return lanes;
}

function laneByRoom(slices) {
  const lanes = new Uint16Array(slices.start.length), ends = [];
  for (let i = 0; i < lanes.length; i++) {
    let lane = ends.findIndex(end => end <= slices.start[i]);
    if (lane < 0)
      lane = ends.length;
    lanes[i] = lane;
    ends[lane] = slices.end[i];
  }
  return lanes;
}

/* The first slice of a lane, from `low` on, that ends after a time. */
function firstAfter(lane, moment, low = 0) {
  let high = lane.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] > moment)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The iterations in order, then what ran outside them. */
function inOrder(stretches) {
  const place = stretch => isKnown(stretch.iteration) ? stretch.iteration : Infinity;
  return stretches.slice().sort((a, b) => place(a) - place(b) || 0);
}

/* The iteration to begin with: the median one of those that are kept. */
function typicalStretch(run, stretches) {
  const timed =
      stretches
          .map((stretch, i) =>
                   ({i, ms: run.iterations.ms[run.iterations.index.indexOf(stretch.iteration)]}))
          .filter(item => item.ms !== undefined);
  const middle = median(run.iterations.ms);
  timed.sort((a, b) => Math.abs(a.ms - middle) - Math.abs(b.ms - middle));
  return timed.length ? timed[0].i : 0;
}

/* The label of a stretch: its place among the iterations says why it was kept. */
function stretchLabel(run, stretch) {
  if (!isKnown(stretch.iteration))
    return run.hasIterations ? "outside the iterations" : "the run";
  const at = run.iterations.index.indexOf(stretch.iteration);
  const all = run.iterations.ms;
  const ms = at >= 0 ? all[at] : null;
  const words = [];
  if (stretch.iteration === 0)
    words.push("first");
  if (ms !== null && all.length > 2) {
    if (ms === Math.max(...all))
      words.push("slowest");
    else if (ms === all.slice().sort((a, b) => a - b)[(all.length - 1) >> 1])
      words.push("median");
  }
  if (stretch.iteration === run.runs.measured - 1 && stretch.iteration > 0)
    words.push("last");
  return `iteration ${stretch.iteration + 1}` + (words.length ? ` (${words.join(", ")})` : "") +
      (ms !== null ? `, ${timeText(ms)}` : "");
}
