/* Predict with models that sstruct has exported as JSON, schema version 1, in browsers and Node.
 *
 *     import { Model } from "./sstruct.js";
 *
 *     const model = Model.parse(await (await fetch("model.json")).text());
 *     const labels = model.predict([{ word: "Paris", upper: true }, { word: "sleeps" }]);
 *
 * Without dependencies. Ties are resolved as in Python: the lowest last label, then the lowest
 * previous label.
 */

const KINDS = ["chain", "classes", "label sets"];
const MOST_DEEP = 100; // limit on the nesting of feature objects

/** An error in a model or in its input; the message names the field or the item. */
export class ModelError extends Error {
  name = "ModelError";
}

function check(condition, field, message) {
  if (!condition) throw new ModelError(`${field}: ${message}`);
}

const isCount = (value, limit = 2 ** 31) => Number.isInteger(value) && value >= 0 && value < limit;

/* Fields --------------------------------------------------------------------------------------- */

function arrayOf(values, field, length) {
  check(Array.isArray(values), field, values === undefined ? "missing" : "expected an array");
  const right = length === undefined || values.length === length;
  check(right, field, `found ${values.length} entries, expected ${length}`);
  return values;
}

function numbers(values, field, length) {
  arrayOf(values, field, length).forEach((value, i) =>
    check(Number.isFinite(value), `${field}[${i}]`, "expected a finite number"),
  );
  return Float64Array.from(values);
}

/** Return increasing numbers of classes. */
function labels(values, field, limit) {
  arrayOf(values, field).forEach((value, i) => {
    const right = isCount(value, limit) && (i === 0 || value > values[i - 1]);
    check(right, `${field}[${i}]`, `expected increasing numbers below ${limit}`);
  });
  return values;
}

function strings(values, field, length) {
  arrayOf(values, field, length).forEach((value, i) =>
    check(typeof value === "string", `${field}[${i}]`, "expected a string"),
  );
  return values;
}

function objectOf(value, field) {
  check(value !== undefined, field, "missing");
  const right = typeof value === "object" && value !== null && !Array.isArray(value);
  check(right, field, "expected an object");
  return value;
}

function oneOf(value, field, choices) {
  check(choices.includes(value), field, `found ${JSON.stringify(value)}, expected ${choices.join(", ")}`);
  return value;
}

/** Apply a function to a field that may be null, but not missing. */
function optional(data, field, read) {
  check(data[field] !== undefined, field, "missing");
  return data[field] === null ? null : read(data[field], field);
}

/** Return a table: all values, or the nonzero ones with their columns and where rows start. */
function table(data, field, n_rows, n_columns) {
  objectOf(data, field);
  const shape = arrayOf(data.shape, `${field}.shape`, 2);
  const right = shape.every((n) => isCount(n) && n > 0);
  check(right, `${field}.shape`, "expected two positive integers");
  n_rows ??= shape[0];
  const agrees = shape[0] === n_rows && shape[1] === n_columns;
  check(agrees, `${field}.shape`, `found ${shape.join(" x ")}, expected ${n_rows} x ${n_columns}`);
  if (data.counts === undefined && data.columns === undefined) {
    return { n_columns, values: numbers(data.values, `${field}.values`, n_rows * n_columns) };
  }
  const values = numbers(data.values, `${field}.values`);
  const counts = arrayOf(data.counts, `${field}.counts`, n_rows);
  const columns = arrayOf(data.columns, `${field}.columns`, values.length);
  const starts = new Uint32Array(n_rows + 1);
  counts.forEach((count, row) => {
    const fits = isCount(count) && starts[row] + count <= columns.length;
    check(fits, `${field}.counts[${row}]`, "more entries than in columns");
    starts[row + 1] = starts[row] + count;
    for (let e = starts[row], last = -1; e < starts[row + 1]; last = columns[e++]) {
      const increases = isCount(columns[e], n_columns) && columns[e] > last;
      check(increases, `${field}.columns[${e}]`, `expected increasing columns below ${n_columns}`);
    }
  });
  check(starts[n_rows] === columns.length, `${field}.counts`, `the sum is not ${columns.length}`);
  return { n_columns, values, starts, columns: Uint32Array.from(columns) };
}

/** Return the K x K scores of transitions, or null if there are none. */
function edgesOf(data, n) {
  const weights = optional(data, "transitions", (value, field) => table(value, field, n, n));
  const allowed = optional(data, "allowed_next", (value, field) => arrayOf(value, field, n));
  if (weights === null && allowed === null) return null;
  const edge = new Float64Array(n * n);
  for (let row = 0; row < n; row++) {
    const scores = edge.subarray(row * n, (row + 1) * n);
    if (weights !== null) addRow(weights, row, 1, scores);
    if (allowed !== null) forbid(scores, labels(allowed[row], `allowed_next[${row}]`, n));
  }
  return edge;
}

/** Forbid all labels except those listed. */
function forbid(scores, allowed) {
  const kept = new Set(allowed);
  for (let k = 0; k < scores.length; k++) if (!kept.has(k)) scores[k] = -Infinity;
}

