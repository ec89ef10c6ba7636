// Codes by their kind: what is made ready once, and the search for the best classes of a row. A search has for each code a
// function from a number to its best classes and their losses, best first, and functions from a class to its loss and to the
// logarithm of its probability; also a constant, which all losses lack. Explorers add what their kinds contribute.

const KINDS = {
  trellis: { prepare() {}, searched: searchedTrellis },
  tree: { prepare(model) { model.trees = treesOf(model); }, searched: searchedTrees },
};

function searchedTrellis(model, row) {
  const { arrays, n_classes: nClasses, path_edges: nSteps } = model, margins = marginsOf(row, model);
  const [loss, evidence] = LOSSES[model.loss];
  const lengths = Float64Array.from(margins, (f) => -2 * evidence(f));
  const costs = new Float64Array(nClasses);
  for (let step = nSteps - 1; step >= 0; step--) {
    for (let c = 0; c < nClasses; c++) {
      const edge = arrays.edges[c * nSteps + step];
      if (edge < model.n_bits) costs[c] += lengths[edge];
    }
  }
  const order = Array.from(costs.keys()).sort((a, b) => costs[a] - costs[b] || a - b);
  const whole = logSum(costs.map((cost) => -cost / model.temperature));
  const best = (n) => order.slice(0, n).map((c) => ({ c, loss: costs[c] }));
  const code = { best, lossOf: (c) => costs[c], logOf: (c) => -costs[c] / model.temperature - whole };
  return { codes: [code], constant: margins.reduce((total, f) => total + loss(-f), 0) };
}

function searchedTrees(model, row) {
  const codes = model.trees.map((tree) => {
    const exact = classLogsOf(tree, row, 1);
    const best = (n) => bestLeaves(tree, row, n, model.beam).map(({ at, log }) => ({ c: tree.classOfLeaf[at], loss: -log }));
    return { best, lossOf: (c) => -exact(c), logOf: classLogsOf(tree, row, model.temperature) };
  });
  return { codes, constant: 0 };
}

// Trees of classes: the beam search of codekin's kernels, whose sums and exponentials have single precision, as here.

const FAR = 8; // as in codekin.kernels.label_tree, and so are the numbers of the polynomial for 2**x
const { fround } = Math, LOG2_E = fround(1.4426950408889634);
const POLYNOMIAL = [0.0089893397, 0.055826318, 0.24015361, 0.69315308, 0.99999994].map(fround), HIGHEST = fround(0.0018775767);

function sumsOf(counts) {
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((count, i) => { starts[i + 1] = starts[i] + count; });
  return starts;
}

function treesOf({ n_trees: nTrees, n_classes: nClasses, arrays }) {
  return Array.from({ length: nTrees }, (_, t) => {
    const own = (name) => arrays[`tree${t}_${name}`];
    const firstBits = sumsOf(own("n_children")), below = own("below"), steps = own("weights"), sizes = own("sizes");
    const bitAbove = new Uint32Array(below.length), nodeOfBit = new Uint32Array(firstBits[below.length]);
    let fewest = nClasses;
    const leafBits = new Uint32Array(nClasses), leafOfClass = new Uint32Array(nClasses);
    const classOfLeaf = own("classes") ?? Uint32Array.from(leafOfClass.keys());
    classOfLeaf.forEach((c, leaf) => { leafOfClass[c] = leaf; });
    below.forEach((start, node) => {
      for (let bit = firstBits[node], j = 0; bit < firstBits[node + 1]; bit++, j++) {
        nodeOfBit[bit] = node;
        if (start >= 0) bitAbove[start + j] = bit;
        else leafBits[-1 - start + j] = bit;
      }
      if (start < 0) fewest = Math.min(fewest, firstBits[node + 1] - firstBits[node]);
    });
    const weights = sizes ? Float32Array.from(steps, (step) => sizes[step & 255]) : steps;
    const chunks = { starts: sumsOf(own("counts")), nodes: own("nodes"), entries: sumsOf(own("lengths")), children: own("children"), weights };
    return { chunks, bias: own("bias"), firstBits, below, bitAbove, nodeOfBit, leafBits, leafOfClass, classOfLeaf, fewest };
  });
}

