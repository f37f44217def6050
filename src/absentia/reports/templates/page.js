// Click a heading of a table to sort by it.
document.querySelectorAll("table.sortable th button").forEach(button => button.addEventListener("click", () => {
  const head = button.parentNode;
  const table = head.closest("table"), column = [...head.parentNode.children].indexOf(head);
  const up = head.dataset.sorted !== "up";
  table.querySelectorAll("th").forEach(other => delete other.dataset.sorted);
  head.dataset.sorted = up ? "up" : "down";
  const key = row => { const cell = row.children[column];
    const text = cell.dataset.value ?? cell.textContent, number = parseFloat(text);
    return text !== "" && !isNaN(number) && head.classList.contains("number") ? number : text; };
  const missing = value => value === "" || value === "\u2013";
  const rows = [...table.tBodies[0].rows].sort((a, b) => { const x = key(a), y = key(b);
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const order = typeof x === "number" && typeof y === "number" ? x - y
      : String(x).localeCompare(String(y));
    return up ? order : -order; });
  rows.forEach(row => table.tBodies[0].append(row));
}));
