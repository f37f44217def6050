// The page of the studio. Each tab has a workspace of its own, whose name only this tab knows.

import {belief, confusion, diagonal, dots, patternMatrix, percent, share, short, shown, signedBars} from "./charts.js";

const STEPS = [["open", "Table"], ["missing", "Missing"], ["columns", "Columns"], ["train", "Train"],
  ["row", "One row"], ["batch", "Batch"]];
const state = {workspace: "", table: null, model: null, comparison: null, kinds: {}, costs: {}, batch: null, sort: null};
const $ = id => document.getElementById(id);

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function say(text = "") {
  $("message").textContent = text;
  $("message").hidden = !text;
  if (text) $("message").scrollIntoView({block: "nearest"});
}

async function ask(path, {body, file} = {}) {
  const sent = file !== undefined || body !== undefined;
  const headers = file ? {"X-File-Name": encodeURIComponent(file.name)} : {};
  const response = await fetch(`api/${path}`, {
    method: sent ? "POST" : "GET", headers, body: file ?? (body ? JSON.stringify(body) : body),
  });
  const found = await response.json().catch(() => ({error: `The studio answered ${response.status}.`}));
  if (!response.ok) throw new Error(found.error ?? `The studio answered ${response.status}.`);
  return found;
}

// Shows what goes wrong as one sentence, wherever it happens.
const guarded = work => async (...given) => {
  try { say(); await work(...given); } catch (error) {
    say(error instanceof TypeError ? "The studio is not responding; was it stopped?" : error.message);
  }
};

const within = path => `${state.workspace}/${path}`;

function go(step) {
  for (const [name] of STEPS) $(name).hidden = name !== step;
  for (const button of $("steps").children) {
    if (button.dataset.go === step) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
    const needs = {open: true, missing: state.table, columns: state.table, train: state.table,
      row: state.model, batch: state.model}[button.dataset.go];
    button.disabled = !needs;
  }
  window.scrollTo(0, 0);
}

function table(heads, rows, {numbers = new Set()} = {}) {
  const of = (tag, value, k) => value instanceof Node ? value : el(tag, {class: numbers.has(k) ? "number" : undefined}, value);
  return el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((head, k) => of("th", head, k)))),
    el("tbody", {}, ...rows.map(row => el("tr", {}, ...row.map((value, k) => of("td", value, k))))));
}

// Sentences as a list; those that differ only in names and numbers are folded into one line.
function folded(notes) {
  const kinds = new Map();
  for (const note of notes) {
    const kind = note.replace(/^[^:]{1,80}: /, "").replace(/['"“][^'"”]*['"”]/g, "…").replace(/[\d.,]+/g, "#");
    kinds.set(kind, [...(kinds.get(kind) ?? []), note]);
  }
  return [...kinds.values()].map(alike => alike.length === 1 ? el("li", {}, alike[0])
    : el("li", {}, el("details", {}, el("summary", {}, `${alike[0]} (and ${alike.length - 1} more like this)`),
      el("ul", {}, ...alike.slice(1).map(note => el("li", {}, note))))));
}

// ---- table and what is missing ----

async function openTable(query, file) {
  const found = await ask(`open${query}`, file ? {file} : {body: {}});
  state.workspace = found.workspace;
  Object.assign(state, {table: found, model: null, comparison: null, kinds: {}, costs: {}, batch: null});
  $("trained").replaceChildren();
  $("comparison").replaceChildren();
  $("after-training").hidden = true;
  drawMissing(found);
  $("target").replaceChildren(...found.columns.map(name => el("option", {value: name, selected: name === found.target}, name)));
  $("task").value = "";
  await readColumns();
  go("missing");
  $("suspects").replaceChildren();
  const mine = state.workspace, {cells} = await ask(within("suspects"));
  if (mine === state.workspace && cells.length) $("suspects").replaceChildren(el("h3", {}, "Cells that hardly fit the rest of their rows"),
    el("div", {class: "scroll"}, table(["Row", "Column", "Value", "Expected about"],
      cells.map(({row, column, value, expected}) => [String(row), column, value, expected]))));
}

