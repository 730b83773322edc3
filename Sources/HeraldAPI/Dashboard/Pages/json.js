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
export const read = (text, shape) => (shape === undefined ? JSON.parse(text) : reader(text).read(shape));

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
  return text.trimStart().startsWith("{") ? Object.entries(reader(text).read(new Proxy({}, { get: () => stored }))) : null;
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
    const { whole, before: read } = reader(text);
    try {
      whole();
    } catch (words) {
      const before = read().split("\n");
      return t("Line {}, column {}: {}.", before.length, before.at(-1).length + 1, t(words));
    }
  }
}

/// Reads a JSON text step by step. An error is thrown in words; `before` returns the text before it.
function reader(text) {
  let place = 0;
  const fail = (words) => { throw words; };
  const space = () => skip(/[ \t\r\n]*/y);

  function skip(expression) {
    expression.lastIndex = place;
    const found = expression.exec(text);
    if (found) place += found[0].length;
    return found !== null;
  }

  function take(character) {
    space();
    if (text[place] !== character) return false;
    place += 1;
    return true;
  }

  function read(shape) {
    space();
    const start = place;
    const isList = Array.isArray(shape);
    if (isList && take("[")) {
      const list = [];
      members("]", () => list.push(read(shape[0])));
      return list;
    }
    if (!isList && typeof shape === "object" && take("{")) {
      const entries = [];
      members("}", () => {
        const key = name();
        entries.push([key, read(shape[key])]);
      });
      return Object.fromEntries(entries);
    }
    value();
    const found = text.slice(start, place);
    return shape === stored ? new Stored(found) : JSON.parse(found);
  }

  function name() {
    space();
    const start = place;
    if (text[start] !== '"') fail("expected a name in quotation marks");
    string();
    const found = text.slice(start, place);
    if (!take(":")) fail("expected a colon after the name");
    return JSON.parse(found);
  }

  function value() {
    space();
    if (place >= text.length) fail("a value is missing");
    if (take("{")) return members("}", () => [name(), value()]);
    if (take("[")) return members("]", value);
    if (text[place] === '"') return string();
    if (skip(/-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.])/y) || skip(/(true|false|null)\b/y)) return;
    fail("this is no value: text needs quotation marks");
  }

  function members(end, member) {
    if (take(end)) return;
    do member(); while (take(","));
    if (!take(end)) fail(`expected a comma or ${end}`);
  }

  function string() {
    place += 1;
    skip(/([^"\\\u0000-\u001f]+|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y);
    if (text[place] === '"') place += 1;
    else fail(text[place] === "\\" ? "this escape does not exist" : "the text in quotation marks does not end");
  }

  function whole() {
    value();
    space();
    fail("the value ends here, but the text continues");
  }

  return { read, whole, before: () => text.slice(0, place) };
}