// Where the weights of a feature in a node are: the first of them and the one after the last.
function chunkOf({ starts, nodes, entries }, feature, node) {
  let low = starts[feature], high = starts[feature + 1];
  const stop = high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (nodes[middle] < node) low = middle + 1;
    else high = middle;
  }
  return low < stop && nodes[low] === node ? [entries[low], entries[low + 1]] : [0, 0];
}

// The bits on the path to a class, from the root down.
function bitsTo({ leafBits, leafOfClass, nodeOfBit, bitAbove }, c) {
  const bits = [leafBits[leafOfClass[c]]];
  while (nodeOfBit[bits[0]] !== 0) bits.unshift(bitAbove[nodeOfBit[bits[0]]]);
  return bits;
}

// The margins of a node's children, times a factor, and what makes them logarithms of probabilities.
function softmaxOf({ chunks, bias, firstBits }, { features, values }, node, factor) {
  const margins = bias.slice(firstBits[node], firstBits[node + 1]), n = margins.length;
  features.forEach((feature, i) => {
    const [begin, end] = chunkOf(chunks, feature, node);
    for (let q = begin; q < end; q++) margins[chunks.children[q]] += fround(values[i] * chunks.weights[q]);
  });
  if (factor !== 1) margins.forEach((margin, j) => { margins[j] = margin * factor; });
  const largest = margins.reduce((a, b) => Math.max(a, b)), totals = new Float32Array(4);
  margins.forEach((margin, j) => {
    const power = Math.max(fround(fround(margin - largest) * LOG2_E), -126), whole = Math.floor(power), x = fround(power - whole);
    const share = fround(POLYNOMIAL.reduce((sum, number) => fround(fround(sum * x) + number), HIGHEST) * 2 ** whole);
    totals[j < (n & ~3) ? j & 3 : 0] += share;
  });
  const total = fround(fround(totals[0] + totals[1]) + fround(totals[2] + totals[3]));
  return { margins, largest, logTotal: Math.log(total) };
}

function insert(list, most, at, log) {
  if (list.length === most && log <= list[most - 1].log) return;
  if (list.length === most) list.pop();
  let place = list.length;
  while (place > 0 && list[place - 1].log < log) place--;
  list.splice(place, 0, { at, log });
}

// The most probable leaves that a beam search finds: [{at, log}], best first.
function bestLeaves(tree, row, n, leastBeam) {
  const beam = Math.min(Math.max(leastBeam, Math.ceil(n / tree.fewest)), tree.below.length), leaves = [];
  for (let level = [{ at: 0, log: 0 }], next = []; level.length; [level, next] = [next, []]) {
    for (const { at: node, log } of level) {
      if (leaves.length === n && log <= leaves[n - 1].log) break;
      if (log < level[0].log - FAR && (leaves.length === n || next.length === beam)) break;
      const { margins, largest, logTotal } = softmaxOf(tree, row, node, 1), start = tree.below[node];
      const rest = log - largest - logTotal;
      margins.forEach((margin, j) => {
        if (start >= 0) insert(next, beam, start + j, margin + rest);
        else insert(leaves, n, -1 - start + j, margin + rest);
      });
    }
  }
  return leaves;
}

// A function: the logarithm of the probability of a class at a temperature.
function classLogsOf(tree, row, temperature) {
  const known = new Map(), factor = fround(1 / temperature);
  return (c) => bitsTo(tree, c).reduce((total, bit) => {
    const node = tree.nodeOfBit[bit];
    if (!known.has(node)) known.set(node, softmaxOf(tree, row, node, factor));
    const { margins, largest, logTotal } = known.get(node);
    return total + (margins[bit - tree.firstBits[node]] + (-largest - logTotal));
  }, 0);
}
