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

const pen = document.createElement("canvas").getContext("2d");

function textWidth(text) {
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// The longest form of a name that fits; its middle goes first, since ends tell columns apart.
function fitted(text, room) {
  for (let limit = text.length; limit > 5; limit--)
    if (textWidth(short(text, limit)) <= room) return short(text, limit);
  return short(text, 5);
}

function frame(width, height, label) {
  return svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label});
}

// Round numbers from one end of a scale to the other, about as many as asked for.
export function ticks(from, to, about = 5) {
  const rough = (to - from) / about, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5].find(factor => factor * unit >= rough) ?? 10);
  const found = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(10)));
  return found;
}

// One dot on a line per item, with an interval where it has one: [{label, value, low, high, text}].
// Charts with the same names and the same ends have the same scale, one below the other.
export function dots(items, {from = 0, to = 1, label, width = 420, space = 150, end = 62, axis = "",
  names = items.map(item => item.label)} = {}) {
  // As much room as the longest name takes, and at most what leaves half of the width to the dots.
  const longest = Math.max(...names.map(textWidth));
  space = Math.min(Math.max(longest + 16, 8), space, width / 2);
  const bottom = 26 * items.length + 6, height = bottom + (axis ? 40 : 0), chart = frame(width, height, label);
  const place = value => space + (Math.min(Math.max(value, from), to) - from) / (to - from || 1) * (width - space - end);
  if (axis) {
    for (const value of to > from ? ticks(from, to) : []) {
      chart.append(svg("line", {x1: place(value), x2: place(value), y1: 4, y2: bottom, class: "rule"}),
        svg("text", {x: place(value), y: bottom + 14, "text-anchor": "middle", class: "soft"}, String(value)));
    }
    chart.append(svg("text", {x: (space + width - end) / 2, y: bottom + 32, "text-anchor": "middle", class: "soft"}, axis));
  }
  items.forEach((item, k) => {
    const y = 26 * k + 16;
    const name = svg("text", {x: space - 12, y: y + 4, "text-anchor": "end"}, fitted(item.label, space - 12));
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
  const size = columns.length > 20 ? 15 : 22, left = 120, slant = 65 * Math.PI / 180;
  const names = columns.map(name => fitted(name, 220)), longest = Math.max(...names.map(textWidth));
  const top = 18 + longest * Math.sin(slant);
  const width = left + size * columns.length + longest * Math.cos(slant) + 12, height = top + size * patterns.length + 8;
  const chart = frame(width, height, `The ${patterns.length} commonest missing patterns`);
  columns.forEach((name, j) => {
    const x = left + size * j + size / 2 + 4;
    const text = svg("text", {transform: `translate(${x} ${top - 6}) rotate(-65)`}, names[j]);
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
