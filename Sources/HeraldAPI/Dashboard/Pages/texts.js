// The language of the pages: English texts are the keys of a table for another language.

let table = {};
/// A reason of the server, in the same language.
export let reason = (text) => text;
const formatOf = (language) => new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
let numbers = formatOf("en");

/// Loads the table of a language. Texts that were shown before stay as they are.
export async function speak(wanted) {
  if (wanted !== "de") return;
  ({ german: table, reason } = await import("./german.js"));
  document.documentElement.lang = wanted;
  numbers = formatOf(wanted);
  for (const each of document.querySelectorAll("nav span, .skip, #sign-out")) each.textContent = t(each.textContent);
  for (const each of document.querySelectorAll("[aria-label]")) each.ariaLabel = t(each.ariaLabel);
}

/// A text in the language of the pages, with values for each `{}`. One that the table lacks stays as it is.
export function t(text, ...values) {
  const found = Object.hasOwn(table, text) ? table[text] : text;
  return values.length === 0 ? found : found.replaceAll("{}", () => values.shift());
}

/// A text of the server, which has a name: its words in another language, with the server's own below them. Words that end
/// with a full stop need no more.
/// - Parameter key: such as `problem conflict`.
export function named(key, text) {
  const found = Object.hasOwn(table, key) ? table[key] : null;
  return !found || found === text ? text : found.endsWith(".") || !text ? found : `${found}:\n${text}`;
}

/// A number, with one digit after the point at most.
export const digits = (value) => numbers.format(value);
