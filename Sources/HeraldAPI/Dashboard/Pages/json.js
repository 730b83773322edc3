// Reads JSON: the browser's parser rounds large numbers, and reports errors differently or not at all.

import { t } from "./texts.js";

/// A JSON value as the server stores it. A parsed number may be another one: 2^53 + 1 is rounded, and 1e400 becomes infinite.
export class Stored {
  constructor(text) { this.text = text; }
  get value() { return JSON.parse(this.text); }
  /// For comparing. `write` is what sends it.
  toJSON() { return this.text; }
}

/// In a shape: the value remains as it is stored.
export const stored = Symbol("stored");

/// Parses a JSON text. `shape` shows where the stored values are: `{ data: [{ data: stored }] }` for a page of events.
export const read = (text, shape) => (shape === undefined ? JSON.parse(text) : new Reader(text).read(shape));

/// The JSON text of a value that may contain stored ones.
export function write(value) {
  if (value instanceof Stored) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${write(each)}`).join(",")}}`;
}

/// Whether a stored value is there, and is not `null`.
export const has = (value) => value !== null && value !== undefined && value.text !== "null";

/// Sets the member of an object that a JSON pointer names.
export function put(object, pointer, value) {
  const names = pointer.slice(1).split("/");
  const last = names.pop();
  names.reduce((parent, name) => (parent[name] ??= {}), object)[last] = value;
}

/// The members of an object as stored values; `null` if the text is of another value.
export function members(text) {
  const reader = new Reader(text);
  return text.trimStart().startsWith("{") ? Object.entries(reader.read(new Proxy({}, { get: () => stored }))) : null;
}

const token = /"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/// Adds line breaks and indentation to JSON text. Its tokens stay as they are.
export function indented(text) {
  const tokens = text.match(token) ?? [];
  let [result, depth] = ["", 0];
  const line = () => "\n" + "  ".repeat(depth);
  tokens.forEach((each, index) => {
    if (each === "}" || each === "]") {
      depth -= 1;
      result += (/^[{[]$/.test(tokens[index - 1]) ? "" : line()) + each;
    } else if (each === "{" || each === "[") {
      depth += 1;
      result += each + (/^[}\]]$/.test(tokens[index + 1]) ? "" : line());
    } else result += each === "," ? each + line() : each === ":" ? ": " : each;
  });
  return result;
}

/// A stored value as indented text; empty if there is none.
export const pretty = (value) => (has(value) ? indented(value.text) : "");

/// The first error in words; `null` if the text is valid JSON.
export function mistake(text) {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const reader = new Reader(text);
    try {
      reader.value();
      reader.space();
      reader.fail("the value ends here, but the text continues");
    } catch (words) {
      const before = text.slice(0, reader.place).split("\n");
      return t("Line {}, column {}: {}.", before.length, before.at(-1).length + 1, t(words));
    }
  }
}

class Reader {
  place = 0;
  constructor(text) { this.text = text; }

  fail(words) { throw words; }
  space() { this.skip(/[ \t\r\n]*/y); }

  skip(expression) {
    expression.lastIndex = this.place;
    const found = expression.exec(this.text);
    if (found) this.place += found[0].length;
    return found !== null;
  }

  take(character) {
    this.space();
    if (this.text[this.place] !== character) return false;
    this.place += 1;
    return true;
  }

  read(shape) {
    this.space();
    const start = this.place;
    if (Array.isArray(shape) && this.text[start] === "[") {
      const list = [];
      this.take("[");
      this.members("]", () => list.push(this.read(shape[0])));
      return list;
    }
    if (shape && typeof shape === "object" && !Array.isArray(shape) && this.text[start] === "{") {
      const entries = [];
      this.take("{");
      this.members("}", () => {
        const name = this.name();
        entries.push([name, this.read(shape[name])]);
      });
      return Object.fromEntries(entries);
    }
    this.value();
    const text = this.text.slice(start, this.place);
    return shape === stored ? new Stored(text) : JSON.parse(text);
  }

  name() {
    this.space();
    const start = this.place;
    if (this.text[start] !== '"') this.fail("expected a name in quotation marks");
    this.string();
    const text = this.text.slice(start, this.place);
    if (!this.take(":")) this.fail("expected a colon after the name");
    return text.includes("\\") ? JSON.parse(text) : text.slice(1, -1);
  }

  value() {
    this.space();
    if (this.place >= this.text.length) this.fail("a value is missing");
    if (this.take("{")) return this.members("}", () => this.member());
    if (this.take("[")) return this.members("]", () => this.value());
    if (this.text[this.place] === '"') return this.string();
    if (this.skip(/-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.])/y) || this.skip(/(true|false|null)\b/y)) return;
    this.fail("this is no value: text needs quotation marks");
  }

  members(end, member) {
    if (this.take(end)) return;
    do member(); while (this.take(","));
    if (!this.take(end)) this.fail(`expected a comma or ${end}`);
  }

  member() {
    this.name();
    this.value();
  }

  string() {
    this.place += 1;
    this.skip(/([^"\\\u0000-\u001f]+|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y);
    if (this.text[this.place] === '"') this.place += 1;
    else this.fail(this.text[this.place] === "\\" ? "this escape does not exist" : "the text in quotation marks does not end");
  }
}
