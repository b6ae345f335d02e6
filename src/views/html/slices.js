/* html/slices.js - the samples of one iteration, laid out in lanes.
 *
 * A track is a thread. Its slices are in lanes by nesting depth or, if they may
 * overlap, in the first lane that has room. */

/* Four numbers each: thread, scope, time since the previous slice, duration. */
function readSlices(run, stretch, nodeOf) {
  const tracks = new Map();
  const flat = stretch.slices;
  let start = 0;
  for (let i = 0; i + 3 < flat.length; i += 4) {
    start += flat[i + 2];
    if (!tracks.has(flat[i]))
      tracks.set(flat[i], []);
    tracks.get(flat[i]).push(
        {node: nodeOf[flat[i + 1]], start: start / 1e6, end: (start + flat[i + 3]) / 1e6});
  }
  return Array.from(tracks, ([thread, slices]) => newTrack(run.threads[thread], slices));
}

function newTrack(thread, slices) {
  const lanes = thread.kind === "async" ? laneByRoom(slices) : laneByDepth(slices);
  return {
    name: thread.name,
    kind: thread.kind,
    lanes,
    begin: Math.min(...lanes.map(lane => lane[0].start)),
    end: Math.max(...lanes.map(lane => lane.reduce((most, slice) => Math.max(most, slice.end), 0)))
  };
}

function put(lanes, i, slice) {
  if (!lanes[i])
    lanes[i] = [];
  lanes[i].push(slice);
}

/* Parents come before children, so a stack of open slices gives the depth. */
function laneByDepth(slices) {
  const lanes = [], open = [];
  for (const slice of slices) {
    while (
        open.length && open[open.length - 1].end <= slice.start && open[open.length - 1] !== slice)
      open.pop();
    put(lanes, open.length, slice);
    open.push(slice);
  }
  return lanes;
}

function laneByRoom(slices) {
  const lanes = [];
  for (const slice of slices) {
    let i = lanes.findIndex(lane => lane[lane.length - 1].end <= slice.start);
    if (i < 0)
      i = lanes.length;
    put(lanes, i, slice);
  }
  return lanes;
}

/* The first slice of a lane that ends after a time. The slices of a lane are
 * sorted by start and do not overlap. */
function firstAfter(lane, moment) {
  let low = 0, high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane[middle].end > moment)
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