function drawMissing(found) {
  $("missing-sentence").textContent = `${found.name}: ${found.rows} rows, ${found.columns.length} columns, `
    + `${percent(found.rate)} of the values missing, ${found.complete_rows} complete rows.`;
  $("missing-notes").replaceChildren(...folded([...found.notes, ...found.reading]));
  const order = found.shown.map((name, j) => ({label: name, value: found.rates[j], text: percent(found.rates[j]), fill: "missing-fill"}))
    .sort((a, b) => b.value - a.value).slice(0, 20);
  $("rates").replaceChildren(dots(order, {label: "Share missing by column", space: 260, width: Math.min(540, innerWidth - 40)}));
  const more = found.n_patterns - found.patterns.length;
  $("patterns-title").textContent = `Commonest patterns${more > 0 ? ` (and ${more} more)` : ""}`;
  $("patterns").replaceChildren(patternMatrix(found.shown, found.patterns, found.rows));
  const together = [...found.blocks.map(names => `Always together: ${names.join(", ")}`),
    ...found.pairs.map(([a, b, strength]) => `${strength > 0 ? "+" : "−"}${Math.abs(strength).toFixed(2)}: ${a}, ${b}`)];
  $("together").replaceChildren(...(together.length ? together : ["Nothing stands out."]).map(text => el("li", {}, text)));
  $("little").replaceChildren(...found.test.map(line => el("p", {}, line)));
  $("first").replaceChildren(table(found.columns.map(name => el("th", {}, name)),
    found.first.map(row => row.map(value => value === "" ? el("td", {class: "gone"}, "missing") : el("td", {}, short(value, 40))))));
}

async function readColumns() {
  const found = await ask(within("read"), {body: {target: $("target").value, kinds: state.kinds, task: $("task").value}});
  const learned = found.task === "classification" ? "classes" : "a quantity";
  $("task-found").textContent = found.problem || `→ ${learned}`;
  const used = found.columns.filter(column => column.name !== found.target && column.kind !== "left out").length;
  $("train-what").textContent = found.problem || `Learns to predict ${found.target}, as ${learned}, from `
    + (used === 1 ? "one other column." : `${used} other columns.`);
  const rows = found.columns.filter(column => column.name !== found.target).map(column => {
    const select = el("select", {"aria-label": `How to read ${column.name}`, onchange: guarded(async event => {
      if (event.target.value) state.kinds[column.name] = event.target.value; else delete state.kinds[column.name];
      await readColumns();
    })}, ...[["", "automatic"], ["number", "number"], ["category", "category"], ["date", "date"], ["cyclic date", "date with cycles"], ["left out", "leave out"]]
      .map(([value, text]) => el("option", {value, selected: value === column.asked}, text)));
    return [column.name, column.kind, el("td", {}, select), el("td", {class: "long"}, column.note)];
  });
  $("readings").replaceChildren(table(["Column", "Read as", "Change to", "Note"], rows));
}

// ---- training ----

const STARTERS = ["start-train", "start-compare", "batch-own", "batch-file"];

// Follows work in the worker to its end; the bar stays on the page whatever step is open.
async function work(path, sent) {
  const mine = state.workspace;
  for (const id of STARTERS) $(id).disabled = true;
  try {
    await ask(within(path), sent);
    $("working").hidden = false;
    for (;;) {
      const found = await ask(`${mine}/work`);
      if (mine !== state.workspace) return;
      $("bar").value = found.share ?? 0;
      $("working-text").textContent = `${found.text} (${Math.round(found.seconds)} s)`;
      if (found.state !== "running") { finish(found); return; }
      await new Promise(wake => setTimeout(wake, 400));
    }
  } finally {
    $("working").hidden = true;
    for (const id of STARTERS) $(id).disabled = false;
  }
}

