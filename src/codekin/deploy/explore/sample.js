// The panel of a prediction: the best classes, the contributions of the features, and the way to a class: margins, the
// path in the trellis, the steps down a tree.

function bars(rows, most = null) {
  const largest = most ?? Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-12);
  return made("ul", { className: "bars" }, ...rows.map(([name, value, kind]) => {
    const share = (50 * Math.min(Math.abs(value), largest)) / largest, fill = made("span", { className: `fill ${kind ?? (value < 0 ? "against" : "")}` });
    fill.style.left = `${value < 0 ? 50 - share : 50}%`;
    fill.style.width = `${share}%`;
    return made("li", {}, made("span", { className: "name", textContent: name, title: name }), made("span", { className: "track" }, fill),
      made("span", { className: "number", textContent: number(value) }));
  }));
}

function showInputs() {
  const inputs = $("#sample .inputs");
  if (model) {
    const input = model.columns ? made("div", { id: "row", role: "group", ariaLabel: invitationOf(model) }) : made("textarea", { id: "text", placeholder: "Type a text" });
    const typed = typedIn(input, model);
    input.addEventListener("input", () => {
      if ($("#choice")) $("#choice").selectedIndex = -1;
      const { sample, wrong } = typed();
      showSample(sample ? { ...typedSample(sample), wrong } : null);
    });
    inputs.append(made("div", {}, model.columns ? null : made("label", { htmlFor: "text", textContent: "Type a text" }), input));
  }
  if (page.samples?.length) {
    const choice = made("select", { id: "choice" }, ...page.samples.map((one, i) => made("option", { value: i, textContent:
      `${one.true === null ? "unknown class" : one.best[0].class === one.true ? "right" : "wrong"}: ${one.name.slice(0, 80)}` })));
    choice.addEventListener("change", () => {
      inputs.querySelectorAll("textarea, input").forEach((field) => { field.value = ""; });
      showSample(storedSample(Number(choice.value)));
    });
    const what = page.samples.length < page.n_measured ? `Pick a sample: ${page.samples.length} of ${page.n_measured.toLocaleString("en")}, half of them wrong if there are enough` : "Pick a sample";
    inputs.append(made("div", {}, made("label", { htmlFor: "choice", textContent: what }), choice));
  }
  for (const note of page.notes) inputs.append(made("p", { className: "note", textContent: note }));
}
function storedSample(i) {
  const one = page.samples[i], { margins } = page.arrays;
  const n = margins ? margins.length / page.samples.length : 0;
  return { ...one, margins: margins ? margins.subarray(one.margins * n, (one.margins + 1) * n) : null };
}
// What the model says about a text or a row, in the form of a stored sample.
function typedSample(sample) {
  const row = featuresOf(sample, model), words = namesOf(sample), place = (c) => model.arrays.place_of_path[c];
  const found = bestOf(model, row, Math.min(8, model.n_best));
  const best = found.map(({ c, loss, log, before }) => ({ class: place(c), loss, probability: Math.exp(log), before }));
  if (isUnknown(model, row)) return { best, isTyped: true, n_known: 0, isUnknown: true };
  const explained = Object.fromEntries(found.map((one) => [place(one.c), contributions(row, words, one)]));
  const way = KINDS[model.kind].way(row, found.map(({ c }) => c), place);
  return { best, explained, ...way, isTyped: true, n_known: row.features.length };
}

