// Builds the page. Data becomes a text node or an attribute, never markup.

import { t, visible } from "./texts.js";

export { t };

const svgNamespace = "http://www.w3.org/2000/svg";

/// An HTML element: `p.muted.small` is one with two classes. Its properties are the first argument, if that is an object.
/// Those with `on` are listeners; `null`, `undefined` and `false` are omitted. Texts and labels are translated, except in
/// elements with data: those in a code font, and of the class `address` or `data`. Characters that can't be seen are shown. A
/// button with a listener submits no form.
/// `key` is the name by which `show` finds the focused element again; that of a link is its address.
export function h(name, ...children) {
  const [tag, ...classes] = name.split(".");
  const properties = children[0]?.constructor === Object ? children.shift() : {};
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  if (tag === "button" && properties.onclick) element.type = "button";
  if (tag === "pre") element.tabIndex = 0;
  if (tag === "a") properties.key ??= properties.href;
  return fill(element, properties, children);
}

export const button = (key, words, onclick, look) => h("button", { key, class: look, onclick }, words);

const labels = new Set(["aria-label", "placeholder", "data-label"]);
const data = ".mono, .address, .data, pre, text";

export const s = (name, properties, ...children) =>
  fill(document.createElementNS(svgNamespace, name), properties, children);

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), /click|submit/.test(key) ? once(value) : value);
    else if (labels.has(key)) element.setAttribute(key, visible(t(value)));
    else if (key === "title") element.setAttribute(key, visible(value));
    else element.setAttribute(key === "key" ? "data-key" : key, value === true ? "" : value);
  }
  const isData = element.matches(data);
  const words = (child) => (typeof child === "string" ? visible(isData ? child : t(child)) : child);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).map(words));
  return element;
}

/// Focuses what has the key of a removed element, or else `place`.
export const regain = (key, place) => document.activeElement === document.body
  && (place.querySelector(`[data-key="${CSS.escape(key)}"]`) ?? place).focus({ preventScroll: true });

/// An action is not done again before its response.
const once = (act, isBusy = false) => async (event) => {
  if (isBusy) return event.preventDefault();
  isBusy = true;
  try {
    await act(event);
  } finally {
    isBusy = false;
  }
};

/// A drawing that fills its box. One without a label is hidden from screen readers.
export const drawing = (size, properties, ...children) =>
  s("svg", { viewBox: "0 0 " + size, preserveAspectRatio: "none", "aria-hidden": properties["aria-label"] ? null : "true", ...properties }, children);

/// Replaces the children. Unchanged nodes are not touched: focus, selection and scrolling stay.
export function show(parent, ...children) {
  const fresh = h("div", children);
  if (sameChildren(parent, fresh)) return;
  const focused = document.activeElement;
  const isInside = parent.contains(focused);
  const open = new Set([...parent.querySelectorAll("details[open][data-key]")].map((each) => each.dataset.key));
  parent.replaceChildren(...fresh.childNodes);
  for (const each of parent.querySelectorAll("details[data-key]")) if (open.has(each.dataset.key)) each.open = true;
  if (!isInside) return;
  parent.tabIndex = -1;
  regain(focused.dataset.key, parent);
}

function sameChildren(left, right) {
  if (left.childNodes.length !== right.childNodes.length) return false;
  return [...left.childNodes].every((child, index) => child.isEqualNode(right.childNodes[index]));
}

/// Replaces the text of an element.
export const say = (element, text) => { element.textContent = visible(text); };

/// Marks a field that has an error, or no longer has one.
export const invalid = (input, isInvalid) => { input.ariaInvalid = isInvalid ? "true" : null; };

/// The options of a selection of names.
export const options = (names) => Object.fromEntries(names.map((each) => [each, each.replaceAll("_", " ")]));

/// A function that shows an error instead of the content.
export const fails = (root) => (error) => show(root, h("p.error", { role: "alert" }, error.message));

/// Titles with their values, in a list of the tag `dl`.
export const pairs = (entries) => entries.map(([title, value]) => h("div", h("dt", title), h("dd", value)));

/// The address of a page, or of a list with a filter: `to("events/", id)`.
export const to = (page, value) => `#/${page}${encodeURIComponent(value)}`;

const place = document.getElementById("notice");
let [timer, lasting] = [null, ""];

/// Shows a message for a while, also to screen readers.
export function notice(text) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    timer = null;
    put(lasting);
  }, 5000);
  put(t(text));
}

/// Shows a message whenever there is no other, until it is called with an empty text.
export function remain(text) {
  lasting = t(text);
  if (!timer) put(lasting);
}

/// Elements outside an open dialog are not accessible. A screen reader reads the same text only once.
function put(text) {
  const parent = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (place.parentNode !== parent) parent.append(place);
  if (place.textContent !== visible(text)) say(place, text);
}

export function copyButton(text) {
  return h("button.quiet", { onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      notice("Copied.");
    } catch {
      notice("The browser does not allow copying here; select the text instead.");
    }
  } }, "Copy");
}

export const code = (text) => h("div.code", h("pre", text), copyButton(text));

/// An empty page shows how to get content.
export const empty = (title, text, command) =>
  h("section.empty", h("h2", title), h("p", text), command && code(command));

/// Opens a dialog, which is removed when it closes. What is behind it may be replaced.
export function modal(look, properties, closed, ...content) {
  const { key } = document.activeElement.dataset;
  const dialog = h("dialog." + look, { ...properties, onclose: () => {
    dialog.remove();
    regain(key, document.body);
    closed?.(dialog.returnValue);
  } }, content);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/// Requests confirmation before an irreversible action.
export const confirm = (question, action) => new Promise((resolve) => modal("ask", { "aria-labelledby": "question" }, (answer) => resolve(answer === "yes"),
  h("form", { method: "dialog" }, h("p", { id: "question" }, question), h("div.actions",
    h("button", { value: "no" }, "Keep"), h("button.danger", { value: "yes" }, action)))));