function finish(found) {
  if (found.state === "failed") throw new Error(found.text);
  if (found.state === "stopped") { say("Stopped. Earlier results are kept."); return; }
  if (found.batch) { useBatch(found.batch); return; }
  if (found.model) useModel(found.model);
  if (found.comparison) {
    state.comparison = found.comparison;
    $("comparison").replaceChildren(el("h3", {}, "Comparison of methods, five folds"), el("div", {id: "method-scores"}),
      el("p", {id: "advice"}, advice(found.comparison)),
      el("p", {class: "soft"}, `${ERRORS} Training rows of folds overlap, and the errors take that into account.`),
      el("div", {class: "line"}, ...found.comparison.filter(row => row.train).map(row => el("button",
        {type: "button", class: row.advised ? "primary" : undefined,
          onclick: guarded(() => work("work", {body: {what: "train", method: row.train}}))},
        `Train this: ${row.method}`))));
    drawScores();
  }
  go("train");
}

// Which of the compared methods, the best first, to train.
function advice(rows) {
  const [best] = rows, mine = rows.find(row => row.advised), alike = rows.filter(row => row.as_good && row !== best);
  if (mine && mine !== best) return `The highest score is that of ${best.method}, which cannot be trained here. The best that can is: `
    + `${mine.method}${mine.as_good ? ", which is not significantly behind." : ", which is significantly behind."}`;
  return `The highest score is that of: ${best.method}. ` + (alike.length
    ? `Not significantly behind: ${alike.map(row => row.method).join("; ")}.` : "All others are significantly behind.");
}

const ERRORS = "± is one standard error; the line extends two to either side.";
const ranged = row => ({value: row.score, text: `${row.score.toFixed(3)}${row.spread ? ` ± ${row.spread.toFixed(3)}` : ""}`,
  low: row.score - 2 * (row.spread || 0), high: Math.min(1, row.score + 2 * (row.spread || 0))});

// The model and the methods that were compared, on one scale where both have the same measure.
function drawScores() {
  const {model, comparison} = state;
  const pictures = [];
  if (model?.measure) pictures.push({place: $("model-scores"), measure: model.measure, items: [{label: "this model", ...ranged(model)},
    {label: "best constant answer", value: model.baseline, text: model.baseline.toFixed(3), fill: "soft-fill"}]});
  if (comparison) pictures.push({place: $("method-scores"), measure: comparison[0].measure,
    items: comparison.map(row => ({label: row.method, ...ranged(row)}))});
  for (const {place, measure, items} of pictures) {
    const alike = pictures.filter(other => other.measure === measure).flatMap(other => other.items);
    const ends = alike.flatMap(item => [item.low ?? item.value, item.high ?? item.value]);
    place.replaceChildren(dots(items, {label: `${measure} by method, with two standard errors to either side`, axis: measure,
      names: alike.map(item => item.label), texts: alike.map(item => item.text), width: Math.min(860, innerWidth - 40), from: Math.min(...ends), to: Math.max(...ends)}));
  }
}

function useModel(model) {
  state.model = model;
  state.costs = {};
  state.span = null;
  const parts = [];
  if (model.measure) {
    const better = model.score > model.baseline;
    parts.push(el("p", {class: "big"}, `${model.measure} ${model.score.toFixed(3)} ± ${model.spread.toFixed(3)}`),
      el("div", {id: "model-scores"}),
      el("p", {}, `${model.how} ${ERRORS} The grey dot is the best constant answer.`
        + (better ? "" : " The model has learned nothing useful.")));
    const alone = model.notes.filter(note => note.includes("almost alone"));
    parts.push(...alone.map(note => el("p", {class: "warning"}, note)));
    const notes = model.notes.filter(note => !alone.includes(note));
    if (notes.length) parts.push(el("details", {}, el("summary", {}, "How the table was read"), el("ul", {}, ...folded(notes))));
    parts.push(el("div", {class: "columns checks"}, ...checks(model)));
  }
  $("trained").replaceChildren(...parts);
  drawScores();
  $("after-training").hidden = false;
  $("save-model").href = `api/${within("model")}`;
  $("row-title").textContent = `One row: what is ${model.target}?`;
  $("row-tools").hidden = !model.rows;
  $("batch-own").hidden = !model.rows;
  $("row-number").max = model.rows;
  $("batch-table").replaceChildren();
  $("batch-sentence").textContent = "";
  for (const id of ["export", "batch-report", "batch-filter"]) $(id).hidden = true;
  for (const id of ["batch-notes", "batch-count"]) $(id).replaceChildren();
  drawForm();
}

