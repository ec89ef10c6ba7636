// Classes on other codewords: the score and the learnability of any assignment of few classes.

function showMoving() {
  const { moving } = page;
  if (!moving) return;
  $("#moving").hidden = false;
  if (moving.refused) return $("#moving .body").replaceChildren(made("p", { className: "note", textContent: moving.refused }));
  const classOf = [];
  moving.codeword_of_class.forEach((codeword, c) => { classOf[codeword] = c; });
  const own = [...classOf];
  let held = null;
  const list = made("ul", { className: "slots", ariaLabel: "Codewords and their classes" }), result = made("div"), said = made("p", { className: "note", role: "status" });
  const swap = (a, b) => { [classOf[a], classOf[b]] = [classOf[b], classOf[a]]; };
  const draw = (focus = null) => {
    list.replaceChildren(...moving.codewords.map((codeword, slot) => {
      const chip = made("button", { type: "button", draggable: true, textContent: page.labels[classOf[slot]] });
      chip.setAttribute("aria-pressed", held === slot);
      if (held === slot) chip.classList.add("held");
      chip.addEventListener("keydown", (event) => moved(event, slot));
      chip.addEventListener("click", () => pick(slot));
      const item = made("li", {}, made("span", { className: "number", textContent: slot }), made("span", { className: "codeword", textContent: codewordText(codeword) }), chip);
      item.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", String(slot)));
      item.addEventListener("dragover", (event) => { event.preventDefault(); item.classList.add("over"); });
      item.addEventListener("dragleave", () => item.classList.remove("over"));
      item.addEventListener("drop", (event) => { event.preventDefault(); put(Number(event.dataTransfer.getData("text/plain")), slot); });
      return item;
    }));
    if (focus !== null) list.children[focus].querySelector("button").focus();
    showResult(result, classOf, own);
  };
  const put = (from, to) => {
    said.textContent = `${page.labels[classOf[from]]} and ${page.labels[classOf[to]]} have exchanged their codewords.`;
    swap(from, to);
    held = null;
    draw(to);
  };
  const pick = (slot) => {
    if (held === null) { held = slot; said.textContent = `${page.labels[classOf[slot]]} is picked up: choose the class to exchange it with, or press Escape.`; draw(slot); }
    else if (held === slot) { held = null; said.textContent = ""; draw(slot); }
    else put(held, slot);
  };
  const moved = (event, slot) => {
    const to = { ArrowUp: slot - 1, ArrowDown: slot + 1 }[event.key];
    if (event.key === "Escape") { held = null; said.textContent = ""; draw(slot); }
    else if (to !== undefined && to >= 0 && to < classOf.length) {
      event.preventDefault();
      if (event.altKey || event.shiftKey) put(slot, to); else list.children[to].querySelector("button").focus();
    }
  };
  const reset = made("button", { type: "button", textContent: "The model's own assignment", onclick: () => { classOf.splice(0, Infinity, ...own); held = null; said.textContent = ""; draw(); } });
  $("#moving .body").replaceChildren(made("p", { className: "note", textContent:
    "Drag a class onto another to exchange their codewords. With the keyboard: Enter picks a class up and Enter on another exchanges them; Shift with an arrow key moves it by one. The bits stay as they are, so this is about an assignment before training." }),
    made("div", { className: "beside" }, list, made("div", {}, result, reset, said)));
  draw();
}
// The class-codeword score, and the mean squared error with which least squares would learn the bits.
function judged(classOf) {
  const { moving } = page, n = classOf.length, codewordOf = [];
  classOf.forEach((c, slot) => { codewordOf[c] = slot; });
  const product = (matrix) => {
    let inner = 0, own = 0, other = 0;
    for (let u = 0; u < n; u++) {
      for (let v = 0; v < n; v++) {
        const a = matrix[u][v], d = moving.apart[codewordOf[u]][codewordOf[v]];
        inner += a * d; own += a * a; other += d * d;
      }
    }
    return [inner, Math.sqrt(own * other)];
  };
  const found = {};
  if (moving.distances) {
    const [inner, norms] = product(moving.distances);
    found.score = Math.sqrt(Math.max(2 - (2 * inner) / norms, 0));
  }
  if (moving.learnability) found.learnability = (-2 * product(moving.learnability)[0]) / moving.codewords[0].length;
  if (page.arrays.accuracies) found.accuracy = page.arrays.accuracies[rankOf(inLabelOrder(codewordOf))] / 10;
  return found;
}
// The codeword of each class in the order of the labels.
function inLabelOrder(codewordOf) {
  const found = [];
  page.arrays.order.forEach((k, place) => { found[k] = codewordOf[place]; });
  return found;
}
// The place of an order in the list of all orders.
function rankOf(order) {
  let rank = 0, size = 1;
  for (let k = order.length - 1; k >= 0; k--) {
    rank += size * order.slice(k + 1).filter((later) => later < order[k]).length;
    size *= order.length - k;
  }
  return rank;
}
function showResult(result, classOf, own) {
  const { moving } = page, now = judged(classOf), before = judged(own), changed = classOf.some((c, slot) => c !== own[slot]);
  const rows = [];
  const add = (what, name, digits) => {
    if (now[name] === undefined) return;
    const more = now[name] - before[name];
    rows.push(made("tr", {}, made("th", { scope: "row", textContent: what }), made("td", { className: "number", textContent: number(now[name], digits) }),
      made("td", { className: `number ${more * (name === "accuracy" ? -1 : 1) < -1e-9 ? "up" : more * (name === "accuracy" ? -1 : 1) > 1e-9 ? "down" : ""}`, textContent: changed ? `${more > 0 ? "+" : ""}${number(more, digits)}` : "" })));
  };
  add("class-codeword score, smaller preserves similarity better", "score", 4);
  add("learnability: mean squared error of the bits, smaller is easier", "learnability", 4);
  add("test accuracy in the sweep, %", "accuracy", 1);
  const notes = [];
  if (!moving.distances) notes.push("The score needs class distances, which a stored model has only as a tree. Give samples with --data.");
  else notes.push(`Class distances: ${moving.what}.`);
  if (!moving.is_plain) notes.push("Learnability is for codes of −1 and +1 without zeros.");
  else if (!moving.learnability) notes.push("Learnability needs samples: give some with --data.");
  if (!page.arrays.accuracies) notes.push("Accuracies need the results of a sweep over all assignments.");
  result.replaceChildren(rows.length ? made("table", {}, made("tbody", {}, ...rows)) : "", ...notes.map((note) => made("p", { className: "note", textContent: note })));
}