function boundary(data, field, allowed_field, n) {
  const scores = numbers(data[field], field, n);
  const allowed = optional(data, allowed_field, (value, name) => labels(value, name, n));
  if (allowed !== null) forbid(scores, allowed);
  return scores;
}

function vectorizerOf(data, names) {
  objectOf(data, "vectorizer");
  check(names !== null, "features", "missing, but required by vectorizer");
  const kind = oneOf(data.kind, "vectorizer.kind", ["sequence", "dict"]);
  const dtype = oneOf(data.dtype, "vectorizer.dtype", ["float64", "float32"]);
  check(typeof data.separator === "string", "vectorizer.separator", "expected a string");
  const column = new Map();
  names.forEach((name, f) => {
    check(!column.has(name), `features[${f}]`, `the name is also features[${column.get(name)}]`);
    column.set(name, f);
  });
  return { kind, separator: data.separator, single: dtype === "float32", column };
}

/** Return the message for a text that is not JSON; files have one field per line. */
function damage(text, error) {
  let last = "the first line";
  for (const line of text.split("\n")) {
    const field = /^"(\w+)": (.*?),?\r?$/.exec(line);
    if (!field) continue;
    last = field[1];
    try {
      JSON.parse(field[2]);
    } catch (problem) {
      return `${last}: ${problem.message}`;
    }
  }
  return `${last}, or a line near it: ${error.message}`;
}

/* Feature objects ------------------------------------------------------------------------------ */

/** Add the attributes of a feature object as SequenceVectorizer does. */
function addAttribute(name, value, add, where, depth = 1) {
  if (value === null || value === undefined || Number.isNaN(value)) return;
  if (typeof value === "string") add(`${name}:${value}`, 1);
  else if (typeof value === "boolean") add(name, Number(value));
  else if (typeof value === "number") add(name, value);
  else if (Array.isArray(value) || value instanceof Set || ArrayBuffer.isView(value)) {
    addSeveral(name, [...value], add, where);
  } else {
    check(typeof value === "object", where, `attribute ${name} has an unsupported value`);
    check(depth < MOST_DEEP, where, `objects are nested more than ${MOST_DEEP} levels`);
    for (const [inner, entry] of Object.entries(value)) {
      addAttribute(`${name}:${inner}`, entry, add, where, depth + 1);
    }
  }
}

function addSeveral(name, values, add, where) {
  const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
  const known = values.filter((value) => !isMissing(value));
  if (known.length > 0 && known.every((value) => ["number", "boolean"].includes(typeof value))) {
    values.forEach((value, i) => isMissing(value) || add(`${name}:${i}`, Number(value)));
    return;
  }
  for (const value of known) {
    const message = `attribute ${name} has a list of neither strings nor numbers`;
    check(typeof value === "string", where, message);
    add(`${name}:${value}`, 1);
  }
}

/** Add the entries of a feature object as scikit-learn's DictVectorizer does. */
function addEntry(name, value, add, where, separator) {
  if (typeof value === "string") add(`${name}${separator}${value}`, 1);
  else if (typeof value === "boolean") add(name, Number(value));
  else if (Array.isArray(value) || value instanceof Set) {
    for (const each of value) {
      check(typeof each === "string", where, `${name} is a list, expected only strings in it`);
      add(`${name}${separator}${each}`, 1);
    }
  } else {
    check(typeof value === "number", where, `${name} is neither a string nor a number`);
    add(name, value);
  }
}

/* Prediction ----------------------------------------------------------------------------------- */

/** Add a row of a table, multiplied by a factor, to scores. */
function addRow(weights, row, factor, scores) {
  const { values, starts, columns, n_columns } = weights;
  if (starts === undefined) {
    for (let k = 0, at = row * n_columns; k < n_columns; k++) scores[k] += factor * values[at + k];
  } else {
    for (let e = starts[row]; e < starts[row + 1]; e++) scores[columns[e]] += factor * values[e];
  }
}

function argmax(scores) {
  let best = 0;
  for (let k = 1; k < scores.length; k++) if (scores[k] > scores[best]) best = k;
  return best;
}

/** A model that predicts the labels of sequences, the classes of rows, or label sets. */
export class Model {
  /** Read the text of a model file. Throws a ModelError that names the field if it is invalid. */
  static parse(text) {
    if (typeof text !== "string") {
      throw new ModelError("Model.parse expects the content of the file as a string");
    }
    let data;
    try {
      data = JSON.parse(text);
    } catch (error) {
      throw new ModelError(damage(text, error));
    }
    return new Model(data);
  }

