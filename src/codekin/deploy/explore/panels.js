// The panels of a class and of a bit.

const noDistances = () => (page.n_measured ? "Unknown: the model stores no class distances, and class means are compared for up to 2,000 classes only."
  : "Unknown: the model stores no class distances. Give samples with --data.");

function listed(title, items, missing) {
  return made("div", {}, made("h3", { textContent: title }),
    items.length ? made("ul", { className: "chips" }, ...items.map((item) => made("li", {}, item))) : made("p", { className: "note", textContent: missing }));
}

function matrixRow(c) {
  const { n_bits: n, n_symbols: nSymbols } = page.code, row = Array.from(page.arrays.matrix.subarray(c * n, (c + 1) * n));
  return [made("p", { className: "codeword", textContent: codewordText(row) }), made("p", { className: "note", textContent: `Its codeword, ${n} ${nSymbols > 2 ? "columns" : "bits"}.` })];
}
function pathChips(c) {
  const path = pathOf(c), chips = path.map((bit) => made("li", {}, made("button", { type: "button", textContent: edgeName(bit), onclick: () => select({ bit }) })));
  const note = `Its path: ${path.length} of ${page.code.n_bits.toLocaleString("en")} ${codes().edges} are +1.`;
  return [made("ul", { className: "chips" }, ...chips), made("p", { className: "note", textContent: note })];
}

function showClass() {
  const c = state.class, { arrays } = page;
  $("#class-title").textContent = `Class ${page.labels[c]}`;
  const parts = codes().codeword(c);
  parts.push(listed("Kin by distance", kinOf(c).map(([k, far]) => classButton(k, `${number(far)}`)), noDistances()));
  parts.push(listed("Kin by codeword", kinByCodeword(c).map(([k, far]) => classButton(k, `${number(far, 1)}`)), "None."));
  const size = arrays.n_samples_of ? arrays.n_samples_of[c] : null, wrong = confusionsOf(c);
  parts.push(size === null ? listed("Confusions", [], "Unknown without samples: give some with --data.")
    : listed(`Confusions of ${size} ${size === 1 ? "sample" : "samples"}`, wrong.map(([k, n]) => classButton(k, `${n}`)), size ? "None of them is mistaken for another class." : "There are no samples of this class."));
  $("#class .body").replaceChildren(...parts);
}
function codewordText(codeword) {
  const symbols = page.code.n_symbols > 2;
  return codeword.map((v) => (symbols ? (v < 0 ? "·" : v) : v > 0 ? "+" : v < 0 ? "−" : "0")).join(symbols ? " " : "");
}
function kinOf(c) {
  const { kin, kin_distance: far } = page.arrays, n = kin ? kin.length / page.n_classes : 0;
  return Array.from({ length: n }, (_, i) => [c + kin[c * n + i], far[c * n + i]]);
}
function kinByCodeword(c) {
  const best = [];
  for (let k = 0; k < page.n_classes; k++) {
    if (k === c) continue;
    const far = codes().distance(c, k);
    if (best.length < 8 || far < best[7][1]) {
      best.push([k, far]);
      best.sort((a, b) => a[1] - b[1] || Math.abs(a[0] - c) - Math.abs(b[0] - c));
      best.length = Math.min(best.length, 8);
    }
  }
  return best;
}
function confusionsOf(c) {
  const { confused_from: from, confused_to: to, confused_count: count } = page.arrays, found = [];
  for (let i = 0; from && i < from.length; i++) if (from[i] === c) found.push([to[i], count[i]]);
  return found;
}