async function start() {
  page = await unpacked($("#content").textContent);
  page.lower = page.labels.map((label) => label.toLowerCase());
  if ($("#model").textContent.trim()) {
    model = await loaded($("#model").textContent);
    const place = [];
    page.arrays.order.forEach((k, c) => { place[k] = c; });
    model.arrays.place_of_path = Array.from(model.arrays.class_of_path, (k) => place[k]);
  }
  const { code } = page;
  $("#facts").textContent = `${page.n_classes.toLocaleString("en")} classes, ${page.n_bits.toLocaleString("en")} ${code.n_symbols > 2 ? `columns of ${code.n_symbols} symbols` : "bits"}: ${codes().what()} (${page.codebook} codebook, ${page.assignment} assignment` +
    `${page.is_learned ? ", learned decoder" : `, ${page.loss} loss`}${page.ranking ? `, the best ${page.ranking.n_candidates} classes re-ranked` : ""}${page.min_distance ? `, minimum distance ${number(page.min_distance, 1)}` : ""}).` +
    (page.accuracy === undefined ? "" : ` ${percent(page.accuracy)} of ${page.n_measured.toLocaleString("en")} samples are right.`);
  $("#similarity").textContent = `The order of the classes${page.arrays.node_first ? " and the tree" : ""}: ${page.similarity}.`;
  $("#legend").replaceChildren(...(code.n_symbols > 2 ? [] : [["plus", "+1"], ["minus", "−1"], ...(code.has_zeros ? [["zero", "0, ignored"]] : [])].map(([name, text]) => {
    const box = made("i");
    box.style.background = `var(--${name})`;
    return made("span", {}, box, text);
  })));
  listenToMatrix();
  showInputs();
  showConfused();
  select({ c: page.samples?.length ? page.samples[0].best[0].class : 0 });
  showSample(page.samples?.length ? storedSample(0) : null);
  showMoving();
  window.addEventListener("resize", drawMatrix);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMatrix);
  return page;
}
const ready = start();
ready.catch((error) => { $("#facts").textContent = `This page cannot be shown here: ${error.message}`; });
