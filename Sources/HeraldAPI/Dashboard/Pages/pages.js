// A list that the server returns in pages.

import { h, show, button, fails } from "./dom.js";
import { keep } from "./live.js";

/// Fills `root` with the entries that `read` returns for a cursor, as `draw` shows them. Pages after the first one are not
/// read again: they would move while the user reads. A page that comes after another one was read is dropped.
/// - Returns: reads the first page again; its `renew` does so unless the user has opened more pages.
export function pages(root, signal, { read, draw, older, milliseconds = 10_000, isCovered = () => false }) {
  let [found, next, isLonger, turn] = [[], null, false, 0];
  const redraw = () => show(root, draw(found, next), next && button("more", older, more));

  async function more() {
    const mine = turn += 1;
    const page = await read(next);
    if (turn !== mine) return;
    [found, next, isLonger] = [[...found, ...page.data], page.next_cursor, true];
    const rows = root.querySelector("tbody, ol");
    if (!rows) return redraw();
    // The rows before stay.
    rows.append(...h("div", draw(page.data, next, found)).querySelector("tbody, ol")?.childNodes ?? []);
    if (!next) root.lastChild.remove();
  }

  const refresh = keep(async () => {
    if (isLonger || (found.length > 0 && isCovered())) return;
    const mine = turn;
    const page = await read(null);
    if (turn !== mine) return;
    [found, next] = [page.data, page.next_cursor];
    redraw();
  }, milliseconds, signal, fails(root));
  return Object.assign(() => {
    isLonger = false;
    turn += 1;
    refresh();
  }, { renew: refresh });
}

/// Cells with a label, which precedes them on a narrow screen.
export const cell = (label, ...content) => h("td", { "data-label": label }, content);
export const number = (label, ...content) => h("td.number", { "data-label": label }, content);

/// A table, or without rows the words `none` if they are given.
export const table = (name, titles, rows, none = null) => (rows.length === 0 && none ? h("p.calm", none)
  : h("table", { class: name }, h("thead", h("tr", titles.map((title) => h("th", { scope: "col" }, title)))), h("tbody", rows)));