function showSample(sample, shown = null) {
  state.sample = sample;
  const body = $("#sample .body");
  if (!sample) return body.replaceChildren(made("p", { className: "note", textContent: model ? `${invitationOf(model)}, or pick a sample.` : "Nothing is chosen." }));
  const parts = [], c = shown ?? sample.best[0].class;
  state.shown = c;
  for (const textContent of sample.wrong ?? []) parts.push(made("p", { className: "note", textContent }));
  if (sample.n_known === 0) parts.push(made("p", { className: "note", textContent: guessOf(model) }));
  if (!sample.isTyped) parts.push(made("p", {}, sample.name), made("p", {}, "True class: ", sample.true === null ? "not known to the model" : classButton(sample.true)));
  const best = made("div", {}, made("h3", { textContent: "The best classes" }), bestTable(sample, c));
  if (sample.isUnknown) return body.replaceChildren(...parts, best);
  const explained = made("div", {}, made("h3", { textContent: `What adds up to the score of ${page.labels[c]}` }), ...explainedBars(sample, c));
  parts.push(made("div", { className: "beside" }, best, explained));
  parts.push(...marginParts(sample, c));
  body.replaceChildren(...parts);
}
function bestTable(sample, c) {
  const isRanked = sample.best.some((one) => one.before !== null && one.before !== undefined);
  const heading = made("tr", {}, ...["", "class", "probability", "score", ...(isRanked ? ["before re-ranking"] : [])].map((title, i) => made("th", { scope: "col", textContent: title, className: i > 1 ? "number" : "" })));
  const rows = sample.best.map((one, i) => {
    const pick = made("button", { type: "button", textContent: page.labels[one.class], onclick: () => { showSample(sample, one.class); $(`#sample [data-class="${one.class}"]`).focus(); } });
    pick.dataset.class = one.class;
    pick.setAttribute("aria-pressed", one.class === c);
    const moved = one.before === null || one.before === undefined ? null : one.before < 0 ? "not listed" : one.before === i ? "same place" : `${one.before > i ? "▲" : "▼"} from ${one.before + 1}`;
    return made("tr", {}, made("td", { textContent: `${i + 1}${one.class === sample.true ? " ✓" : ""}` }), made("td", {}, pick), made("td", { className: "number", textContent: percent(one.probability) }),
      made("td", { className: "number", textContent: number(-one.loss) }), ...(isRanked ? [made("td", { className: `number moved ${one.before > i || one.before < 0 ? "up" : one.before < i ? "down" : ""}`, textContent: moved })] : []));
  });
  return made("table", {}, made("thead", {}, heading), made("tbody", {}, ...rows));
}
function explainedBars(sample, c) {
  const own = sample.explained?.[c];
  if (!page.is_linear) return [made("p", { className: "note", textContent: "These bits are not linear in the features, so no contributions add up to a score." })];
  if (!own) return [made("p", { className: "note", textContent: "For samples of a file, the page holds the contributions to the predicted and to the true class." })];
  return [bars([...own.features, ...own.rest.filter(([name, value]) => name !== "rounding" || Math.abs(value) >= 0.0005).map(([name, value]) => [name, value, "neutral"])]), made("p", { className: "total", textContent: `Score: ${number(own.score)}` })];
}

