/* html/layers.js - places boxes in layers, so that lines lead downwards.
 *
 * After Sugiyama: boxes get layers by the longest path to them, lines over
 * several layers get a place in each, the order in a layer follows the
 * neighbours' (barycentres), and the places do too, as near as the order allows.
 * Lines that close a circle go around the side. */

const LAYER_GAP = 34, BOX_GAP = 18, LINE_GAP = 10;

/* boxes: {w, h, isLast}; links: {from, to}, indexes of boxes. Gives every box its
 * x and y (of its corner) and every link its points; returns {w, h}. */
function layOutLayers(boxes, links) {
  const order = runningOrder(boxes.length, links);
  const down = links.filter(link => order[link.from] < order[link.to]);
  const places = newPlaces(boxes, down, layersOf(boxes, down, order));
  for (let sweep = 0; sweep < 6; sweep++)
    sortLayers(places, sweep % 2 === 0);
  for (let sweep = 0; sweep < 10; sweep++)
    moveLayers(places, sweep % 2 === 0);
  return settle(boxes, links, places);
}

/* The place of each box in an order in which links lead forwards, except those
 * that close a circle: a walk in depth, each box numbered when all after it are. */
function runningOrder(n, links) {
  const after = Array.from({length: n}, () => []);
  for (const link of links)
    after[link.from].push(link.to);
  const order = new Array(n).fill(-1), isSeen = new Array(n).fill(false);
  let next = n;
  for (let first = 0; first < n; first++) {
    if (isSeen[first])
      continue;
    isSeen[first] = true;
    const stack = [{at: first, i: 0}];
    while (stack.length) {
      const top = stack[stack.length - 1];
      if (top.i < after[top.at].length) {
        const to = after[top.at][top.i++];
        if (!isSeen[to]) {
          isSeen[to] = true;
          stack.push({at: to, i: 0});
        }
      } else {
        order[top.at] = --next;
        stack.pop();
      }
    }
  }
  return order;
}

/* By the longest path; what nothing leads to stands right above what it leads
 * to, and outputs stand last. */
function layersOf(boxes, down, order) {
  const layer = new Array(boxes.length).fill(0);
  const into = boxes.map(() => []), out = boxes.map(() => []);
  for (const link of down) {
    into[link.to].push(link.from);
    out[link.from].push(link.to);
  }
  const sorted = boxes.map((_, i) => i).sort((a, b) => order[a] - order[b]);
  for (const i of sorted)
    for (const from of into[i])
      layer[i] = Math.max(layer[i], layer[from] + 1);
  const last = Math.max(0, ...layer);
  boxes.forEach((box, i) => {
    if (box.isLast)
      layer[i] = last;
    else if (into[i].length === 0 && out[i].length > 0 && !box.isFirst)
      layer[i] = Math.min(...out[i].map(to => layer[to])) - 1;
  });
  return layer;
}

/* One place per box, and per layer that a line passes. */
function newPlaces(boxes, down, layer) {
  const all = boxes.map((box, i) => ({box, w: box.w, layer: layer[i], up: [], down: []}));
  const rows = Array.from({length: Math.max(0, ...layer) + 1}, () => []);
  all.forEach(place => rows[place.layer].push(place));
  for (const link of down) {
    link.places = [all[link.from]];
    for (let row = layer[link.from] + 1; row < layer[link.to]; row++) {
      const bend = {box: null, w: LINE_GAP, layer: row, up: [], down: []};
      rows[row].push(bend);
      link.places.push(bend);
    }
    link.places.push(all[link.to]);
    for (let i = 1; i < link.places.length; i++) {
      link.places[i - 1].down.push(link.places[i]);
      link.places[i].up.push(link.places[i - 1]);
    }
  }
  for (const row of rows)
    row.forEach((place, i) => {
      place.at = i;
      place.x = 0;
    });
  return rows;
}

function sortLayers(rows, isDown) {
  const order = isDown ? rows : rows.slice().reverse();
  for (const row of order) {
    for (const place of row) {
      const near = isDown ? place.up : place.down;
      place.wish = near.length ? sum(near.map(other => other.at)) / near.length : place.at;
    }
    row.sort((a, b) => a.wish - b.wish || a.at - b.at);
    row.forEach((place, i) => {
      place.at = i;
    });
  }
}

/* Moves the places of each layer towards their neighbours, in their order and
 * without overlaps: the nearest such places by least squares. */
function moveLayers(rows, isDown) {
  const order = isDown ? rows : rows.slice().reverse();
  for (const row of order) {
    let offset = 0;
    const pools = []; /* of places that touch */
    row.forEach((place, i) => {
      const near = isDown ? place.up : place.down;
      const wish = near.length ? sum(near.map(other => other.x)) / near.length : place.x;
      if (i > 0)
        offset += (row[i - 1].w + place.w) / 2 + (place.box && row[i - 1].box ? BOX_GAP : LINE_GAP);
      place.offset = offset;
      let pool = {weight: place.box ? 1 : 4, wish: wish - offset, places: [place]};
      while (pools.length && pools[pools.length - 1].wish > pool.wish) {
        const before = pools.pop(), weight = before.weight + pool.weight;
        pool = {
          weight,
          wish: (before.wish * before.weight + pool.wish * pool.weight) / weight,
          places: before.places.concat(pool.places)
        };
      }
      pools.push(pool);
    });
    for (const pool of pools)
      for (const place of pool.places)
        place.x = pool.wish + place.offset;
  }
}

function settle(boxes, links, rows) {
  let y = 0, left = Infinity, right = -Infinity;
  for (const row of rows) {
    const high = Math.max(0, ...row.map(place => place.box ? place.box.h : 0));
    for (const place of row) {
      left = Math.min(left, place.x - place.w / 2);
      right = Math.max(right, place.x + place.w / 2);
      place.top = y;
      place.bottom = y + high;
      if (place.box)
        place.box.y = y + (high - place.box.h) / 2;
    }
    y += high + LAYER_GAP;
  }
  for (const place of rows.flat()) {
    place.x -= left;
    if (place.box)
      place.box.x = place.x - place.w / 2;
  }
  for (const link of links)
    link.points = link.places ? linkPoints(link) : backPoints(boxes[link.from], boxes[link.to]);
  return {w: right - left, h: y - LAYER_GAP};
}

function linkPoints(link) {
  return link.places.flatMap((place, i) => {
    const {x, box} = place;
    if (i === 0)
      return [[x, box.y + box.h], [x, place.bottom]];
    if (i === link.places.length - 1)
      return [[x, place.top], [x, box.y]];
    return [[x, place.top], [x, place.bottom]];
  });
}

/* Against the order: around the right side. */
function backPoints(from, to) {
  const x = Math.max(from.x + from.w, to.x + to.w) + LINE_GAP;
  return [
    [from.x + from.w, from.y + from.h / 2], [x, from.y + from.h / 2], [x, to.y + to.h / 2],
    [to.x + to.w, to.y + to.h / 2]
  ];
}
