// Rows of a table: an array of cells, one for each column of the model, as in codekin.data.row_features. What is missing is
// an empty text, NaN or null, or an empty category.

const NOTHING = { features: [], values: [] };
const ENDS = new RegExp(`^${SPACES.source}|${SPACES.source}$`, "gu");
const stripped = (name) => name.replace(ENDS, "");

// For each kind of column the features of a cell, from 0, and a field to type it into: what it is, its cell, what is wrong.
const CELLS = {
  text: {
    features(cell, column) {
      const { features, values } = featuresOfText(cell, column);
      return { features, values: values.map((value) => Math.fround(value * column.weight)) };
    },
    field: { tag: "textarea", rows: 2 },
    read: ({ value }) => value,
    wrong: () => null,
  },
  number: {
    features(cell, { centre, scale, weight }) {
      const value = Number.isFinite(cell) ? Math.fround(clipped((cell - centre) / scale, 1) * weight) : 0;
      return value ? { features: [0], values: [value] } : NOTHING;
    },
    field: { tag: "input", type: "number", step: "any", inputMode: "decimal" },
    read: ({ valueAsNumber }) => valueAsNumber,
    wrong: ({ validity }) => (validity.badInput ? "not a number" : null),
  },
  category: {
    features(cell, { places, weight }) {
      const place = places.get(stripped(cell));
      return place === undefined ? NOTHING : { features: [place], values: [Math.fround(weight)] };
    },
    field: { tag: "input", type: "text", autocomplete: "off" },
    read: ({ value }, { typed }) => typed.get(stripped(value)) ?? value,
    wrong(field, column) {
      const name = stripped(this.read(field, column));
      return name && !column.places.has(name) ? "not known" : null;
    },
  },
};

function prepareColumns(model) {
  let start = 0;
  model.columns.forEach((column, i) => {
    column.start = start;
    start += column.n;
    if (column.kind === "category") {
      column.places = new Map(column.known.map((name, k) => [name, k]));
      column.typed = new Map(column.known.map((name) => [name.replace(/[\r\n]/g, ""), name])); // fields have one line
    }
    if (column.kind !== "text") return;
    const own = Object.entries(model.arrays).filter(([name]) => name.startsWith(`text${i}_`));
    column.arrays = Object.fromEntries(own.map(([name, array]) => [name.slice(name.indexOf("_") + 1), array]));
    if (!column.vectorizer.n_columns) column.vocabulary = vocabularyOf(column);
  });
}

function featuresOfRow(cells, { columns }) {
  const parts = columns.map((column, i) => CELLS[column.kind].features(cells[i], column));
  const features = parts.flatMap((part, i) => part.features.map((feature) => columns[i].start + feature));
  return { features, values: parts.flatMap(({ values }) => values) };
}

// Puts a labelled field for each column into an element. Returns a function: the row that is typed, null if all fields are
// empty, and what is wrong with it, in sentences.
function rowFields(parent, { columns }) {
  const fields = columns.map((column, i) => {
    const { tag, ...properties } = CELLS[column.kind].field, id = `cell${i}`;
    const field = Object.assign(document.createElement(tag), properties, { id }), group = document.createElement("div");
    const label = Object.assign(document.createElement("label"), { htmlFor: id, textContent: column.name });
    group.className = column.kind;
    group.append(label, field);
    if (column.known) {
      const list = Object.assign(document.createElement("datalist"), { id: `${id}-known` });
      for (const value of column.known) list.append(Object.assign(document.createElement("option"), { value }));
      field.setAttribute("list", list.id);
      group.append(list);
    }
    parent.append(group);
    return field;
  });
  return () => {
    const said = columns.map((column, i) => [column.name, CELLS[column.kind].wrong(fields[i], column)]).filter(([, what]) => what);
    const sample = fields.every(({ value }) => !value) ? null : columns.map((column, i) => CELLS[column.kind].read(fields[i], column));
    return { sample, wrong: said.map(([name, what]) => `${name}: ${what}, so it counts as missing.`) };
  };
}
