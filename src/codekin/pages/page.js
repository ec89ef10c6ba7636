// A click on a heading sorts the rows by that column; a second click reverses the order. Empty cells stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  headings.forEach((heading, column) => {
    const cells = [...body.rows].map((row) => row.cells[column]);
    if (cells.some((cell) => cell.classList.contains("number"))) heading.classList.add("number");
    heading.querySelector("button").addEventListener("click", () => sortBy(heading, column));
  });

  function sortBy(heading, column) {
    const isDescending = heading.getAttribute("aria-sort") === "ascending";
    const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
    const isNumeric = heading.classList.contains("number");
    const compare = (a, b) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const order = isNumeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true });
      return isDescending ? -order : order;
    };
    const rows = [...body.rows].sort((a, b) => compare(key(a), key(b)));
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
    body.append(...rows);
  }
}