  constructor(data) {
    objectOf(data, "model");
    oneOf(data.format, "format", ["sstruct model"]);
    check(data.version === 1, "version", "this reader supports version 1 only");
    this.kind = oneOf(data.kind, "kind", KINDS);
    this.classes = arrayOf(data.classes, "classes").map((value, k) => {
      const right = ["string", "boolean"].includes(typeof value) || Number.isSafeInteger(value);
      check(right, `classes[${k}]`, "expected a string, an integer or a boolean");
      return value;
    });
    const n = this.classes.length;
    check(n > 0, "classes", "expected at least one class");
    this.weights = table(data.weights, "weights", undefined, n);
    const n_features = (this.n_features = data.weights.shape[0]);
    this.features = optional(data, "features", (v, field) => strings(v, field, n_features));
    this.vectorizer = optional(data, "vectorizer", (v) => vectorizerOf(v, this.features));
    this.center = optional(data, "center", (v, field) => numbers(v, field, n_features));
    this.scale = optional(data, "scale", (v, field) => numbers(v, field, n_features));
    const zero = this.scale === null ? -1 : this.scale.indexOf(0);
    check(zero < 0, `scale[${zero}]`, "must not be 0");
    this.intercept = numbers(data.intercept, "intercept", n);
    if (this.kind !== "chain") return;
    this.start = boundary(data, "start", "allowed_first", n);
    this.end = boundary(data, "end", "allowed_last", n);
    this.edge = edgesOf(data, n);
  }

  /** Predict the labels of one sequence, or of rows that are independent.
   *
   * rows: arrays of n_features numbers or, if the model has a vectorizer, feature objects as in
   * training (arrays of strings for sequences). Returns one label per row; for label sets, an array
   * with a 0 or 1 for each class.
   */
  predict(rows) {
    const scores = Array.from(rows, (row, l) => this.#scores(row, `rows[${l}]`));
    if (this.kind === "label sets") return scores.map((s) => Array.from(s, (v) => Number(v > 0)));
    const codes = this.kind === "chain" ? this.#path(scores) : scores.map(argmax);
    return codes.map((k) => this.classes[k]);
  }

  /** Return the scores of all classes for a row. */
  #scores(row, where) {
    const scores = Float64Array.from(this.intercept);
    const entries = this.vectorizer === null ? this.#dense(row, where) : this.#vectorized(row, where);
    for (const [f, value] of this.#scaled(entries)) {
      if (value !== 0) addRow(this.weights, f, value, scores);
    }
    check(scores.every(Number.isFinite), where, "the scores exceed the range of numbers");
    return scores;
  }

  #dense(row, where) {
    const isRow = Array.isArray(row) || ArrayBuffer.isView(row);
    const message = `expected an array of ${this.n_features} numbers`;
    check(isRow && row.length === this.n_features, where, message);
    return Array.from(row, (value, f) => {
      check(Number.isFinite(value), `${where}[${f}]`, "expected a finite number");
      return [f, value];
    });
  }

  /** Return the columns and values of a feature object, by column. */
  #vectorized(row, where) {
    const { kind, separator, single, column } = this.vectorizer;
    const values = new Map();
    const add = (name, value) => {
      const f = column.get(name);
      check(Number.isFinite(value), where, `attribute ${name} is not a finite number`);
      if (f !== undefined && value !== 0) values.set(f, (values.get(f) ?? 0) + value);
    };
    if (kind === "sequence" && Array.isArray(row)) {
      strings(row, where).forEach((name) => add(name, 1));
    } else {
      for (const [name, value] of Object.entries(objectOf(row, where))) {
        if (kind === "sequence") addAttribute(name, value, add, where);
        else addEntry(name, value, add, where, separator);
      }
    }
    const entries = [...values].sort((a, b) => a[0] - b[0]);
    return single ? entries.map(([f, value]) => [f, Math.fround(value)]) : entries;
  }

  #scaled(entries) {
    if (this.center === null && this.scale === null) return entries;
    if (this.center !== null && entries.length < this.n_features) {
      const known = new Map(entries); // absent features are not 0 after centering
      entries = Array.from(this.center, (_, f) => [f, known.get(f) ?? 0]);
    }
    return entries.map(([f, value]) => {
      const centered = this.center === null ? value : value - this.center[f];
      return [f, this.scale === null ? centered : centered / this.scale[f]];
    });
  }

  /** Return the numbers of the labels of the best path (Viterbi). */
  #path(scores) {
    const n = this.classes.length;
    const length = scores.length;
    if (length === 0) return [];
    for (let k = 0; k < n; k++) scores[0][k] += this.start[k];
    for (let k = 0; k < n; k++) scores[length - 1][k] += this.end[k];
    const origins = [];
    for (let l = 1; l < length && this.edge !== null; l++) {
      const origin = new Uint32Array(n);
      const best = new Float64Array(n).fill(-Infinity);
      for (let j = 0, at = 0; j < n; j++) {
        const before = scores[l - 1][j];
        for (let k = 0; k < n; k++, at++) {
          const score = before + this.edge[at];
          if (score > best[k]) {
            best[k] = score;
            origin[k] = j;
          }
        }
      }
      for (let k = 0; k < n; k++) scores[l][k] += best[k];
      origins.push(origin);
    }
    const codes = scores.map(argmax);
    const possible = scores.every((each, l) => each[codes[l]] > -Infinity);
    check(possible, "rows", `the model forbids every labeling of ${length} rows`);
    for (let l = length - 1; l > 0 && this.edge !== null; l--) codes[l - 1] = origins[l - 1][codes[l]];
    return codes;
  }
}