// What the score does not say: which answers are wrong, whether chances are right, what matters.
function checks(model) {
  const found = [], width = Math.min(300, innerWidth - 60);
  const add = (title, picture, text) => found.push(el("div", {}, el("h3", {}, title), el("div", {class: "scroll"}, picture), el("p", {class: "soft"}, text)));
  const size = model.classes.length ? percent : shown;
  if (model.matters.length) add("The columns that matter", dots(model.matters.map(([label, value]) => ({label, value, text: size(value)})),
    {label: "Columns that matter", width: Math.min(360, innerWidth - 40), to: model.matters[0][1]}),
  `How much a column moves ${model.classes.length ? "the chance of a class on average, in percentage points" : `the answer on average, in units of ${model.target}`}.`);
  if (model.confusion && model.classes.length <= 12) add("Right and wrong answers", confusion(model.classes, model.confusion, "Confusion matrix"),
    "A row per true class, a column per answer, for rows that the model had not seen.");
  if (model.calibration) add("Are the chances right?", diagonal(model.calibration, {label: "Calibration", across: "chance that the model gave",
    up: "share of right answers", ends: [0, 1], named: percent, width}), "On the line, answers with 80 % are right four times out of five.");
  if (model.residuals) add("Answers and truth", diagonal(model.residuals, {label: "Answers and truth", across: "answer", up: "truth", width}),
    "On the line an answer is right; rows that the model had not seen.");
  return found;
}

// ---- one row ----

function drawForm() {
  $("form").replaceChildren(...state.model.fields.map((field, k) => {
    const id = `field-${k}`;
    const numeric = !field.choices.length;
    const states = numeric ? [["unknown", "unknown"], ["value", "is"],
      ...(field.kind === "number" ? [["at most", "at most"], ["at least", "at least"]] : [])]
      : [["", "unknown"], ...field.choices.map(word => [word, word])];
    const select = el("select", {id: numeric ? `${id}-state` : id, "aria-label": numeric ? `What is known about ${field.name}` : undefined,
      onchange: event => {
        if (numeric && event.target.value !== "unknown") event.target.nextElementSibling.focus();
        soon();
      }}, ...states.map(([value, text]) => el("option", {value}, text)));
    const input = el("input", {id, inputmode: field.kind === "date" ? undefined : "decimal",
      placeholder: field.kind === "date" ? "date" : `about ${shown(Number(field.mean.toPrecision(3)))}`,
      oninput: event => {
        const typed = event.target.value.trim() !== "";
        if (typed && select.value === "unknown") select.value = "value";
        if (!typed) select.value = "unknown";
        soon();
      }});
    return el("div", {class: "field", "data-name": field.name}, el("label", {for: id}, field.name),
      el("div", {}, select, ...(numeric ? [input] : [])), el("span", {class: "bad", hidden: true}, "cannot be read"),
      el("figure", {class: "belief"}));
  }));
  answer();
}

function values() {
  const found = {};
  for (const field of $("form").children) {
    const select = field.querySelector("select"), input = field.querySelector("input");
    const state_ = input ? select.value : (select.value ? "value" : "unknown");
    found[field.dataset.name] = {state: state_, text: input ? input.value : select.value};
    field.classList.toggle("unknown", state_ === "unknown");
  }
  return found;
}

let timer = 0, asked = 0;
function soon() { clearTimeout(timer); timer = setTimeout(answer, 200); }

// A later question may have been answered first; the columns that made an answer follow it.
const answer = guarded(async () => {
  const number = ++asked, given = values();
  const found = await ask(within("answer"), {body: {values: given, costs: state.costs}});
  if (number !== asked) return;
  drawAnswer(found);
  drawBeliefs(found.beliefs, given);
  const made = await ask(within("parts"), {body: {values: given}});
  if (number === asked) drawParts(made);
});

