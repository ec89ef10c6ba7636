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

// The best classes of a text on trees, as bestOf says.
function bestOfTrees(model, row, k) {
  const { trees, ranking, temperature, beam } = model;
  const each = trees.map((tree) => classLogsOf(tree, row, temperature));
  const log = (c) => logSum(each.map((logOf) => logOf(c))) - Math.log(trees.length);
  const n = ranking ? Math.max(k, ranking.n_candidates) : k;
  const lists = trees.map((tree) => bestLeaves(tree, row, n, beam).map(({ at, log: own }) => ({ c: tree.classOfLeaf[at], loss: -own })));
  if (!ranking) return lists[0].map(({ c, loss }) => ({ c, loss, log: log(c) }));
  const merged = new Map();
  lists.forEach((list, t) => list.forEach(({ c, loss }, i) => {
    if (!merged.has(c)) merged.set(c, { c, losses: [], before: -1, isCandidate: false, raised: 0 });
    merged.get(c).losses[t] = loss;
    if (t === 0 && i < ranking.n_candidates) merged.get(c).before = i;
    merged.get(c).isCandidate ||= i < ranking.n_candidates && loss <= list[0].loss + (ranking.reach ?? Infinity);
  }));
  const exact = trees.map((tree) => classLogsOf(tree, row, 1)), score = scorerOf(row, model);
  const listed = [...merged.values()], candidates = listed.filter((one) => one.isCandidate), others = listed.filter((one) => !one.isCandidate);
  listed.forEach((one) => { one.loss = trees.reduce((total, _, t) => total + (one.losses[t] ?? -exact[t](one.c)), 0); });
  candidates.forEach((one) => { one.loss -= ranking.weight * score(one.c); });
  const worst = candidates.reduce((most, { loss }) => Math.max(most, loss), -Infinity);
  const raised = Math.max(worst - others.reduce((least, { loss }) => Math.min(least, loss), Infinity), 0);
  others.forEach((one) => {
    const own = one.loss;
    one.loss = Math.max(own + raised, worst);
    one.raised = one.loss - own;
  });
  const sorted = [candidates, others].flatMap((some) => some.sort((a, b) => a.loss - b.loss));
  shareOut(sorted, log, ranking);
  return sorted.slice(0, k);
}
