/* html/area.js - what a marked part of the timeline adds up to, by class and by
 * module.
 *
 * A slice counts with the part of it inside the area. Its own time is that
 * without the slices inside it on the same track; of work on several tracks at
 * once the times add up. */

/* {node, self, total, slices} per module of the tracks between two times. */
function addUpArea(tracks, from, to) {
  const sums = new Map();
  const sumOf = node => {
    if (!sums.has(node))
      sums.set(node, {node, self: 0, total: 0, slices: 0});
    return sums.get(node);
  };
  for (const track of tracks)
    track.lanes.forEach((lane, depth) => {
      const above = depth > 0 && track.kind !== "async" ? track.lanes[depth - 1] : null;
      let parent = above ? firstAfter(above, from) : 0;
      for (let i = firstAfter(lane, from); i < lane.n && lane.start[i] < to; i++) {
        const inside = Math.min(to, lane.end[i]) - Math.max(from, lane.start[i]);
        const sum = sumOf(track.nodeOf[lane.rows[i]]);
        sum.self += inside;
        sum.total += inside;
        sum.slices++;
        if (!above)
          continue;
        while (parent < above.n && above.end[parent] <= lane.start[i])
          parent++;
        if (parent < above.n && above.start[parent] <= lane.start[i])
          sumOf(track.nodeOf[above.rows[parent]]).self -= inside;
      }
    });
  return Array.from(sums.values());
}

function areaClasses(sums) {
  return Array.from(groupedBy(sums, sum => mergeKey(sum.node)), ([name, items]) => ({
    name,
    kind: items[0].node.kind,
    self: sum(items.map(item => item.self)),
    slices: sum(items.map(item => item.slices))
  }));
}

/* The pane below the timeline. onClose: the area is to be forgotten. */
function areaPane(onClose) {
  const head = make("h2"), note = make("span", {class: "soft"});
  const share = row => row.self / (pane.whole || 1);
  const classes = newGrid({
    label: "By class",
    sort: 1,
    columns: [
      {
        label: "class",
        value: row => row.name,
        cell: row => [make("span", {class: "swatch fill-" + row.kind.key}), nameText(row.name, 40)]
      },
      number("self ms", row => row.self),
      {...number("share", share), text: row => percentText(share(row))},
      number("slices", row => row.slices)
    ]
  });
  const modules = newGrid({
    label: "By module",
    sort: 1,
    columns: [
      {
        label: "module",
        value: row => pathText(row.node),
        cell: row => nameText(pathText(row.node), 60)
      },
      number("self ms", row => row.self), number("total ms", row => row.total),
      {...number("share", share), text: row => percentText(share(row))},
      number("slices", row => row.slices)
    ],
    onChoose: row => select(row.node)
  });
  const element = make("section", {class: "area", "aria-label": "The marked area", hidden: true},
      make("header", {}, head, note,
          make("button", {class: "plain small", type: "button", onclick: onClose}, "Close")),
      make("div", {}, classes.element), make("div", {}, modules.element));
  const pane = {
    element,
    whole: 0,
    show(tracks, from, to) {
      const sums = addUpArea(tracks, from, to);
      const slices = sum(sums.map(item => item.slices));
      pane.whole = sum(sums.map(item => item.self));
      element.hidden = false;
      head.textContent = `${timeText(to - from)} from ${timeText(Math.max(0, from))}`;
      note.textContent = `${timeText(pane.whole)} of work in ${counted(slices, "slice")} on ${
          counted(tracks.length, "track")}`;
      classes.setRows(areaClasses(sums));
      modules.setRows(sums);
      speak(`${head.textContent}: ${note.textContent}`);
    },
    hide() {
      element.hidden = true;
    }
  };
  return pane;
}