const fieldOf = name => state.model.fields.find(field => field.name === name);
const said = found => typeof found === "number" ? shown(found) : `${found[0]} ${percent(found[1])}`;

// What an unknown field could be; pointing at a value says what the answer would be, a click takes it.
function drawBeliefs(beliefs, given) {
  for (const field of $("form").children) {
    const name = field.dataset.name, found = beliefs[name], place = field.querySelector(".belief");
    place.replaceChildren();
    if (!found) continue;
    const words = fieldOf(name).choices.length > 0, top = found.heights.indexOf(Math.max(...found.heights));
    const likely = words ? `${found.labels[top]} ${percent(found.heights[top])}` : `likely about ${found.labels[top]}`;
    const chart = belief(found, words, `Belief about ${name}: ${likely}`), note = el("figcaption", {}, likely);
    let answers = null, at = top, inside = false;
    chart.addEventListener("pointermove", guarded(async event => {
      const box = chart.getBoundingClientRect(), n = found.labels.length;
      at = Math.min(n - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * n)));
      inside = true;
      const mark = chart.querySelector(".mark");
      for (const end of ["x1", "x2"]) mark.setAttribute(end, (at + 0.5) * 240 / n);
      answers ??= ask(within("what-if"), {body: {values: given, name}});
      const tried = (await answers).answers;
      if (inside) note.textContent = `if ${found.labels[at]}: ${said(tried[at])}`;
    }));
    chart.addEventListener("pointerleave", () => {
      inside = false;
      note.textContent = likely;
      for (const end of ["x1", "x2"]) chart.querySelector(".mark").setAttribute(end, -9);
    });
    chart.addEventListener("click", () => { fill(field, found.labels[at]); answer(); });
    const named = !words ? [found.labels[0], found.labels.at(-1)] : found.labels.length <= 5 ? found.labels : [];
    place.append(chart, el("div", {class: words ? "bars" : "ends"}, ...named.map(text => el("span", {title: text}, text))), note);
  }
}

function drawParts(made) {
  const quantity = !state.model.classes.length, parts = made.parts.filter(([, value]) => value !== 0);
  const points = value => `${value > 0 ? "+" : "−"}${quantity ? shown(Math.abs(value)) : percent(Math.abs(value))}`;
  $("parts").replaceChildren(...(parts.length ? [el("h3", {}, "What made this answer"),
    signedBars(parts, {label: "Columns that made the answer", width: Math.min(400, innerWidth - 76), text: points}),
    el("p", {class: "soft"}, quantity ? `From ${shown(made.base)}, the answer where nothing is known.`
      : `The chance of ${made.class}, from ${percent(made.base)} where nothing is known.`)] : []));
}

