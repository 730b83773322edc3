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

/// Characters that reverse, hide or break the line that shows them. Joiners and variations are parts of other letters.
const hidden = /(?!\r?\n|\t|(?<=[^\0-\x7f])[\u200c\u200d\ufe00-\ufe0f]|\ufe0f\u20e3)[\p{Cc}\p{Zl}\p{Zp}\p{DI}\u2800\ufff9-\ufffb]/gu;

/// A text with the code of each character that can't be seen.
export const visible = (text) => text.replace(hidden, (each) => `‹U+${each.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

export const isVisible = (text) => /[^\s\p{C}\p{DI}\u2800]/u.test(text ?? "");

/// A number, with one digit after the point at most.
export const digits = (value) => numbers.format(value);
