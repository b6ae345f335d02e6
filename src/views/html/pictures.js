/* html/pictures.js - the photographs with what was found drawn on them. */

function picturesView(report) {
  const element = make("section");
  let isRendered = false;

  function newFigure(picture) {
    const figure = make("figure", {},
        make("button", {
          type: "button",
          "aria-label": `Enlarge ${shorten(picture.name, 80)}`,
          onclick: () => figure.classList.toggle("wide")
        },
            make("img", {
              src: `data:${picture.type};base64,${picture.bytes}`,
              alt: shorten(picture.name, 200),
              loading: "lazy"
            })),
        make("figcaption", {}, nameText(picture.name, 80)));
    return figure;
  }

  function render() {
    if (isRendered)
      return;
    isRendered = true;
    element.append(report.pictures.length
            ? make("div", {class: "pictures"}, report.pictures.map(newFigure))
            : missing("No pictures are in this page. ", code("assay report RUN --pictures"),
                  " includes the drawn photographs (NAME_targets.jpg)."));
  }
  return {key: "pictures", label: "Pictures", element, render};
}
