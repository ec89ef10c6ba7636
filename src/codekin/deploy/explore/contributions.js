// What each word of a typed text contributes to the score of a class, and the steps to its leaf; see codekin.explaining.

const MOST_FEATURES = 12, MOST_CHILDREN = 5;
Object.assign(KINDS.trellis, { shares: sharesOnTrellis, way: (row) => ({ margins: marginsOf(row, model) }) });
Object.assign(KINDS.tree, { shares: sharesOnTrees, way: (row, classes, place) => ({ steps: Object.fromEntries(classes.map((c) => [place(c), stepsTo(row, c)])) }) });

// For each kind of column of a row what the features of a cell stand for.
const NAMES = {
  text: (cell, column) => [...wordsByColumn(cell, column)].map(([k, terms]) => [k, [...terms].map((term) => `${column.name}: ${term}`)]),
  number: (cell, { name }) => [[0, [`${name} = ${Number(cell.toPrecision(6))}`]]],
  category: (cell, { name, places }) => [[places.get(stripped(cell)), [`${name} = ${stripped(cell)}`]]],
};

function namesOf(sample) {
  if (!model.columns) return wordsByColumn(sample, model);
  return new Map(model.columns.flatMap((column, i) => NAMES[column.kind](sample[i], column).map(([k, names]) => [column.start + k, names])));
}

function wordsByColumn(text, own) {
  const words = new Map();
  for (const term of termsOf(text, own.vectorizer)) {
    const column = columnOf(term, own);
    if (column !== undefined) words.set(column, (words.get(column) ?? new Set()).add(term));
  }
  return words;
}

function contributions(row, words, one) {
  const { features, values } = row, { ranking, arrays } = model;
  const { shares, bias, shared } = KINDS[model.kind].shares(row, one.c);
  if (one.isCandidate && arrays.vector_starts) {
    const vector = new Map();
    for (let q = arrays.vector_starts[one.c]; q < arrays.vector_starts[one.c + 1]; q++) vector.set(arrays.vector_features[q], arrays.vector_steps[q] * arrays.vector_scales[one.c]);
    features.forEach((feature, i) => { shares[i] += ranking.weight * values[i] * (vector.get(feature) ?? 0); });
  }
  const named = features.map((feature, i) => [[...(words.get(feature) ?? [`feature ${feature}`])].join(" / "), shares[i]]);
  const sorted = named.filter(([, value]) => value !== 0).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const added = (terms) => terms.reduce((total, [, value]) => total + value, 0);
  const others = sorted.length > MOST_FEATURES ? [["other features", added(sorted.slice(MOST_FEATURES))]] : [];
  const terms = [["bias", bias], ["all classes", shared], ["not reranked", -(one.raised ?? 0)]], score = -one.loss;
  terms.push(["rounding", score - added(sorted) - added(terms)]);
  return { features: sorted.slice(0, MOST_FEATURES), rest: [...others, ...terms.filter(([name, value]) => name === "bias" || Math.abs(value) > 1e-6)], score };
}

// Of a score on a trellis: what each feature adds, what it is without features, and what all classes have in common.
function sharesOnTrellis(row, c) {
  const { arrays, n_bits: nBits, path_edges: nSteps } = model, [loss, evidence] = LOSSES[model.loss];
  const { bias: offsets } = arrays, margins = marginsOf(row, model);
  const slopes = new Float64Array(nBits);
  let bias = 0;
  for (let step = 0; step < nSteps; step++) {
    const edge = arrays.edges[c * nSteps + step];
    if (edge >= nBits) continue;
    const half = 1e-6 * (1 + Math.abs(offsets[edge])), isNear = Math.abs(margins[edge] - offsets[edge]) < half;
    const begin = isNear ? offsets[edge] - half : offsets[edge], end = isNear ? offsets[edge] + half : margins[edge];
    slopes[edge] = (2 * (evidence(end) - evidence(begin))) / (end - begin);
    bias += 2 * evidence(offsets[edge]);
  }
  const shares = Float64Array.from(row.features, (feature, i) => {
    let total = 0;
    eachWeight(model, feature, (bit, weight, scale) => { total += slopes[bit] * weight * scale; });
    return row.values[i] * total;
  });
  return { shares, bias, shared: -margins.reduce((all, f) => all + loss(-f), 0) };
}

// The same on trees, whose scores are added; classes have nothing in common there.
function sharesOnTrees({ features, values }, c) {
  const shares = new Float64Array(features.length);
  let bias = 0;
  for (const tree of model.trees) {
    const { firstBits, nodeOfBit, chunks: { weights, children } } = tree;
    for (const bit of bitsTo(tree, c)) {
      const node = nodeOfBit[bit], child = bit - firstBits[node];
      const begins = Float64Array.from(tree.bias.subarray(firstBits[node], firstBits[node + 1])), moved = new Float64Array(begins.length);
      const chunks = features.map((feature) => chunkOf(tree.chunks, feature, node));
      chunks.forEach(([begin, end], i) => { for (let q = begin; q < end; q++) moved[children[q]] += values[i] * weights[q]; });
      const slopes = meanProbabilities(begins, moved).map((p, j) => (j === child ? 1 - p : -p));
      chunks.forEach(([begin, end], i) => { for (let q = begin; q < end; q++) shares[i] += values[i] * weights[q] * slopes[children[q]]; });
      bias += begins[child] - logSum(begins);
    }
  }
  return { shares, bias, shared: 0 };
}
// The mean softmax on the way from some margins to others.
function meanProbabilities(begins, moved) {
  const { quadrature_places: places, quadrature_weights: weights } = model.arrays, mean = new Float64Array(begins.length);
  places.forEach((place, at) => {
    const margins = begins.map((margin, j) => margin + place * moved[j]), whole = logSum(margins);
    margins.forEach((margin, j) => { mean[j] += weights[at] * Math.exp(margin - whole); });
  });
  return mean;
}

// For every node on the way to a class in the first tree the bit that leads there, and the most probable bits with it.
function stepsTo(row, c) {
  const [tree] = model.trees;
  return bitsTo(tree, c).map((own) => {
    const node = tree.nodeOfBit[own], first = tree.firstBits[node], { margins, largest, logTotal } = softmaxOf(tree, row, node, 1);
    const all = Array.from(margins, (margin, j) => [first + j, Math.exp(margin - largest - logTotal)]).sort((a, b) => b[1] - a[1]);
    return [own, all.filter(([bit], place) => place < MOST_CHILDREN || bit === own)];
  });
}