function drawAnswer(found) {
  for (const field of $("form").children)
    field.querySelector(".bad").hidden = !found.unread.includes(field.dataset.name);
  const model = state.model, width = Math.min(400, innerWidth - 76);
  $("answer-now").textContent = `${model.target}: ` + (found.probabilities
    ? `${found.prediction} ${percent(found.probabilities[found.prediction])}`
    : shown(found.prediction) + (found.upper === null ? "" : ` (${shown(found.lower)} to ${shown(found.upper)})`));
  const parts = [el("h3", {}, model.target), el("p", {class: "big", id: "prediction"}, shown(found.prediction))];
  if (found.probabilities) {
    const chances = Object.entries(found.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 10);
    parts.push(dots(chances.map(([label, value]) => ({label, value, text: percent(value)})),
      {label: "Probabilities of the classes", width, space: 120}));
  } else if (found.upper !== null) {
    parts.push(el("p", {}, `90 % interval: ${shown(found.lower)} to ${shown(found.upper)}`));
    state.span = [Math.min(state.span?.[0] ?? found.lower, found.lower), Math.max(state.span?.[1] ?? found.upper, found.upper)];
    parts.push(dots([{label: "", value: found.prediction, low: found.lower, high: found.upper, text: ""}],
      {label: "Interval", width, space: 8, end: 8, from: state.span[0], to: state.span[1]}));
  }
  if (found.note) parts.push(el("p", {class: "warning"}, found.note));
  parts.push($("parts") ?? el("div", {id: "parts"}));
  const fields = found.n_unknown === 1 ? "1 unknown field" : `${found.n_unknown} unknown fields`;
  parts.push(el("h3", {}, "Where the doubt comes from"), share(found.missing_share, "Share of the doubt due to unknown fields", Math.min(340, width - 8)),
    el("p", {id: "doubt"}, found.n_unknown
      ? `${percent(found.missing_share)} of it is due to ${fields}; measuring ${found.n_unknown === 1 ? "it" : "them"} cannot remove the rest.`
      : "Every field is known: nothing is left to measure."));
  if (found.next.length) {
    const quantity = !model.classes.length;
    parts.push(el("h3", {}, "Measure this next"),
      ...(quantity ? [el("p", {id: "doubt-now"}, `The answer is now ± ${shown(found.next[0].doubt)}.`)] : []),
      el("div", {class: "scroll"}, table(["Field", quantity ? "Then" : "Worth", "Cost", "Per cost"], found.next.slice(0, 8).map(entry => [
      el("td", {class: "name"}, entry.name), quantity ? `± ${shown(entry.doubt_after)}` : percent(entry.gain_percent / 100),
      el("td", {}, el("input", {type: "number", min: "0.01", step: "any", value: entry.cost, "aria-label": `Cost of ${entry.name}`,
        onchange: event => {
          const cost = Number(event.target.value);
          if (cost > 0) { state.costs[entry.name] = cost; answer(); } else say("A cost must be a positive number.");
        }})), 
        entry.per_cost === null ? "–" : percent(quantity ? entry.per_cost : entry.gain_percent / 100 / entry.cost)]), {numbers: new Set([1, 3])})),
    el("p", {class: "soft"}, quantity
      ? "Then: the expected standard deviation once the field is known. Per cost: the share of the variance that this removes, divided by the cost."
      : "Worth: how much knowing the field is expected to lower the entropy, of which equally likely classes have 100 %."));
  }
  parts.push(el("p", {}, el("button", {type: "button", onclick: guarded(saveReport)}, "Save as a page")));
  $("answer").replaceChildren(...parts);
}

async function saveReport() {
  const response = await fetch(`api/${within("report")}`, {method: "POST", body: JSON.stringify({values: values(), costs: state.costs})});
  if (!response.ok) throw new Error((await response.json()).error);
  const address = URL.createObjectURL(await response.blob());
  el("a", {href: address, download: "row.html"}).click();
  URL.revokeObjectURL(address);
}

function fill(field, value) {
  const select = field.querySelector("select"), input = field.querySelector("input");
  if (input) { input.value = value; select.value = value ? "value" : "unknown"; } else select.value = value;
  if (!input && select.selectedIndex < 0) select.value = "";
}

async function loadRow() {
  const found = await ask(within(`row/${Number($("row-number").value) || 1}`));
  for (const field of $("form").children) fill(field, found[field.dataset.name] ?? "");
  answer();
}

// ---- batch ----

const predictBatch = file => { state.own = !file; return work("batch", file ? {file} : {body: ""}); };

function useBatch(batch) {
  state.batch = batch;
  state.sort = [batch.columns.indexOf("doubt"), -1];
  const {total, rows, notes} = batch;
  $("batch-sentence").textContent = (total === 1 ? "1 row" : `${total} rows`)
    + (rows.length < total ? `, of which the ${rows.length} most doubtful are shown; the export has all.` : ", the most doubtful first.")
    + (state.own ? " The number of a row opens it." : "");
  $("batch-notes").replaceChildren(...folded(notes));
  for (const [id, path] of [["export", "batch.csv"], ["batch-report", "batch.html"]]) {
    $(id).href = `api/${within(path)}`;
    $(id).hidden = false;
  }
  $("batch-filter").value = "";
  $("batch-filter").hidden = false;
  drawBatch();
  go("batch");
}

