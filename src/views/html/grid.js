/* html/grid.js - a table that can be sorted by any column and walked with the
 * arrow keys.
 *
 * A column: {label, value(row), text(row) or cell(row), isNumber, digits, hint}.
 * Numbers without a text get as many decimals as the column needs. Rows without a
 * value come last, whichever way the rows are sorted. */

const ROWS_AT_FIRST = 200;
const ROWS_AT_MOST = 5000; /* to show all without being asked */

function newGrid(options) {
  const {columns, label, onChoose} = options;
  const grid = {
    rows: [],
    sort: options.sort,
    isDown: options.isDown !== false,
    isWhole: false,
    chosen: null
  };
  const body = make("tbody");
  const more = make("button", {
    class: "plain more-rows",
    onclick: () => {
      grid.isWhole = true;
      fillBody();
    }
  });
  const heads = columns.map(
      (column, i) => make("th",
          {scope: "col", class: column.isNumber ? "number" : column.class, title: column.hint},
          make("button", {type: "button", onclick: () => sortBy(i)}, column.label)));
  const table = make(
      "table", {role: "grid", "aria-label": label}, make("thead", {}, make("tr", {}, heads)), body);

  function order(a, b) {
    const column = columns[grid.sort];
    const left = column.value(a), right = column.value(b);
    if (!isKnown(left) || !isKnown(right))
      return isKnown(right) - isKnown(left);
    const up = typeof left === "string" ? left.localeCompare(right) : left - right;
    return grid.isDown ? -up : up;
  }

  function sortBy(i) {
    grid.isDown = grid.sort === i ? !grid.isDown : Boolean(columns[i].isNumber);
    grid.sort = i;
    fillBody();
    speak(`sorted by ${columns[i].label}, ${grid.isDown ? "largest" : "smallest"} first`);
  }

  function cellOf(column, row) {
    if (column.cell || column.text)
      return column.cell ? column.cell(row) : column.text(row);
    return fixedText(column.value(row), column.decimals);
  }

  function newRow(row, isFirst) {
    const line = make("tr", {
      tabindex: onChoose ? (isFirst ? 0 : -1) : null,
      "aria-selected": onChoose ? String(row === grid.chosen) : null
    },
        columns.map(column => make("td", {class: column.isNumber ? "number" : column.class},
                        cellOf(column, row))));
    line.row = row;
    return line;
  }

  function fillBody() {
    const sorted = grid.rows.slice().sort(order);
    const shown = grid.isWhole ? sorted : sorted.slice(0, ROWS_AT_FIRST);
    heads.forEach((head, i) => {
      if (i === grid.sort)
        head.setAttribute("aria-sort", grid.isDown ? "descending" : "ascending");
      else
        head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...shown.map((row, i) => newRow(row, i === 0)));
    more.hidden = shown.length === sorted.length;
    more.textContent = `Show all ${grouped(sorted.length)} rows`;
  }

  function choose(line) {
    for (const other of body.querySelectorAll("[aria-selected='true']"))
      other.setAttribute("aria-selected", "false");
    line.setAttribute("aria-selected", "true");
    grid.chosen = line.row;
    onChoose(line.row);
  }

  body.addEventListener("click", event => {
    const line = event.target.closest("tr");
    if (line && onChoose)
      choose(line);
  });
  body.addEventListener("keydown", event => {
    const line = event.target.closest("tr");
    const next = {
      ArrowDown: line.nextElementSibling,
      ArrowUp: line.previousElementSibling,
      Home: body.firstElementChild,
      End: body.lastElementChild
    }[event.key];
    if (next) {
      line.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      event.preventDefault();
    } else if (event.key === "Enter" && onChoose) {
      choose(line);
    }
  });

  function lineOf(row) {
    return Array.from(body.children).find(line => line.row === row) || null;
  }

  /* Shows a row as the chosen one. */
  grid.mark = row => {
    grid.chosen = row;
    for (const line of body.children)
      line.setAttribute("aria-selected", String(line.row === row));
  };
  /* Scrolls to a row, and shows all of them if it is not among the first. */
  grid.reveal = row => {
    if (!lineOf(row) && grid.rows.includes(row) && grid.rows.length <= ROWS_AT_MOST) {
      grid.isWhole = true;
      fillBody();
    }
    grid.mark(row);
    const line = lineOf(row);
    if (line)
      line.scrollIntoView({block: "center"});
  };
  /* What the reader has chosen of it, for the same table of other rows. */
  grid.keep = () => ({sort: grid.sort, isDown: grid.isDown, isWhole: grid.isWhole});
  grid.restore = kept => {
    Object.assign(grid, kept);
    fillBody();
  };
  grid.element = make("div", {class: "grid"}, table, more);
  grid.setRows = rows => {
    grid.rows = rows;
    for (const column of columns)
      if (column.isNumber)
        column.decimals = decimalsOf(rows.map(column.value), column.digits || 5);
    fillBody();
  };
  return grid;
}
