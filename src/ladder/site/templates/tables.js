// Tables that sort by a click on, or the Enter key at, the head of a column.
function sortable(table) {
  for (const [index, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = element("button", { type: "button" }, ...head.childNodes);
    button.addEventListener("click", () => sort(table, index));
    head.replaceChildren(button);
  }
}

function sort(table, index) {
  const head = table.tHead.rows[0].cells[index];
  const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
  const sign = direction === "ascending" ? 1 : -1;
  const key = (row) => row.cells[index].dataset.value ?? row.cells[index].textContent.trim();
  const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
  const isEmpty = (text) => text === "" || text === DASH;
  const compare = (a, b) => (isNumeric([a, b]) ? a - b : a.localeCompare(b, "en", { numeric: true }));
  // Cells without a value stay last in both directions.
  rows.sort(([a], [b]) => isEmpty(a) - isEmpty(b) || sign * compare(a, b));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

// A table of rows; a column is {title, cell(row), value(row)}, with a value if it is of numbers.
function tableOf(columns, rows) {
  const head = element("tr", {}, ...columns.map((column) => element("th", { scope: "col", className: column.value ? "n" : "" }, column.title)));
  const body = rows.map((row) => element("tr", {}, ...columns.map((column) => cellOf(column, row))));
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  sortable(table);
  return table;
}

function cellOf(column, row) {
  const cell = element("td", { className: column.value ? "n" : "" }, column.cell(row));
  if (column.value) cell.dataset.value = column.value(row) ?? "";
  return cell;
}
