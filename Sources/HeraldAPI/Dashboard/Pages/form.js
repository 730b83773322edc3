// Fields, and small forms in a dialog. Errors of the server appear at their fields.

import { h, invalid, modal, notice, say, t } from "./dom.js";
import { mistake, put, Stored } from "./json.js";

/// A field: the member's name (`portal-title` is `title` in `portal`), its title, its element, a hint, and how its text is read.
export const row = (name, title, input, hint = "", read = (text) => text) => ({ name, title, input, hint, read });
export const line = (value = "", properties = {}) => filled(h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...properties }), value);
export const area = (value = "", rows = 6, properties = {}) => filled(h("textarea", { rows, spellcheck: "false", ...properties }), value);

/// - Parameter options: pairs of a value and its words, or an object of them.
export const choice = (options, value, properties = {}) => filled(h("select", properties,
  (Array.isArray(options) ? options : Object.entries(options)).map(([each, words]) => h("option", { value: each }, words))), value);

function filled(input, value) {
  if (value !== undefined && value !== null) input.value = value;
  return input;
}

/// The number in a text; `null` if it is empty. The server refuses what is no number, and says so at the field.
export const numeric = (text) => (text === "" ? null : Number.isFinite(Number(text)) ? Number(text) : text);

/// The JSON of a field as it is written; `undefined` if it is empty.
export function json(text, name) {
  const found = text && mistake(text);
  if (found) refuse(name, found);
  return text ? new Stored(text) : undefined;
}

export const required = (text, name) => text || refuse(name, t("is required"));

const place = (name) => "/" + name.replaceAll("-", "/");

function refuse(name, detail) {
  throw Object.assign(new Error(), { errors: [{ pointer: place(name), detail }] });
}

/// A field of a form, with its title, a hint, and the element of its error. The id of the input begins with `field-`.
export function field(input, title, hint, look = "field") {
  const name = input.id.slice(6);
  input.setAttribute("aria-describedby", `hint-${name} error-${name}`);
  return h("div", { class: look }, h("label", { for: input.id }, title), input,
    h("p.hint", { id: "hint-" + name }, hint), h("p.error", { id: "error-" + name }));
}

/// Shows each error at its field, and the others, or else the message, in `general`.
/// - Parameter targets: JSON pointers with their inputs; the first one that contains the pointer of an error has it.
/// - Returns: the first input of the form that has an error.
export function showErrors(form, general, targets, errors, message) {
  const texts = new Map(targets.map(([, input]) => [input, []]));
  const others = [];
  for (const { pointer, detail } of errors) {
    const [place, input] = targets.find(([each]) => `${pointer}/`.startsWith(each + "/")) ?? [];
    const entry = input && pointer.slice(place.length + 1);
    if (/^\d+$/.test(entry)) texts.get(input).push(t("Entry {} {}", Number(entry) + 1, detail));
    else (texts.get(input) ?? others).push(entry === "" || !pointer ? detail : `${pointer} ${detail}`);
  }
  for (const [input, words] of texts) {
    say(form.querySelector("#error-" + input.id.slice(6)), words.join("; "));
    invalid(input, words.length > 0);
  }
  say(general, others.join("; ") || (errors.length === 0 && message) || "");
  return form.querySelector("[aria-invalid]");
}

/// Opens a form. `submit` sends its values; the dialog closes when that has succeeded, and the text that it returns is shown.
export function openForm(title, all, words, submit) {
  const rows = all.filter(Boolean);
  const general = h("p.error", { role: "alert" });
  for (const { name, input } of rows) input.id = "field-" + name;
  const targets = rows.map(({ name, input }) => [place(name), input]);
  const dialog = modal("form", { "aria-labelledby": "form-title" }, null,
    h("h2", { id: "form-title" }, title),
    h("form", { novalidate: true, onsubmit: send }, general, h("div.fields", rows.map(({ title: label, input, hint }) => field(input, label, hint))),
    h("div.actions", h("button.primary", words), h("button", { onclick: () => dialog.close() }, "Cancel"))));

  async function send(event) {
    event.preventDefault();
    showErrors(dialog, general, targets, []);
    try {
      const values = {};
      for (const { name, input, read } of rows) put(values, place(name), read(input.value.trim(), name));
      const words = await submit(values);
      dialog.close();
      if (words) notice(words);
    } catch (error) {
      showErrors(dialog, general, targets, error.errors ?? [], error.message)?.focus();
    }
  }
}
