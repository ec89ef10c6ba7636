"use strict";
// Predicts the classes of texts, or of rows of a table, from the arrays of a codekin model. Sums are made in the order of
// codekin's kernels, margins in single precision and everything after them in double precision, so that the same classes come out.

async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const n = new DataView(buffer).getUint32(0, true);
  const model = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, n)));
  const types = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
  for (const [name, [type, start, length]] of Object.entries(model.arrays)) {
    model.arrays[name] = new types[type](buffer, start, length);
  }
  return model;
}

// How terms are shown, and told apart where there are several blocks.
const MARKS = { words: (term) => term, characters: (term) => `[${term}]`, prefixes: (term) => `${term}*` };
const markOf = ({ blocks }, block) => (blocks.length === 1 ? MARKS.words : MARKS[block.kind]);

// Each term is stored without the bytes that it shares with the one before; those of a block stand together.
function vocabularyOf({ vectorizer, arrays: { letters, n_letters, n_shared } }) {
  const columns = new Map(), decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // a word may begin with U+FEFF
  let term = new Uint8Array(0), start = 0, column = 0;
  vectorizer.blocks.forEach((block, b) => {
    const mark = markOf(vectorizer, block);
    for (const last = column + vectorizer.n_terms[b]; column < last; column++) {
      const n = n_letters[column], next = new Uint8Array(n_shared[column] + n);
      next.set(term.subarray(0, n_shared[column]));
      next.set(letters.subarray(start, start + n), n_shared[column]);
      columns.set(mark(decoder.decode(next)), column);
      [term, start] = [next, start + n];
    }
  });
  return columns;
}

// What Python's str.split takes for white space; JavaScript's \s differs from it.
const SPACES = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

