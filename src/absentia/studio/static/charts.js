// Small charts as SVG. Every text is set as text, never as markup.

const SPACE = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const percent = share => {
  if (share > 0 && share < 0.0005) return "<0.1 %";
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
// Charts with the same names, texts and ends have the same scale, one below the other.
export function dots(items, {from = 0, to = 1, label, width = 420, space = width / 2, axis = "",
  names = items.map(item => item.label), texts = items.map(item => item.text),
  end = Math.max(...texts.map(textWidth)) + 18} = {}) {
  // As much room as the longest name takes, and at most what leaves half of the width to the dots;
  // on a narrow page, long names are above their dots.
  const longest = Math.max(...names.map(textWidth)), stacked = width - Math.min(longest + 16, space) - end < 140;
  const step = stacked ? 44 : 26;
  space = stacked ? 14 : Math.min(Math.max(longest + 16, 8), space, width / 2);
  const bottom = step * items.length + 6, height = bottom + (axis ? 40 : 0), chart = frame(width, height, label);
  const place = value => space + (Math.min(Math.max(value, from), to) - from) / (to - from || 1) * (width - space - end);
  if (axis) {
    for (const value of to > from ? ticks(from, to, Math.min(5, Math.floor((width - space - end) / 50))) : []) {
      chart.append(svg("line", {x1: place(value), x2: place(value), y1: 4, y2: bottom, class: "rule"}),
        svg("text", {x: place(value), y: bottom + 14, "text-anchor": "middle", class: "soft"}, String(value)));
    }
    chart.append(svg("text", {x: (space + width - end) / 2, y: bottom + 32, "text-anchor": "middle", class: "soft"}, axis));
  }
  items.forEach((item, k) => {
    const y = step * (k + 1) - 10;
    const name = stacked ? svg("text", {x: 0, y: y - 14}, fitted(item.label, width))
      : svg("text", {x: space - 12, y: y + 4, "text-anchor": "end"}, fitted(item.label, space - 12));
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

// The belief about one unknown field: a density over a line, or a bar per word.
export function belief({heights}, words, label) {
  const width = 240, height = 40, n = heights.length, step = width / n, most = Math.max(...heights, 1e-9);
  const chart = svg("svg", {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label});
  const top = value => height - 1 - (height - 4) * value / most;
  if (words) {
    heights.forEach((value, k) => chart.append(svg("rect", {x: k * step + 0.1 * step, width: 0.8 * step, y: top(value),
      height: height - top(value), class: "belief-fill"})));
  } else {
    const points = heights.map((value, k) => `${((k + 0.5) * step).toFixed(1)} ${top(value).toFixed(1)}`);
    chart.append(svg("path", {d: `M${step / 2} ${height} L${points.join(" L")} L${width - step / 2} ${height} Z`, class: "belief-fill"}));
  }
  chart.append(svg("line", {x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5, class: "rule"}),
    svg("line", {x1: -9, x2: -9, y1: 0, y2: height, class: "mark"}));
  return chart;
}

// Bars to the right and to the left of a line: what each column added to the answer.
export function signedBars(parts, {label, width = 380, text}) {
  const height = 24 * parts.length + 4, chart = frame(width, height, label);
  const space = Math.min(width * 0.42, Math.max(...parts.map(([name]) => textWidth(name))) + 12), end = 64;
  const most = Math.max(...parts.map(([, value]) => Math.abs(value)), 1e-12);
  const middle = space + (width - space - end) / 2, unit = (width - space - end) / 2 / most;
  chart.append(svg("line", {x1: middle, x2: middle, y1: 0, y2: height, class: "rule"}));
  parts.forEach(([name, value], k) => {
    const y = 24 * k + 4, size = Math.abs(value) * unit;
    const head = svg("text", {x: space - 8, y: y + 13, "text-anchor": "end"}, fitted(name, space - 10));
    head.append(svg("title", {}, name));
    chart.append(head, svg("rect", {x: value < 0 ? middle - size : middle, y, width: Math.max(size, 1), height: 16, rx: 2,
      class: value < 0 ? "accent-fill" : "missing-fill"}),
    svg("text", {x: width - end + 8, y: y + 13, class: "soft"}, text(value)));
  });
  return chart;
}

// Points above a diagonal, on which an answer would be right: [[said, true, size]].
export function diagonal(points, {label, across, up, ends, named = shown, width = 300}) {
  const left = 62, bottom = 44, size = width - left - 24, chart = frame(width, size + bottom + 8, label);
  const flat = points.flatMap(([x, y]) => [x, y]), from = ends?.[0] ?? Math.min(...flat), to = ends?.[1] ?? Math.max(...flat);
  const x = value => left + (value - from) / (to - from || 1) * size, y = value => 8 + size - (value - from) / (to - from || 1) * size;
  for (const value of to > from ? ticks(from, to, 4) : []) {
    chart.append(svg("line", {x1: x(value), x2: x(value), y1: 8, y2: 8 + size, class: "rule"}),
      svg("line", {x1: left, x2: left + size, y1: y(value), y2: y(value), class: "rule"}),
      svg("text", {x: x(value), y: size + 24, "text-anchor": "middle", class: "soft"}, named(value)),
      svg("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end", class: "soft"}, named(value)));
  }
  chart.append(svg("line", {x1: x(from), y1: y(from), x2: x(to), y2: y(to), class: "diagonal"}),
    svg("text", {x: left + size / 2, y: size + 44, "text-anchor": "middle", class: "soft"}, across),
    svg("text", {transform: `translate(12 ${8 + size / 2}) rotate(-90)`, "text-anchor": "middle", class: "soft"}, up));
  for (const [said, right, count] of points)
    chart.append(svg("circle", {cx: x(said), cy: y(right), r: count ? 6 : 3, class: "accent-fill", "fill-opacity": count ? 1 : 0.55}));
  return chart;
}

// How often a class (down) was answered by which class (across).
export function confusion(labels, counts, label) {
  const size = 46, names = labels.map(name => fitted(name, 110)), left = Math.max(...names.map(textWidth)) + 14;
  const width = left + size * labels.length + 4, top = 16 + Math.max(...names.map(textWidth)) * 0.8;
  const chart = frame(width + 40, top + size * labels.length + 4, label);
  names.forEach((name, k) => chart.append(
    svg("text", {x: left - 8, y: top + size * (k + 0.5) + 4, "text-anchor": "end"}, name),
    svg("text", {transform: `translate(${left + size * (k + 0.5)} ${top - 6}) rotate(-50)`}, name)));
  counts.forEach((row, i) => row.forEach((count, j) => {
    const share = count / Math.max(1, row.reduce((a, b) => a + b, 0)), x = left + size * j, y = top + size * i;
    const cell = svg("rect", {x, y, width: size - 2, height: size - 2, rx: 3, "fill-opacity": 0.08 + 0.5 * share,
      class: i === j ? "accent-fill" : "missing-fill"});
    cell.append(svg("title", {}, `${labels[i]} answered as ${labels[j]}: ${count}`));
    chart.append(cell, svg("text", {x: x + size / 2 - 1, y: y + size / 2 + 4, "text-anchor": "middle"}, String(count)));
  }));
  return chart;
}
