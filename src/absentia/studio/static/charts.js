// Small charts as SVG. Every text is set as text, never as markup.

const SPACE = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const percent = share => {
  const fine = (share > 0 && share < 0.0995) || (share > 0.99 && share < 0.9995);
  return `${(100 * share).toFixed(fine ? 1 : 0)} %`;
};

export const short = (text, limit = 24) =>
  text.length <= limit ? text : `${text.slice(0, Math.ceil(limit / 2))}…${text.slice(1 - Math.floor(limit / 2))}`;

export function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1000) return value.toFixed(0);
  return size !== 0 && size < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

function frame(width, height, label) {
  return svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label});
}

// One dot on a line per item, with an interval where it has one: [{label, value, low, high, text}].
export function dots(items, {from = 0, to = 1, label, width = 420, space = 150, end = 62} = {}) {
  const height = 26 * items.length + 6, chart = frame(width, height, label);
  const place = value => space + (Math.min(Math.max(value, from), to) - from) / (to - from || 1) * (width - space - end);
  items.forEach((item, k) => {
    const y = 26 * k + 16;
    const name = svg("text", {x: space - 12, y: y + 4, "text-anchor": "end"}, short(item.label, Math.floor((space - 12) / 8.2)));
    name.append(svg("title", {}, item.label));
    chart.append(name, svg("line", {x1: space, x2: width - end, y1: y, y2: y, class: "rule"}));
    if (item.low !== undefined)
      chart.append(svg("line", {x1: place(item.low), x2: place(item.high), y1: y, y2: y, class: "interval"}));
    chart.append(svg("circle", {cx: place(item.value), cy: y, r: 6, class: item.fill ?? "accent-fill"}));
    chart.append(svg("text", {x: width - end + 12, y: y + 4, class: "soft"}, item.text));
  });
  return chart;
}

// Patterns as rows of cells, a column per column of the table.
export function patternMatrix(columns, patterns, rows) {
  const size = columns.length > 20 ? 15 : 22, left = 120;
  const top = Math.min(150, 14 + 6.4 * Math.max(...columns.map(name => Math.min(name.length, 20))));
  const width = left + size * columns.length + 90, height = top + size * patterns.length + 8;
  const chart = frame(width, height, `The ${patterns.length} commonest missing patterns`);
  columns.forEach((name, j) => {
    const x = left + size * j + size / 2 + 4;
    const text = svg("text", {transform: `translate(${x} ${top - 6}) rotate(-55)`}, short(name, 20));
    text.append(svg("title", {}, name));
    chart.append(text);
  });
  patterns.forEach((pattern, k) => {
    const y = top + size * k;
    const count = `${pattern.count} row${pattern.count === 1 ? "" : "s"}`;
    chart.append(svg("text", {x: left - 10, y: y + size * 0.7, "text-anchor": "end"},
      `${count}, ${percent(pattern.count / rows)}`));
    pattern.missing.forEach((gone, j) => {
      const cell = svg("rect", {x: left + size * j, y, width: size - 2, height: size - 2, rx: 2,
        class: gone ? "missing-fill" : "known-fill"});
      cell.append(svg("title", {}, `${columns[j]}: ${gone ? "missing" : "known"} in ${count}`));
      chart.append(cell);
    });
  });
  return chart;
}

// One bar in two parts: how much of the doubt is due to unknown fields.
export function share(value, label, width = 340) {
  const chart = frame(width, 20, label);
  chart.append(svg("rect", {x: 0, y: 2, width, height: 16, rx: 4, class: "known-fill"}));
  chart.append(svg("rect", {x: 0, y: 2, width: Math.max(0, Math.min(1, value)) * width, height: 16, rx: 4, class: "missing-fill"}));
  return chart;
}