// What a word is, for each version of the format.
const PATTERNS = [null, /[\p{L}\p{N}_]{2,}/gu, /[\p{L}\p{N}_]+/gu, /[\p{L}\p{N}_]+(?:\.\p{Nd}[\p{L}\p{N}_]*)*(?:[+#]+(?![\p{L}\p{N}_+#]))?/gu];
const TERMS = {
  words(lower, words, [least, most], add) {
    for (let n = least; n <= most; n++) {
      for (let i = 0; i + n <= words.length; i++) add(words.slice(i, i + n).join(" "));
    }
  },
  prefixes(lower, words, [least, most], add) {
    for (const letters of words.map((word) => Array.from(word))) {
      for (let n = least; n <= most && n < letters.length; n++) add(letters.slice(0, n).join(""));
    }
  },
  characters(lower, words, [least, most], add) {
    for (const token of lower.split(SPACES).filter(Boolean)) {
      const letters = Array.from(` ${token} `);
      for (let n = least; n <= most; n++) {
        add(letters.slice(0, n).join(""));
        for (let i = 1; i + n <= letters.length; i++) add(letters.slice(i, i + n).join(""));
        if (letters.length <= n) break; // a short word is counted once
      }
    }
  },
};

function termsOf(text, vectorizer) {
  const lower = text.toLowerCase(), words = lower.match(PATTERNS[vectorizer.version]) ?? [], terms = [];
  for (const block of vectorizer.blocks) {
    const mark = markOf(vectorizer, block);
    TERMS[block.kind](lower, words, block.ngrams, (term) => terms.push(mark(term)));
  }
  return terms;
}

// MurmurHash3 of the UTF-8 bytes, 32 bits, with seed 0.
function hashed(term, nColumns) {
  const bytes = new TextEncoder().encode(term), n = bytes.length & ~3;
  let h = 0;
  const mixed = (k) => {
    k = Math.imul(k, 0xcc9e2d51);
    return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  };
  for (let i = 0; i < n; i += 4) {
    h ^= mixed(bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24));
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  let rest = 0;
  for (let i = bytes.length - 1; i >= n; i--) rest = (rest << 8) | bytes[i];
  if (bytes.length > n) h ^= mixed(rest);
  h ^= bytes.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  h = (h ^ (h >>> 16)) | 0;
  return h === -2147483648 ? (2147483647 - (nColumns - 1)) % nColumns : Math.abs(h) % nColumns;
}

const columnOf = (term, { vectorizer, vocabulary }) => (vocabulary ? vocabulary.get(term) : hashed(term, vectorizer.n_columns));

const featuresOf = (sample, model) => (model.columns ? featuresOfRow : featuresOfText)(sample, model);

function featuresOfText(text, model) {
  const { vectorizer, arrays } = model, counts = new Map();
  for (const term of termsOf(text, vectorizer)) {
    const column = columnOf(term, model);
    if (column !== undefined) counts.set(column, (counts.get(column) ?? 0) + 1);
  }
  const features = [...counts.keys()].sort((a, b) => a - b);
  const idf = (column) => (arrays.idf_values ? arrays.idf_values[arrays.idf_numbers[column]] : 1);
  const values = features.map((column) => (counts.get(column) === 1 ? 1 : Math.log(counts.get(column)) + 1) * idf(column));
  const length = Math.sqrt(values.reduce((total, value) => total + value * value, 0)) || 1;
  return { features, values: values.map((value) => Math.fround(value / length)) };
}

// Calls a function for every weight of a feature, with its bit, the weight as it is stored, and what scales it.
function eachWeight({ arrays, n_bits: nBits, is_gapped: isGapped }, feature, visit) {
  const { weights, scales, starts, gaps, row_of_feature: rowOf } = arrays, row = isGapped ? feature : rowOf[feature];
  const scale = scales ? scales[row] : 1;
  if (isGapped) {
    for (let q = starts[feature], bit = 0; q < starts[feature + 1]; q++) visit((bit += gaps[q]), weights[q], scale);
  } else {
    for (let bit = 0, q = row * nBits; bit < nBits; bit++, q++) visit(bit, weights[q], scale);
  }
}

function marginsOf({ features, values }, model) {
  const margins = new Float32Array(model.n_bits);
  features.forEach((feature, i) => eachWeight(model, feature, (bit, weight, scale) => {
    margins[bit] += Math.fround(Math.fround(values[i] * scale) * weight);
  }));
  model.arrays.bias.forEach((offset, bit) => { margins[bit] += offset; });
  return margins;
}

const clipped = (z, limit) => Math.min(Math.max(z, -limit), limit);
// The loss of z = bit * margin, and the evidence of a margin.
const LOSSES = {
  hinge: [(z) => Math.max(0, 1 - z), (f) => (f + clipped(f, 1)) / 2],
  squared_hinge: [(z) => Math.max(0, 1 - z) ** 2, (f) => { const b = f - clipped(f, 1); return 2 * f + (b * Math.abs(b)) / 2; }],
  exponential: [(z) => Math.exp(-clipped(z, 20)), (f) => { const e = Math.exp(clipped(f, 20)); return (e - 1 / e) / 2; }],
  logistic: [(z) => Math.max(0, -z) + Math.log1p(Math.exp(-Math.abs(z))), (f) => f / 2],
  squared: [(z) => (1 - z) ** 2, (f) => 2 * f],
  linear: [(z) => (1 - z) / 2, (f) => f / 2],
  log_likelihood: [(z) => -z, (f) => f],
  hamming: [(z) => (1 - Math.sign(z)) / 2, (f) => Math.sign(f) / 2],
};

function logSum(logs) {
  const largest = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  return largest + Math.log(logs.reduce((total, log) => total + Math.exp(log - largest), 0));
}

// A function: the dot product of a row and the vector of a class, in four sums of single precision; 0 without vectors.
function scorerOf({ features, values }, { arrays }) {
  const { vector_starts: starts, vector_features: entries, vector_steps: steps, vector_scales: scales } = arrays;
  const spread = new Map(features.map((feature, i) => [feature, values[i]]));
  return (c) => {
    if (!starts) return 0;
    const sums = new Float32Array(4), n = starts[c + 1] - starts[c];
    for (let j = 0, q = starts[c]; j < n; j++, q++) {
      sums[j < (n & ~3) ? j & 3 : 0] += Math.fround((spread.get(entries[q]) ?? 0) * steps[q]);
    }
    return scales[c] * Math.fround(Math.fround(sums[0] + sums[1]) + Math.fround(sums[2] + sums[3]));
  };
}

// Redistribute the probability of re-ranked classes by their final losses.
function shareOut(listed, log, { temperature }) {
  const shared = logSum(listed.map(({ c }) => log(c))), rest = logSum(listed.map(({ loss }) => -loss / temperature));
  listed.forEach((one) => { one.log = shared - one.loss / temperature - rest; });
}

// Whether nothing is known about a row, so that the answer is the most frequent classes.
const isUnknown = ({ prior }, { features }) => Boolean(prior) && !features.length;
const guessOf = ({ prior, columns }) => `The model knows ${columns ? "nothing of this" : "none of these words"}; ${prior ? "these are the most frequent classes" : "this is its guess without any"}.`;

// The best classes of a row: [{c, loss, log}], best first; classes are in the order of their paths. If they are re-ranked,
// also their places before, whether they are candidates, and how far the losses of others are raised.
function bestOf(model, row, k) {
  if (isUnknown(model, row)) {
    const [classes, losses] = model.prior;
    return classes.slice(0, k).map((c, i) => ({ c, loss: losses[i], log: -losses[i] }));
  }
  const { codes, constant } = KINDS[model.kind].searched(model, row), { ranking } = model;
  const log = (c) => logSum(codes.map(({ logOf }) => logOf(c))) - Math.log(codes.length);
  const best = ranking ? reranked(codes, log, scorerOf(row, model), ranking, k) : codes[0].best(k).map(({ c, loss }) => ({ c, loss, log: log(c) }));
  best.forEach((one) => { one.loss += constant; });
  return best;
}

// The best classes of some codes, whose losses are added, after the candidates are rescored; others come behind these.
function reranked(codes, log, score, ranking, k) {
  const merged = new Map(), n = Math.max(k, ranking.n_candidates);
  codes.map(({ best }) => best(n)).forEach((list, t) => list.forEach(({ c, loss }, i) => {
    if (!merged.has(c)) merged.set(c, { c, losses: [], before: -1, isCandidate: false, raised: 0 });
    merged.get(c).losses[t] = loss;
    if (t === 0 && i < ranking.n_candidates) merged.get(c).before = i;
    merged.get(c).isCandidate ||= i < ranking.n_candidates && loss <= list[0].loss + (ranking.reach ?? Infinity);
  }));
  const listed = [...merged.values()], candidates = listed.filter((one) => one.isCandidate), others = listed.filter((one) => !one.isCandidate);
  listed.forEach((one) => { one.loss = codes.reduce((total, { lossOf }, t) => total + (one.losses[t] ?? lossOf(one.c)), 0); });
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

// The best classes of a text or a row: [{c, label, loss, probability}], best first.
function predict(model, sample, k) {
  return bestOf(model, featuresOf(sample, model), k).map(({ c, loss, log }) => ({ c, label: model.labels[c], loss, probability: Math.exp(log) }));
}

// What asks for a sample, and a function: the sample in a field or in those of a row, and what is wrong with it.
const invitationOf = ({ columns }) => (columns ? "Fill in what you know" : "Type a text");
const typedIn = (input, model) => (model.columns ? rowFields(input, model) : () => ({ sample: input.value, wrong: [] }));

async function loaded(base64) {
  const model = await unpacked(base64);
  if (model.columns) prepareColumns(model);
  else if (!model.vectorizer.n_columns) model.vocabulary = vocabularyOf(model);
  KINDS[model.kind].prepare(model);
  return model;
}
