// The state of the page, the code, and the coding matrix. Similar classes have numbers close to each other.

const $ = (selector, root = document) => root.querySelector(selector);
function made(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const number = (value, digits = 3) => (Math.abs(value) >= 1e5 ? value.toExponential(2) : Number(value.toFixed(digits)).toString().replace("-", "−"));
const percent = (share) => (share > 0 && share < 0.0005 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const limited = (list, most, rest) => (list.length > most ? [...list.slice(0, most), rest(list.length - most)] : list);

const state = { class: 0, bit: 0, sample: null, shown: null };
let page, model = null;

// What differs by the kind of the code: the entries of codewords, the bits to show next to each other, how many bits of two
// codewords differ (one half where one of them is 0), what a bit and all shown bits are called, what the code is, the codeword
// of a class, and the margins of a sample: their bits, their names, and what is shown above them.
const CODES = {
  matrix: {
    entry: (c, bit) => page.arrays.matrix[c * page.code.n_bits + bit],
    columns: allBits,
    distance(a, b) {
      const { code: { n_bits: n, n_symbols: nSymbols }, arrays: { matrix } } = page;
      let total = 0;
      for (let j = 0; j < n; j++) {
        const x = matrix[a * n + j], y = matrix[b * n + j];
        total += nSymbols > 2 ? (x !== y) * (x < 0 || y < 0 ? 0.5 : 1) : Math.abs(x - y) / 2;
      }
      return total;
    },
    bitName: () => "",
    bits: () => (page.code.n_symbols > 2 ? "columns" : "bits"),
    what: () => "a coding matrix",
    codeword: matrixRow,
    marginBits: allBits,
    marginName: (bit, value) => (page.code.n_symbols > 2 ? `${bit}: symbol ${value}` : `bit ${bit} (${value > 0 ? "+" : value < 0 ? "−" : "0"})`),
    aboveMargins: (_, c) => [made("p", { className: "note", textContent: `Green agrees with the codeword of ${page.labels[c]}, red does not.` })],
  },
  trellis: {
    entry: (c, bit) => (isOnPath(c, bit, bit) ? 1 : -1),
    columns: allBits,
    distance: pathDistance,
    bitName(bit) {
      const { code, arrays } = page;
      const vertex = (v) => {
        if (v === 0) return "source";
        if (v === code.n_vertices - 1) return "sink";
        const place = v - 1, slice = Math.floor(place / code.width);
        return slice < code.n_slices ? `${slice + 1}.${(place % code.width) + 1}` : `end ${place - code.n_slices * code.width + 1}`;
      };
      return `${vertex(arrays.edge_from[bit])} → ${vertex(arrays.edge_to[bit])}`;
    },
    bits: () => "bits",
    edges: "edges",
    what: () => `a trellis of width ${page.code.width}`,
    codeword: pathChips,
    marginBits: pathOf,
    marginName: edgeName,
    aboveMargins: (margins, c) => [trellisPicture(margins, c), made("p", { className: "note", textContent: "Edges with positive margins, wider if larger; the path of the class is marked. Below, the margins of its edges." })],
  },
  tree: {
    entry(c, bit) {
      if (siblings.bit !== bit) Object.assign(siblings, { bit, ...nodeOf(bit) });
      return isOnPath(c, bit, bit) ? 1 : isOnPath(c, siblings.first, siblings.last) ? -1 : 0;
    },
    columns: (c) => pathOf(c).flatMap((own) => {
      const { first, last } = nodeOf(own);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    }),
    distance: pathDistance, // of the bits on the two paths
    bitName(bit) {
      const { node, first, last } = nodeOf(bit);
      return `child ${bit - first + 1} of ${last - first + 1} in node ${node}`;
    },
    bits: () => "bits on the way to this class",
    edges: "children of nodes",
    codeword: pathChips,
    unmeasured: "Single bits of a tree are not measured.",
    what: () => `a tree of ${page.code.n_nodes === 1 ? "one node" : `${page.code.n_nodes.toLocaleString("en")} nodes`} with up to ${page.code.most_children} children`,
  },
};
const siblings = { bit: -1, first: 0, last: 0 };
const codes = () => CODES[page.code.kind];
// The entry of a codeword: +1, -1 or 0; a symbol, or -1 for none, if there are more than two.
const entry = (c, bit) => codes().entry(c, bit);
function edgeName(bit) {
  return codes().bitName(bit);
}
function allBits() {
  return Array.from({ length: page.code.n_bits }, (_, bit) => bit);
}
// Whether the path of a class has one of some bits; without arrays of its own, since this is asked for every class.
function isOnPath(c, first, last) {
  const { code: { n_steps: n }, arrays: { path } } = page;
  for (let q = c * n; q < (c + 1) * n; q++) if (path[q] >= first && path[q] <= last) return true;
  return false;
}
function pathOf(c) {
  const { code: { n_steps: n, n_bits: nBits }, arrays } = page, path = [];
  for (let q = c * n; q < (c + 1) * n; q++) if (arrays.path[q] < nBits) path.push(arrays.path[q]);
  return path;
}
function pathDistance(a, b) {
  const { code, arrays: { path } } = page, n = code.n_steps;
  let differing = 0;
  for (let p = a * n; p < (a + 1) * n; p++) {
    if (path[p] < code.n_bits) differing++;
    const q = b * n + (p - a * n);
    if (path[q] < code.n_bits) differing++;
    if (path[p] >= code.n_bits) continue;
    for (let r = b * n; r < (b + 1) * n; r++) {
      if (path[r] === path[p]) { differing -= 2; break; }
    }
  }
  return differing;
}
// Of a tree: the node of a bit, and its first and last bit.
function nodeOf(bit) {
  const { first_bit: first } = page.arrays;
  let low = 0, high = first.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (first[middle] <= bit) low = middle; else high = middle;
  }
  return { node: low, first: first[low], last: first[low + 1] - 1 };
}
// Of a tree: how many classes are below a bit, and some of them.
function classesBelow(bit) {
  const { code, arrays } = page;
  if (!page.below) {
    page.below = Array.from({ length: code.n_bits }, () => ({ n: 0, some: [] }));
    arrays.path.forEach((own, at) => {
      if (own >= code.n_bits) return;
      const below = page.below[own];
      below.n++;
      if (below.some.length < 2) below.some.push(Math.floor(at / code.n_steps));
    });
  }
  return page.below[bit];
}
function childName(bit) {
  const { n, some } = classesBelow(bit), names = some.map((c) => page.labels[c]).join(", ");
  return n === 1 ? names : `${n.toLocaleString("en")} classes: ${names}${n > some.length ? ", …" : ""}`;
}

const ROW = 17, ABOVE = 2;
let layout = null;
function drawMatrix() {
  const canvas = $("#grid"), width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
  const nRows = Math.min(page.n_classes, width < 600 ? 24 : 30), columns = codes().columns(state.class);
  const treeWidth = page.arrays.node_first ? Math.min(130, width * 0.16) : 0, widest = Math.min(170, width * 0.3);
  const pen = canvas.getContext("2d"), font = "12px system-ui, sans-serif";
  pen.font = font;
  const top = Math.min(Math.max(state.class - (nRows >> 1), 0), page.n_classes - nRows);
  const labelWidth = Math.min(widest, Math.max(...page.labels.slice(top, top + nRows).map((label) => pen.measureText(label).width)) + 4);
  const left = treeWidth + labelWidth + 8, room = width - left - 4;
  const cell = Math.max(5, Math.min(ROW, Math.floor(room / columns.length))), nColumns = Math.min(columns.length, Math.floor(room / cell));
  const at = Math.max(columns.indexOf(state.bit), 0), from = Math.min(Math.max(at - (nColumns >> 1), 0), columns.length - nColumns);
  const shown = columns.slice(from, from + nColumns), height = nRows * ROW + 18 + ABOVE;
  canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = `${height}px`;
  layout = { top, nRows, left, cell, shown };
  pen.scale(ratio, ratio);
  pen.translate(0, ABOVE);
  pen.font = font; pen.textBaseline = "middle";
  const hues = [color("minus"), color("plus"), "#b3863c", "#7a5bb0", "#3c9c86", "#b0567d", "#6f7d2c", "#4d6fb0", "#a34b3c", "#5f6670"];
  for (let row = 0; row < nRows; row++) {
    const c = top + row, y = row * ROW;
    pen.fillStyle = c === state.class ? color("mark") : color("ink");
    let label = page.labels[c];
    while (label.length > 1 && pen.measureText(label).width > labelWidth) label = `${label.slice(0, -2)}…`;
    pen.fillText(label, treeWidth + 4, y + ROW / 2 + 1);
    shown.forEach((bit, j) => {
      const value = entry(c, bit);
      pen.fillStyle = page.code.n_symbols > 2 ? (value < 0 ? color("zero") : hues[value % hues.length])
        : value > 0 ? color("plus") : value < 0 ? color("minus") : color("zero");
      pen.fillRect(left + j * cell, y, cell - 1, ROW - 1);
    });
  }
  pen.strokeStyle = color("mark"); pen.lineWidth = 2;
  pen.strokeRect(left - 1, (state.class - top) * ROW - 1, shown.length * cell + 1, ROW + 1);
  const column = shown.indexOf(state.bit);
  if (column >= 0) pen.strokeRect(left + column * cell - 1, -1, cell + 1, nRows * ROW + 2);
  pen.fillStyle = color("faint");
  const of = (n, all) => (n < all ? `${n} of ${all.toLocaleString("en")}` : all);
  pen.textAlign = "right";
  pen.fillText(`${of(nRows, page.n_classes)} classes, ${of(shown.length, columns.length)} ${codes().bits()}`, Math.max(left + shown.length * cell, 230), nRows * ROW + 9);
  pen.textAlign = "left";
  drawTree(pen, treeWidth, top, nRows);
}
// A line for every inner node, from its first row to its last, deeper nodes further right.
function drawTree(pen, width, top, nRows) {
  const { node_first: first, node_last: last, node_depth: depth } = page.arrays;
  if (!width) return;
  const inside = [];
  for (let i = 0; i < first.length; i++) if (last[i] >= top && first[i] < top + nRows && (first[i] > top || last[i] < top + nRows - 1)) inside.push(i);
  const depths = [...new Set(inside.map((i) => depth[i]))].sort((a, b) => a - b);
  pen.strokeStyle = color("faint"); pen.lineWidth = 1;
  for (const i of inside) {
    const x = 3 + ((width - 8) * depths.indexOf(depth[i])) / Math.max(depths.length, 1);
    const begin = (Math.max(first[i], top) - top + 0.5) * ROW, end = (Math.min(last[i], top + nRows - 1) - top + 0.5) * ROW;
    pen.beginPath();
    if (first[i] >= top) { pen.moveTo(width, begin); pen.lineTo(x, begin); } else pen.moveTo(x, 0);
    pen.lineTo(x, begin); pen.lineTo(x, last[i] < top + nRows ? end : nRows * ROW);
    if (last[i] < top + nRows) pen.lineTo(width, end);
    pen.stroke();
  }
}

function select({ c = state.class, bit = state.bit }) {
  const focused = document.activeElement, isOfClass = c !== state.class;
  state.class = Math.min(Math.max(c, 0), page.n_classes - 1);
  const columns = codes().columns(state.class);
  state.bit = columns.includes(bit) ? bit : columns[0];
  drawMatrix();
  const value = entry(state.class, state.bit), symbols = page.code.n_symbols > 2;
  const said = symbols ? (value < 0 ? "ignored" : `symbol ${value}`) : value > 0 ? "+1" : value < 0 ? "−1" : "0, ignored";
  $("#cell").textContent = `${page.labels[state.class]}, bit ${state.bit}: ${said}`;
  showClass();
  showBit();
  // The panels are made again; a button that was in one of them leaves the focus to the heading of what it opened.
  if (!focused.isConnected) $(isOfClass ? "#class-title" : "#bit-title").focus();
}
function classButton(c, extra = "") {
  return made("button", { type: "button", onclick: () => select({ c }) }, page.labels[c], ...(extra ? [made("small", { textContent: extra })] : []));
}

function listenToMatrix() {
  const canvas = $("#grid");
  canvas.addEventListener("click", (event) => {
    const row = Math.floor((event.offsetY - ABOVE) / ROW), column = Math.floor((event.offsetX - layout.left) / layout.cell);
    if (row >= 0 && row < layout.nRows) select({ c: layout.top + row, bit: layout.shown[column] ?? state.bit });
  });
  canvas.addEventListener("keydown", (event) => {
    const columns = codes().columns(state.class), at = columns.indexOf(state.bit);
    const moves = {
      ArrowUp: { c: state.class - 1 }, ArrowDown: { c: state.class + 1 }, PageUp: { c: state.class - layout.nRows }, PageDown: { c: state.class + layout.nRows },
      Home: { c: 0 }, End: { c: page.n_classes - 1 },
      ArrowLeft: { bit: columns[Math.max(at - 1, 0)] }, ArrowRight: { bit: columns[Math.min(at + 1, columns.length - 1)] },
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    select(moves[event.key]);
  });
  const query = $("#query"), hits = $("#hits");
  const found = () => {
    const wanted = query.value.trim().toLowerCase(), list = [];
    if (wanted) for (let c = 0; c < page.n_classes && list.length < 13; c++) if (page.lower[c].includes(wanted)) list.push(c);
    return list;
  };
  query.addEventListener("input", () => {
    const list = found();
    hits.replaceChildren(...list.slice(0, 12).map((c) => made("li", {}, classButton(c))),
      ...(list.length > 12 ? [made("li", { textContent: "and more" })] : query.value.trim() && !list.length ? [made("li", { textContent: "no class" })] : []));
  });
  $("#search").addEventListener("submit", (event) => {
    event.preventDefault();
    const [c] = found();
    if (c !== undefined) select({ c });
  });
}
