// Builds the page. Data becomes a text node or an attribute, never markup.

import { t } from "./texts.js";

const svgNamespace = "http://www.w3.org/2000/svg";

/// An HTML element. Properties with `on` are listeners; `null`, `undefined` and `false` are omitted. Texts and labels
/// are translated, except in elements with data: those in a code font, and of the class `address` or `data`.
export const h = (name, properties, ...children) => fill(document.createElement(name), properties, children);

const labels = new Set(["aria-label", "placeholder", "data-label"]);
const data = ".mono, .address, .data, pre, text";

/// An SVG element.
export const s = (name, properties, ...children) =>
  fill(document.createElementNS(svgNamespace, name), properties, children);

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : labels.has(key) ? t(value) : value);
  }
  const words = element.matches(data) ? (child) => child : (child) => (typeof child === "string" ? t(child) : child);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).map(words));
  return element;
}

/// Replaces the children. Unchanged nodes are not touched: focus, selection and scrolling stay.
export function show(parent, ...children) {
  const fresh = h("div", null, children);
  if (sameChildren(parent, fresh)) return;
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const open = new Set([...parent.querySelectorAll("details[open][data-key]")].map((each) => each.dataset.key));
  parent.replaceChildren(...fresh.childNodes);
  for (const each of parent.querySelectorAll("details[data-key]")) if (open.has(each.dataset.key)) each.open = true;
  if (focused) parent.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function sameChildren(left, right) {
  if (left.childNodes.length !== right.childNodes.length) return false;
  return [...left.childNodes].every((child, index) => child.isEqualNode(right.childNodes[index]));
}

const place = document.getElementById("notice");

/// Shows a message for a while, also to screen readers. Elements outside an open dialog are not accessible.
export function notice(text) {
  ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(place);
  place.textContent = t(text);
  clearTimeout(notice.timer);
  notice.timer = setTimeout(() => { place.textContent = ""; }, 5000);
}

export function copyButton(text, what = "Copy") {
  return h("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      notice("Copied.");
    } catch {
      notice("The browser does not allow copying here; select the text instead.");
    }
  } }, what);
}

/// A `curl` command or another text to copy.
export const code = (text) => h("div", { class: "code" }, h("pre", { tabindex: 0 }, text), copyButton(text));

/// An empty page shows how to get content.
export const empty = (title, text, command) =>
  h("section", { class: "empty" }, h("h2", null, title), h("p", null, text), command && code(command));

/// Requests confirmation before an irreversible action.
export function confirm(question, action) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "ask", "aria-labelledby": "question", onclose: () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    } },
    h("form", { method: "dialog" }, h("p", { id: "question" }, question), h("div", { class: "actions" },
      h("button", { value: "no" }, "Keep"), h("button", { value: "yes", class: "danger" }, action))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