// Pairs of classes that samples are taken for each other, most often first: [a, b, samples of a taken for b, and of b for a].
function confusedPairs() {
  const { confused_from: from, confused_to: to, confused_count: count } = page.arrays, pairs = new Map();
  for (let i = 0; i < from.length; i++) {
    const key = Math.min(from[i], to[i]) * page.n_classes + Math.max(from[i], to[i]);
    const pair = pairs.get(key) ?? [Math.min(from[i], to[i]), Math.max(from[i], to[i]), 0, 0];
    pair[from[i] < to[i] ? 2 : 3] += count[i];
    pairs.set(key, pair);
  }
  return [...pairs.values()].sort((x, y) => y[2] + y[3] - x[2] - x[3] || x[0] - y[0] || x[1] - y[1]);
}
function showConfused() {
  if (!page.arrays.confused_from) return;
  $("#confused").hidden = false;
  const pairs = confusedPairs();
  const rows = pairs.slice(0, 10).map(([a, b, there, back]) => {
    const examples = page.samples.flatMap((one, i) => (one.true !== one.best[0].class && [a, b].includes(one.true) && [a, b].includes(one.best[0].class) ? [i] : []));
    const shown = examples.slice(0, 2).map((i) => made("button", { type: "button", textContent: page.samples[i].name.slice(0, 60), onclick: () => {
      if ($("#choice")) $("#choice").value = i;
      showSample(storedSample(i));
      $("#sample-title").focus();
    } }));
    const said = made("span", { className: "note", textContent: there && back ? `taken for each other: ${there} and ${back} samples` : `taken for it: ${there || back} ${there + back === 1 ? "sample" : "samples"}` });
    const both = there ? [a, b] : [b, a];
    return made("li", {}, made("div", { className: "pair" }, classButton(both[0]), made("span", { ariaHidden: "true", textContent: there && back ? "↔" : "→" }), classButton(both[1]), said), ...(shown.length ? [made("div", { className: "pair" }, made("span", { className: "note", textContent: "for example" }), ...shown)] : []));
  });
  $("#confused .body").replaceChildren(...(rows.length ? [made("ol", { className: "pairs" }, ...rows), ...(pairs.length > 10 ? [made("p", { className: "note", textContent: `The first 10 of ${pairs.length.toLocaleString("en")} pairs.` })] : [])]
    : [made("p", { className: "note", textContent: "No sample is mistaken for another class." })]));
}

function showBit() {
  const bit = state.bit, { arrays, code } = page, symbols = code.n_symbols > 2;
  $("#bit-title").textContent = symbols ? `Column ${bit}` : `Bit ${bit}`;
  const name = edgeName(bit), parts = [];
  if (name) parts.push(made("p", { className: "note", textContent: name }));
  if (page.bit_losses) {
    const loss = page.bit_losses[bit], harder = page.bit_losses.filter((other) => other > loss).length;
    parts.push(made("p", {}, `Mean ${page.loss.replace("_", " ")} loss ${number(loss)}; ${harder} of ${page.bit_losses.length} ${symbols ? "columns" : "bits"} are harder.`));
  } else {
    parts.push(made("p", { className: "note", textContent: codes().unmeasured ?? "Its loss is not measured: give samples with --data." }));
  }
  for (const [title, wanted] of symbols ? Array.from({ length: code.n_symbols }, (_, s) => [`Symbol ${s}`, s]) : [["The side of +1", 1], ["The side of −1", -1]]) {
    const { some, n } = sideOf(bit, wanted);
    if (n || !symbols) parts.push(listed(`${title}: ${n.toLocaleString("en")} ${n === 1 ? "class" : "classes"}`, [...some.map((c) => classButton(c)), ...(n > some.length ? [`and ${(n - some.length).toLocaleString("en")} more`] : [])], "None."));
  }
  const pairs = hardestPairs(bit);
  parts.push(listed("Hardest pairs: the nearest classes on different sides", pairs.map(([a, b, far]) => made("span", {}, classButton(a), " – ", classButton(b), made("small", { textContent: ` ${number(far)}` }))),
    page.arrays.kin ? "No two near classes are on different sides." : noDistances()));
  if (arrays.worst) {
    const n = arrays.worst.length / page.bit_losses.length, own = Array.from({ length: n }, (_, i) => bit * n + i).filter((q) => arrays.worst_share[q] > 0);
    parts.push(listed("Classes that it misjudges most often", own.map((q) => classButton(arrays.worst[q], `${percent(arrays.worst_share[q])}`)), "It misjudges no sample."));
  }
  $("#bit .body").replaceChildren(...parts);
}
// Some classes on one side of a bit, those near the chosen class, and how many there are.
function sideOf(bit, wanted) {
  const all = [];
  for (let c = 0; c < page.n_classes; c++) if (entry(c, bit) === wanted) all.push(c);
  const some = all.length <= 10 ? all : all.map((c) => [Math.abs(c - state.class), c]).sort((a, b) => a[0] - b[0]).slice(0, 10).map(([, c]) => c).sort((a, b) => a - b);
  return { some, n: all.length };
}
function hardestPairs(bit) {
  const found = [], symbols = page.code.n_symbols > 2, ignored = symbols ? -1 : 0;
  if (!page.arrays.kin) return found;
  for (let a = 0; a < page.n_classes; a++) {
    const own = entry(a, bit);
    if (own === ignored) continue;
    for (const [b, far] of kinOf(a)) {
      const other = entry(b, bit);
      if (other !== ignored && other !== own && !(b < a && kinOf(b).some(([k]) => k === a))) found.push([a, b, far]);
    }
  }
  return found.sort((a, b) => a[2] - b[2]).slice(0, 6);
}
