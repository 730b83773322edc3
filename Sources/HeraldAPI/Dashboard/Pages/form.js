// Small forms in a dialog. Errors of the server appear at their fields.

import { h, invalid, modal, notice } from "./dom.js";
import { mistake, Stored } from "./json.js";

/// A field: the member's name (`portal-title` is `title` in `portal`), its title, its element, and a hint.
export const row = (name, title, input, hint = "") => ({ name, title, input, hint });
export const line = (value = "", properties = {}) => filled(h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...properties }), value);
export const area = (value = "", rows = 6) => filled(h("textarea", { rows, spellcheck: "false" }), value);
export const choice = (options, value, properties = {}) => filled(h("select", properties, options.map(([each, words]) => h("option", { value: each }, words))), value);

function filled(input, value) {
  if (value !== undefined && value !== null) input.value = value;
  return input;
}

/// The integer of a field; `null` if it is empty. The server refuses what is no integer, and says so at the field.
export const integer = (input) => (input.value.trim() === "" ? null : Number.isFinite(Number(input.value)) ? Number(input.value) : input.value);

/// The JSON of a field as it is written; `undefined` if it is empty.
export function json(name, input) {
  if (input.value.trim() === "") return undefined;
  const found = mistake(input.value);
  if (found) throw Object.assign(new Error(), { errors: [{ pointer: "/" + name, detail: found }] });
  return new Stored(input.value);
}

/// A field of a form, with its title, a hint, and the element of its error. The id of the input begins with `field-`.
export function field(input, title, hint, look = "field") {
  const name = input.id.slice(6);
  input.setAttribute("aria-describedby", `hint-${name} error-${name}`);
  return h("div", { class: look }, h("label", { for: input.id }, title), input,
    h("p.hint", { id: "hint-" + name }, hint), h("p.error", { id: "error-" + name }));
}

const place = (name) => "/" + name.replaceAll("-", "/");

/// Opens a form. `submit` sends it; the dialog closes when that has succeeded, and the text that it returns is shown.
export function openForm(title, rows, words, submit) {
  const general = h("p.error", { role: "alert" });
  for (const { name, input } of rows) input.id = "field-" + name;
  const dialog = modal("form", { "aria-labelledby": "form-title" }, null,
    h("h2", { id: "form-title" }, title),
    h("form", { novalidate: true, onsubmit: send }, general, h("div.fields", rows.map(({ title: label, input, hint }) => field(input, label, hint))),
    h("div.actions", h("button.primary", words), h("button", { onclick: () => dialog.close() }, "Cancel"))));

  async function send(event) {
    event.preventDefault();
    fail([], "");
    try {
      const words = await submit();
      dialog.close();
      if (words) notice(words);
    } catch (error) {
      fail(error.errors ?? [], error.message);
    }
  }

  function fail(errors, message) {
    const texts = errors.map(({ pointer, detail }) => [rows.find(({ name }) => `${pointer}/`.startsWith(place(name) + "/")), pointer, detail]);
    for (const { name, input } of rows) {
      const own = texts.filter(([found]) => found?.name === name);
      dialog.querySelector("#error-" + name).textContent = own.map(([, pointer, detail]) => `${pointer === place(name) ? "" : pointer + " "}${detail}`).join("; ");
      invalid(input, own.length > 0);
    }
    const others = texts.filter(([found]) => !found).map(([, pointer, detail]) => `${pointer ?? ""} ${detail}`.trim());
    general.textContent = others.join("; ") || (errors.length === 0 ? message : "");
    texts.find(([found]) => found)?.[0].input.focus();
  }
}