// "malignant" finds rows with that text, "doubt > 0.3" rows by a number.
function wanted(columns) {
  const typed = $("batch-filter").value.trim().toLowerCase();
  const [, name, sign, number] = typed.match(/^(.+?)\s*([<>])\s*([-\d.]+)\s*(%?)$/) ?? [];
  const at = columns.findIndex(column => column.toLowerCase().replaceAll("_", " ").startsWith(name?.replaceAll("_", " ") ?? "\0"));
  if (at < 0) return row => row.some(value => String(value ?? "").toLowerCase().includes(typed));
  const bar = Number(number) / (typed.endsWith("%") ? 100 : 1);
  return row => row[at] !== null && (sign === ">" ? row[at] > bar : row[at] < bar);
}

function drawBatch() {
  const {columns, rows} = state.batch, [by, way] = state.sort;
  const numbers = new Set(columns.flatMap((name, k) => rows.every(row => row[k] === null || typeof row[k] === "number") ? [k] : []));
  const order = (a, b) => numbers.has(by) ? (a[by] ?? -Infinity) - (b[by] ?? -Infinity) : String(a[by]).localeCompare(String(b[by]));
  const sorted = rows.filter(wanted(columns)).sort((a, b) => way * order(a, b));
  const heads = columns.map((name, k) => el("th", {class: numbers.has(k) ? "number" : undefined,
    "aria-sort": k === by ? (way > 0 ? "ascending" : "descending") : "none"},
    el("button", {type: "button", onclick: () => { state.sort = [k, k === by ? -way : -1]; drawBatch(); }},
      name.replaceAll("_", " ") + (k === by ? (way > 0 ? " ↑" : " ↓") : ""))));
  $("batch-table").replaceChildren(table(heads, sorted.map(row => row.map((value, k) => {
    if (k === 0 && state.own) return el("td", {class: "number"}, el("button", {type: "button", class: "link",
      "aria-label": `Open row ${value}`, onclick: guarded(async () => { $("row-number").value = value; go("row"); await loadRow(); })}, String(value)));
    if (columns[k] === "doubt_percent") return percent(value / 100);
    return columns[k] === "due_to_unknown" || columns[k] === "probability" ? percent(value) : shown(value);
  })), {numbers}));
  $("batch-count").textContent = sorted.length < rows.length ? `${sorted.length} of ${rows.length} rows` : "";
}

// ---- start ----

function listen(id, event, work_) { $(id).addEventListener(event, guarded(work_)); }

$("steps").append(...STEPS.map(([name, text]) => el("button", {type: "button", "data-go": name, onclick: () => go(name)}, text)));
for (const button of document.querySelectorAll("main [data-go]")) button.addEventListener("click", () => go(button.dataset.go));
const picked = use => async event => { const [file] = event.target.files; try { if (file) await use(file); } finally { event.target.value = ""; } };
listen("file", "change", picked(file => openTable("", file)));
listen("model-file", "change", picked(async file => {
  const found = await ask("open-model", {file});
  Object.assign(state, {workspace: found.workspace, table: null, comparison: null});
  $("comparison").replaceChildren();
  useModel(found.model);
  go("row");
}));
listen("target", "change", readColumns);
listen("task", "change", readColumns);
listen("start-train", "click", () => work("work", {body: {what: "train"}}));
listen("start-compare", "click", () => work("work", {body: {what: "compare"}}));
listen("stop", "click", () => ask(within("stop"), {body: {}}));
listen("load-row", "click", loadRow);
listen("clear-row", "click", () => drawForm());
listen("batch-file", "change", picked(predictBatch));
listen("batch-filter", "input", drawBatch);
listen("batch-own", "click", () => predictBatch());
$("form").addEventListener("submit", event => event.preventDefault());
guarded(async () => {
  const found = await ask("start");
  $("examples").replaceChildren(...found.examples.map(example => el("button", {type: "button", "data-example": example.name,
    onclick: guarded(() => openTable(`?example=${encodeURIComponent(example.name)}`))}, example.title)));
  go("open");
  if (found.file) {
    $("given").textContent = `Open ${found.file}`;
    $("given").hidden = false;
    listen("given", "click", () => openTable("?file=1"));
    await openTable("?file=1");
  }
})();