function marginParts(sample, c) {
  const { code } = page;
  if (sample.steps) return stepParts(sample, c);
  if (!sample.margins) return [];
  const parts = [made("h3", { textContent: "Margins, bit by bit" })];
  const columns = codes().marginBits(c), symbols = code.n_symbols > 2;
  const rows = columns.map((bit) => {
    const value = entry(c, bit), f = symbols ? sample.margins[bit * code.n_symbols + Math.max(value, 0)] : sample.margins[bit];
    return [codes().marginName(bit, value), f, (symbols ? value < 0 : value === 0) ? "neutral" : (symbols ? f : f * value) >= 0 ? "" : "against"];
  });
  parts.push(...codes().aboveMargins(sample.margins, c));
  if (page.ranking?.n_codes > 1) parts.push(made("p", { className: "note", textContent: `The first of ${page.ranking.n_codes} codes is shown.` }));
  if (rows.length > 64) rows.splice(64, Infinity, ...[]), parts.push(made("p", { className: "note", textContent: `The first 64 of ${columns.length} bits are shown.` }));
  const half = Math.ceil(rows.length / 2), most = Math.max(...rows.map(([, f]) => Math.abs(f)), 1e-12);
  parts.push(rows.length > 12 ? made("div", { className: "beside" }, bars(rows.slice(0, half), most), bars(rows.slice(half), most)) : bars(rows, most));
  return parts;
}
// The nodes on the way to a class, each with its most probable children.
function stepParts(sample, c) {
  const steps = sample.steps[c], note = (textContent) => made("p", { className: "note", textContent });
  const title = made("h3", { textContent: `The path to ${page.labels[c]}` });
  if (!steps) return [title, note("For samples of a file, the page holds the paths to the predicted and to the true class.")];
  const probabilityOf = ([own, children]) => children.find(([bit]) => bit === own)[1];
  const nodes = steps.map(([own, children], level) => {
    const { node, first, last } = nodeOf(own), n = last - first + 1, what = level === steps.length - 1 ? "classes" : "groups of classes";
    const rows = children.map(([bit, p]) => shareBar(bit, p, bit === own));
    if (n > children.length) rows.push(made("li", { className: "more", textContent: `and ${n - children.length} less probable ones` }));
    return made("div", {}, made("h4", { textContent: `${level + 1}. Node ${node} compares ${n} ${what}` }), made("ol", { className: "bars shares" }, ...rows));
  });
  const product = steps.reduce((all, step) => all * probabilityOf(step), 1);
  const said = `Marked is the path; its probabilities multiply to ${percent(product)}, whose logarithm is the score of the tree${page.ranking ? ", before re-ranking" : ""}.`;
  const several = page.ranking?.n_codes > 1 ? ` The first of ${page.ranking.n_codes} trees is shown.` : "";
  return [title, note(said + several), made("div", { className: "beside" }, ...nodes)];
}
function shareBar(bit, p, isOwn) {
  const name = childName(bit), fill = made("span", { className: "fill" });
  fill.style.width = `${100 * p}%`;
  const pick = made("button", { type: "button", textContent: name, title: name, onclick: () => select({ c: classesBelow(bit).some[0], bit }) });
  const item = made("li", { className: isOwn ? "on-path" : "" }, pick, made("span", { className: "track" }, fill), made("span", { className: "number", textContent: percent(p) }));
  if (isOwn) item.setAttribute("aria-current", "step");
  return item;
}
function trellisPicture(margins, c) {
  const { code, arrays } = page, space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
  const nColumns = code.n_slices + 3, width = 700, height = Math.max(90, 24 * code.width + 20), nEnds = code.n_vertices - 2 - code.n_slices * code.width;
  const at = (v) => {
    if (v === 0) return [20, height / 2];
    if (v === code.n_vertices - 1) return [width - 20, height / 2];
    const slice = Math.floor((v - 1) / code.width), isEnd = slice >= code.n_slices, i = isEnd ? v - 1 - code.n_slices * code.width : (v - 1) % code.width, n = isEnd ? nEnds : code.width;
    return [20 + ((width - 40) * ((isEnd ? code.n_slices : slice) + 1)) / (nColumns - 1), (height * (i + 0.5)) / n];
  };
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `The trellis with the path of ${page.labels[c]}: ${pathOf(c).map(edgeName).join(", ")}`);
  const path = new Set(pathOf(c)), largest = margins.reduce((most, f) => Math.max(most, f), 1e-12);
  const draw = (edge, stroke, thick, opacity) => {
    const [[x1, y1], [x2, y2]] = [at(arrays.edge_from[edge]), at(arrays.edge_to[edge])], line = document.createElementNS(space, "line");
    for (const [name, value] of Object.entries({ x1, y1, x2, y2, stroke: `var(--${stroke})`, "stroke-width": thick, "stroke-opacity": opacity, "stroke-linecap": "round" })) line.setAttribute(name, value);
    if (path.has(edge)) line.classList.add("on-path");
    svg.append(line);
  };
  for (let edge = 0; edge < code.n_bits; edge++) if (!path.has(edge)) draw(edge, margins[edge] > 0 ? "plus" : "rule", margins[edge] > 0 ? 1 + (4 * margins[edge]) / largest : 0.6, margins[edge] > 0 ? 0.85 : 0.7);
  for (const edge of path) draw(edge, "mark", 2.5 + (4 * Math.max(margins[edge], 0)) / largest, 1);
  for (let v = 0; v < code.n_vertices; v++) {
    const dot = document.createElementNS(space, "circle"), [cx, cy] = at(v);
    for (const [name, value] of Object.entries({ cx, cy, r: 3.5, fill: "var(--ink)" })) dot.setAttribute(name, value);
    svg.append(dot);
  }
  return svg;
}
