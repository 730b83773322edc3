// The settings of a delegate as a form: fields, parsing, and errors.

import { api } from "./api.js";
import { h, invalid, t } from "./dom.js";
import { field as row } from "./form.js";
import { Stored, indented, mistake } from "./json.js";
import { Recipe } from "./recipe.js";

const words = { read: (text) => text.split(/[\s,]+/).filter(Boolean), write: (list) => list.join("\n") };
const lines = { read: (text) => text.split("\n").map((each) => each.trim()).filter(Boolean), write: words.write };
const pairs = {
  read: (text) => Object.fromEntries(lines.read(text).map((each) => {
    const colon = each.indexOf(":");
    return colon < 0 ? [each, ""] : [each.slice(0, colon).trim(), each.slice(colon + 1).trim()];
  })),
  write: (object) => Object.entries(object).map(([key, value]) => `${key}: ${value}`).join("\n"),
};
const text = { read: (value) => value, write: (value) => value };
const number = { read: (value) => (Number.isFinite(Number(value)) ? Number(value) : value), write: String };
const numbers = { read: (value) => words.read(value).map(number.read), write: (list) => list.join(", ") };
const json = { read: (value) => new Stored(value), write: (value) => indented(value.text) };
const choice = (...options) => ({ ...text, options });
const flag = { read: (value) => value === "true", write: String, options: ["false", "true"] };

/// In the order of the form. `isFirst`: not below "More settings". `only`: "new" for the registration, "pull" for a delegate that has it.
const fields = [
  { name: "url", isFirst: true, title: "URL", type: text, hint: "Where Herald sends the events.", required: true },
  { name: "events", isFirst: true, title: "Event patterns", type: words, rows: 2, hint: "auth.logged_in, auth.*, or *; empty: everything." },
  { name: "description", isFirst: true, title: "Description", type: text },
  { name: "subjects", title: "Subjects", type: lines, rows: 2, hint: "One per line; empty: any." },
  { name: "filter", title: "Content filter", type: json, rows: 3, hint: 'JSON: {"data": {"amount": [{"numeric": [">", 100]}]}}' },
  { name: "format", title: "Format", type: choice("standard", "cloudevents", "cloudevents_binary") },
  { name: "ordering", title: "Order", type: choice("none", "subject", "strict") },
  { name: "max_in_flight", title: "Requests at once, at most", type: number, hint: "1 to 256; default 32." },
  { name: "rate_limit", title: "Requests per second, at most", type: number, hint: "Empty: no limit." },
  { name: "timeout_seconds", title: "Timeout, in seconds", type: number, hint: "1 to 60; default 15." },
  { name: "retry_schedule", title: "Retries after, in seconds", type: numbers, hint: "5, 300, 1800, …; empty: the default." },
  { name: "ack_seconds", title: "Seconds to acknowledge", type: number, hint: "5 to 43200; default 60.", only: "pull" },
  { name: "lease_seconds", title: "Lease, in seconds", type: number, hint: "Removed when not renewed in time; empty: no lease." },
  { name: "disable_after_seconds", title: "Disabled after failing for, in seconds", type: number, hint: "60 to 31536000; default 432000, five days." },
  { name: "headers", title: "Extra headers", type: pairs, rows: 2, hint: "Name: value, one per line. Values are never shown again." },
  { name: "metadata", title: "Metadata", type: pairs, rows: 2, hint: "Name: value, one per line." },
  { name: "http_version", title: "HTTP version", type: choice("1.1", "2") },
  { name: "verification", title: "Verification", type: choice("none", "challenge", "cloudevents") },
  { name: "request", isRecipe: true },
  { name: "signature", title: "Signature", type: choice("v1", "v1a", "text"), hint: "v1: HMAC-SHA256. v1a: Ed25519. text: for schemes of a recipe.", only: "new" },
  { name: "start", title: "Start", type: text, hint: "now, earliest, an event's id, or a time.", only: "new" },
  { name: "replay_current_state", title: "Send the current state first", type: flag, only: "new" },
];

export class Fields {
  #delegate;
  #first = new Map();
  #turn = 0;
  #timer;

