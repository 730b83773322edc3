// The settings of a delegate as a form: fields, parsing, and errors.

import { api } from "./api.js";
import { h, t } from "./dom.js";
import { area, choice, field, line, numeric, showErrors } from "./form.js";
import { Stored, has, mistake, pretty } from "./json.js";
import { recipeForm } from "./recipe.js";

const words = { read: (text) => text.split(/[\s,]+/).filter(Boolean), write: (list) => list.join("\n"), rows: 2 };
const lines = { read: (text) => text.split("\n").map((each) => each.trim()).filter(Boolean), write: words.write, rows: 2 };
const pairs = {
  read: (text) => Object.fromEntries(lines.read(text).map(pair)),
  write: (object) => Object.entries(object).map(([key, value]) => {
    const plain = `${key}: ${value}`;
    return same(pair(plain), [key, value]) && !plain.includes("\n") ? plain : `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
  }).join("\n"),
  rows: 2,
};
const same = (one, other) => one.every((each, index) => each === other[index]);
/// A key and a value. What would be read differently, such as a key with a colon, is written as JSON.
function pair(line) {
  if (line.startsWith('"')) {
    try {
      const [only, ...more] = Object.entries(JSON.parse(`{${line}}`));
      if (more.length === 0) return only;
    } catch { /* A plain key begins with a quotation mark. */ }
  }
  const colon = line.indexOf(":");
  return colon < 0 ? [line, ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}
const text = { read: (value) => value, write: (value) => value };
const number = { read: numeric, write: String };
const numbers = { read: (value) => words.read(value).map(numeric), write: (list) => list.join(", ") };
const json = { read: (value) => new Stored(value), write: pretty, rows: 3 };
const oneOf = (...options) => ({ ...text, options });
const flag = { read: (value) => value === "true", write: String, options: ["false", "true"] };

/// In the order of the form. `isFirst`: not below "More settings". `only`: "new" for the registration, "pull" for a delegate that has it.
const fields = [
  { name: "url", isFirst: true, title: "URL", type: text, hint: "Where Herald sends the events.", required: true },
  { name: "events", isFirst: true, title: "Event patterns", type: words, hint: "auth.logged_in, auth.*, or *; empty: everything." },
  { name: "description", isFirst: true, title: "Description", type: text },
  { name: "subjects", title: "Subjects", type: lines, hint: "One per line; empty: any." },
  { name: "filter", title: "Content filter", type: json, hint: 'JSON: {"data": {"amount": [{"numeric": [">", 100]}]}}' },
  { name: "format", title: "Format", type: oneOf("standard", "cloudevents", "cloudevents_binary") },
  { name: "ordering", title: "Order", type: oneOf("none", "subject", "strict") },
  { name: "max_in_flight", title: "Requests at once, at most", type: number, hint: "1 to 256; default 32." },
  { name: "rate_limit", title: "Requests per second, at most", type: number, hint: "Empty: no limit." },
  { name: "timeout_seconds", title: "Timeout, in seconds", type: number, hint: "1 to 60; default 15." },
  { name: "retry_schedule", title: "Retries after, in seconds", type: numbers, hint: "5, 300, 1800, …; empty: the default." },
  { name: "ack_seconds", title: "Seconds to acknowledge", type: number, hint: "5 to 43200; default 60.", only: "pull" },
  { name: "lease_seconds", title: "Lease, in seconds", type: number, hint: "Removed when not renewed in time; empty: no lease." },
  { name: "disable_after_seconds", title: "Disabled after failing for, in seconds", type: number, hint: "60 to 31536000; default 432000, five days." },
  { name: "headers", title: "Extra headers", type: pairs, hint: "Name: value, one per line. Values are never shown again." },
  { name: "metadata", title: "Metadata", type: pairs, hint: "Name: value, one per line." },
  { name: "http_version", title: "HTTP version", type: oneOf("1.1", "2") },
  { name: "verification", title: "Verification", type: oneOf("none", "challenge", "cloudevents") },
  { name: "request", isRecipe: true },
  { name: "signature", title: "Signature", type: oneOf("v1", "v1a", "text"), hint: "v1: HMAC-SHA256. v1a: Ed25519. text: for schemes of a recipe.", only: "new" },
  { name: "start", title: "Start", type: text, hint: "now, earliest, an event's id, or a time.", only: "new" },
  { name: "replay_current_state", title: "Send the current state first", type: flag, only: "new" },
];

/// The form of all settings.
/// - Parameter delegate: the delegate to edit; none for a new one.
export function settingsForm(delegate) {
  const used = fields.filter(({ isRecipe, name, only }) => !isRecipe && (delegate ? only !== "new" && (name in delegate || (name === "headers" && delegate.url)) : only !== "pull"));
  const first = new Map();
  const inputs = new Map(used.map((field) => [field.name, make(field)]));
  const general = h("p.error", { role: "alert" });
  const recipe = delegate?.kind === "pull" ? null : recipeForm(delegate, () => read());
  const more = h("details.more", h("summary", "More settings"), h("div.fields", used.filter((field) => !field.isFirst).map(row)));
  const element = h("div.fields", { oninput: validateSoon }, general, used.filter((field) => field.isFirst).map(row), more, recipe?.element);
  let [turn, timer] = [0, null];

  function validateSoon() {
    clearTimeout(timer);
    timer = setTimeout(validate, 400);
  }

  /// Checks the settings while the user types. An empty field is no error yet.
  async function validate() {
    const settings = read(false);
    const mine = turn;
    if (!settings || !element.isConnected) return;
    const errors = await api.preview(delegate?.id, settings).then(() => [], (error) => error.errors ?? []);
    if (mine === turn) show(errors.filter(({ pointer }) => inputs.get(pointer?.split("/")[1])?.value), "", false);
  }

  /// Whether a delegate still has the initial settings of the form.
  const isOf = (other) => ["header_names", "request", ...inputs.keys()].every((name) => JSON.stringify(other[name]) === JSON.stringify(delegate[name]));

  function make({ name, type, required }) {
    const properties = { id: "field-" + name, name, "aria-required": required && "true" };
    const value = delegate?.[name];
    const text = has(value) ? type.write(value) : undefined;
    const input = type.options ? choice(type.options.map((option) => [option, option]), text, properties)
      : type.rows ? area(text, type.rows, properties) : line(text, properties);
    first.set(name, input.value);
    return input;
  }

  function row({ name, title, hint }) {
    const isHidden = delegate && name === "headers" && delegate.header_names.length > 0;
    return field(inputs.get(name), title, isHidden ? t("Set: {}. Name one to replace it; “Name:” alone removes it.", delegate.header_names.join(", ")) : hint);
  }

  /// The values of the form: all fields that are filled in, or, for an existing delegate, the changed ones; an empty
  /// field means the default. `null` if a field is invalid; the reason is shown at the field then.
  /// - Parameter isFinal: whether the first error gets the focus.
  function read(isFinal = true) {
    turn += 1;
    clearTimeout(timer);
    if (isFinal) show([]);
    const result = {};
    for (const { name, type } of used) {
      const input = inputs.get(name);
      if (input.value === first.get(name)) continue;
      const value = input.value.trim();
      const wrong = value && type === json ? mistake(value) : null;
      if (wrong) return refuse({ pointer: "/" + name, detail: wrong });
      if (value === "" && !delegate) continue;
      const given = value === "" && type !== pairs ? null : type.read(value);
      result[name] = delegate && type === pairs ? patched(name, given) : given;
    }
    const wrong = recipe?.add(result);
    return wrong ? refuse(wrong) : result;

    function refuse(error) {
      show([error], "", isFinal);
      return null;
    }
  }

  /// Members of an object are merged one by one, so removed ones have to be named.
  function patched(name, value) {
    const gone = Object.keys(delegate[name] ?? {}).filter((key) => !Object.hasOwn(value, key)).map((key) => [key, null]);
    const named = Object.entries(value).map(([key, each]) => [key, each === "" && name === "headers" ? null : each]);
    return Object.fromEntries([...gone, ...named]);
  }

  /// The settings of a preset are at its own fields.
  function show(errors, message = "", isFinal = true) {
    const targets = [...recipe?.targets() ?? [], ...[...inputs].map(([name, input]) => ["/" + name, input])];
    const input = showErrors(element, general, targets, errors, message);
    if (!input || !isFinal) return;
    for (const each of [more, recipe?.element]) if (each?.contains(input)) each.open = true;
    input.focus();
  }

  return { element, inputs, isOf, read, showErrors: show };
}
