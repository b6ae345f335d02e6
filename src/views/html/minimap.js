/* html/minimap.js - the whole timeline in a strip, and what of it is visible.
 *
 * Dragging moves the visible part; a click goes there. */

function newMinimap(onMove) {
  const canvas = make("canvas", {"aria-hidden": "true"});
  const element = make("div", {class: "minimap"}, canvas);
  const picture = document.createElement("canvas"); /* drawn once per stretch */
  let scene = null, drag = null;

  /* One row per track, the innermost slices: what ran when. */
  function paintPicture(width, height) {
    picture.width = width;
    picture.height = height;
    const pen = picture.getContext("2d");
    const row = Math.max(1, (height - 2) / Math.max(1, scene.tracks.length));
    scene.tracks.forEach((track, t) => {
      for (const lane of track.lanes) {
        let k = 0;
        while (k < lane.n) {
          const left = Math.floor(lane.start[k] / scene.length * width);
          const right = Math.max(left + 1, lane.end[k] / scene.length * width);
          pen.fillStyle = colours.get("fill-" + scene.kindOf(track.nodeOf[lane.rows[k]]).key);
          pen.fillRect(left, 1 + t * row, right - left, Math.max(1, row - 1));
          k = right - left <= 1 ? firstAfter(lane, (left + 1) / width * scene.length, k + 1)
                                : k + 1;
        }
      }
    });
  }

  function render() {
    if (!scene)
      return;
    const ratio = devicePixelRatio || 1;
    const width = Math.round(widthOf(element) * ratio), height = Math.round(34 * ratio);
    if (canvas.width !== width || scene.isNew) {
      canvas.width = width;
      canvas.height = height;
      paintPicture(width, height);
      scene.isNew = false;
    }
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, width, height);
    pen.drawImage(picture, 0, 0);
    const left = Math.max(0, scene.seen.from / scene.length * width);
    const right = Math.min(width, scene.seen.to / scene.length * width);
    pen.fillStyle = colours.get("ground");
    pen.globalAlpha = 0.65;
    pen.fillRect(0, 0, left, height);
    pen.fillRect(right, 0, width - right, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.get("accent");
    pen.lineWidth = 2;
    pen.strokeRect(left + 1, 1, Math.max(2, right - left - 2), height - 2);
  }

  function follow(event) {
    const box = canvas.getBoundingClientRect(), span = scene.seen.to - scene.seen.from;
    const at = (event.clientX - box.left) / box.width * scene.length - drag.grip;
    onMove(at, at + span);
  }

  canvas.addEventListener("pointerdown", event => {
    const box = canvas.getBoundingClientRect(), {from, to} = scene.seen;
    const at = (event.clientX - box.left) / box.width * scene.length;
    drag = {grip: at >= from && at <= to ? at - from : (to - from) / 2};
    canvas.setPointerCapture(event.pointerId);
    follow(event);
  });
  canvas.addEventListener("pointermove", event => drag && follow(event));
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, () => {
      drag = null;
    });

  return {
    element,
    render,
    setScene(next) {
      scene = next;
      scene.isNew = true;
    }
  };
}