  /// - Parameter delegate: the delegate to edit; none for a new one.
  constructor(delegate) {
    this.#delegate = delegate;
    const used = fields.filter(({ isRecipe, name, only }) => !isRecipe && (delegate ? only !== "new" && (name in delegate || (name === "headers" && delegate.url)) : only !== "pull"));
    this.general = h("p.error", { role: "alert", hidden: true });
    this.inputs = new Map(used.map((field) => [field.name, this.#input(field)]));
    this.more = h("details.more", h("summary", "More settings"),
      h("div.fields", used.filter((field) => !field.isFirst).map((field) => this.#row(field))));
    this.recipe = new Recipe(delegate, () => this.read());
    this.element = h("div.fields", this.general, used.filter((field) => field.isFirst).map((field) => this.#row(field)), this.more,
      delegate?.kind !== "pull" && this.recipe.element);
    this.element.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#validate(), 400);
    });
  }

  /// Checks the settings while the user types. An empty field is no error yet.
  async #validate() {
    const settings = this.read(false);
    const mine = this.#turn;
    if (!settings || !this.element.isConnected) return;
    const errors = await api.preview(this.#delegate?.id, settings).then(() => [], (error) => error.errors ?? []);
    if (mine === this.#turn) this.showErrors(errors.filter(({ pointer }) => this.inputs.get(pointer?.split("/")[1])?.value), "", false);
  }

  /// Whether a delegate still has the initial settings of the form.
  isOf(delegate) {
    return ["header_names", "request", ...this.inputs.keys()].every((name) => JSON.stringify(delegate[name]) === JSON.stringify(this.#delegate[name]));
  }

  #input(field) {
    const properties = { id: "field-" + field.name, name: field.name, "aria-required": field.required && "true" };
    const input = field.type.options
      ? h("select", properties, field.type.options.map((option) => h("option", { value: option }, option)))
      : field.rows ? h("textarea", { ...properties, rows: field.rows, spellcheck: "false" })
        : h("input", { ...properties, type: "text", autocomplete: "off", spellcheck: "false" });
    const value = this.#delegate?.[field.name];
    if (value !== null && value !== undefined && value.text !== "null") input.value = field.type.write(value);
    this.#first.set(field.name, input.value);
    return input;
  }

  #row(field) {
    const isHidden = this.#delegate && field.name === "headers" && this.#delegate.header_names.length > 0;
    const hint = isHidden ? t("Set: {}. Name one to replace it; “Name:” alone removes it.", this.#delegate.header_names.join(", ")) : field.hint;
    return row(this.inputs.get(field.name), field.title, hint);
  }

  /// The values of the form: all fields that are filled in, or, for an existing delegate, the changed ones; an empty
  /// field means the default. `null` if a field is invalid; the reason is shown at the field then.
  /// - Parameter isFinal: whether the first error gets the focus.
  read(isFinal = true) {
    this.#turn += 1;
    clearTimeout(this.#timer);
    if (isFinal) this.showErrors([]);
    const result = {};
    for (const field of fields) {
      const input = this.inputs.get(field.name);
      if (!input || (input.value === this.#first.get(field.name))) continue;
      const value = input.value.trim();
      if (value === "") result[field.name] = !this.#delegate ? undefined : field.type === pairs ? this.#patched(field, {}) : null;
      else if (field.type === json && mistake(value)) {
        this.showErrors([{ pointer: "/" + field.name, detail: mistake(value) }], "", isFinal);
        return null;
      } else result[field.name] = this.#patched(field, field.type.read(value));
    }
    const wrong = this.recipe.add(result);
    if (wrong) this.showErrors([wrong], "", isFinal);
    return wrong ? null : result;
  }

  /// Members of an object are merged one by one, so removed ones have to be named.
  #patched(field, value) {
    if (!this.#delegate || field.type !== pairs) return value;
    const gone = Object.keys(this.#delegate[field.name] ?? {}).filter((key) => !Object.hasOwn(value, key)).map((key) => [key, null]);
    const named = Object.entries(value).map(([key, each]) => [key, each === "" && field.name === "headers" ? null : each]);
    return Object.fromEntries([...gone, ...named]);
  }

  /// Shows each error at its field, and errors without a field at the top. The first one gets the focus.
  showErrors(errors, detail = "", isFinal = true) {
    const texts = new Map();
    const general = [];
    for (const error of errors) {
      const [, name, entry] = (error.pointer ?? "").split("/");
      const words = entry !== undefined && /^\d+$/.test(entry) ? t("Entry {} {}", Number(entry) + 1, error.detail) : error.detail;
      if (this.recipe.has(error.pointer ?? "")) continue;
      if (this.inputs.has(name)) texts.set(name, [...(texts.get(name) ?? []), words]);
      else general.push(`${name ? name + " " : ""}${error.detail}`);
    }
    if (errors.length === 0 && detail) general.push(detail);
    this.general.textContent = general.join(" ");
    this.general.hidden = general.length === 0;
    for (const [name, input] of this.inputs) {
      const words = texts.get(name);
      this.element.querySelector("#error-" + name).textContent = words?.join("; ") ?? "";
      invalid(input, words);
    }
    const other = this.recipe.showErrors(errors);
    const first = [...this.inputs].find(([name]) => texts.has(name))?.[1] ?? other;
    if (!first || !isFinal) return;
    for (const each of [this.more, this.recipe.element]) if (each.contains(first)) each.open = true;
    first.focus();
  }
}
