"use strict";
(function () {
  // --- sorting and filtering of tables ---
  function value(row, column) {
    const cell = row.cells[column];
    const raw = cell.dataset.v;
    if (raw === undefined) return cell.textContent.trim().toLowerCase();
    return raw === "" ? null : Number(raw);
  }
  function compare(a, b) {
    if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
    return a - b;
  }
  function sort(table, column, header) {
    const descending = header.getAttribute("aria-sort") === "ascending";
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows).map((row) => [value(row, column), row]);
    // empty cells stay last in both directions
    keyed.sort(function ([a], [b]) {
      if (a === null || b === null) return (a === null) - (b === null);
      return descending ? compare(b, a) : compare(a, b);
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...keyed.map(([, row]) => row));
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach(function (header, column) {
      header.querySelector("button").addEventListener("click", () => sort(table, column, header));
    });
  }
  for (const input of document.querySelectorAll("input[data-table]")) {
    const rows = document.getElementById(input.dataset.table).tBodies[0].rows;
    input.addEventListener("input", function () {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }

  // --- tables as text ---
  // what no sheet may take for a formula stands behind an apostrophe, as in the program's own CSV
  function guarded(text) {
    return /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  }
  function whole(cell, header) {
    if (cell.dataset.v !== undefined) return cell.dataset.v;
    if (header.dataset.whole !== undefined && cell.title) return guarded(cell.title);
    const shown = cell.querySelector("summary") || cell;
    return guarded(shown.textContent.trim());
  }
  // the rows that are shown, in their order; what cells show when they are opened is in further columns
  function records(table) {
    const headers = Array.from(table.tHead.rows[0].cells);
    const rows = Array.from(table.tBodies[0].rows).filter((row) => !row.hidden);
    const further = [];
    const opened = rows.map(function (row) {
      const found = new Map();
      for (const name of row.querySelectorAll("details.more dt")) {
        if (!further.includes(name.textContent)) further.push(name.textContent);
        found.set(name.textContent, guarded(name.nextElementSibling.textContent));
      }
      return found;
    });
    const head = headers.map((header) => header.textContent.trim()).concat(further);
    const lines = rows.map((row, index) =>
      Array.from(row.cells, (cell, column) => whole(cell, headers[column]))
        .concat(further.map((name) => opened[index].get(name) || "")));
    return [head].concat(lines);
  }
  function quoted(text) {
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  function csv(table) {
    return records(table).map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  }
  function copied(text) {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("not allowed"));
  }
  function said(button, text) {
    const before = button.dataset.label || button.textContent;
    button.dataset.label = before;
    button.textContent = text;
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  for (const button of document.querySelectorAll(".tool")) {
    button.hidden = false;
    button.setAttribute("aria-live", "polite");
    const table = document.getElementById(button.dataset.copy || button.dataset.csv);
    button.addEventListener("click", function () {
      if (button.dataset.csv) {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
        link.download = table.id.replace(/-table$/, "") + ".csv";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
        return;
      }
      const text = records(table).map((line) => line.map((cell) => cell.replace(/[\t\n]+/g, " ")).join("\t")).join("\n");
      const clipboard = navigator.clipboard && navigator.clipboard.writeText;
      (clipboard ? navigator.clipboard.writeText(text).catch(() => copied(text)) : copied(text))
        .then(() => said(button, "Copied"), () => said(button, "Not allowed here"));
    });
  }
  // small windows show the heading in front of each figure
  for (const table of document.querySelectorAll("table.wide")) {
    const names = Array.from(table.tHead.rows[0].cells, (header) => header.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      Array.from(row.cells).forEach((cell, column) => { cell.dataset.label = names[column]; });
    }
  }
  // paper has no buttons: it shows every row
  let closed = [];
  addEventListener("beforeprint", function () {
    closed = Array.from(document.querySelectorAll("details.rows:not([open])"));
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", function () {
    for (const one of closed) one.open = false;
  });

  // --- theme ---
  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  let theme = 0;
  button.addEventListener("click", function () {
    theme = (theme + 1) % themes.length;
    button.textContent = "Theme: " + themes[theme];
    if (theme) document.documentElement.dataset.theme = themes[theme];
    else delete document.documentElement.dataset.theme;
  });
})();
