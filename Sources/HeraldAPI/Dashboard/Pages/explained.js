// Which delegates match an event, and why the others do not.

import { h } from "./dom.js";
import { address, state } from "./format.js";
import { named, reason } from "./texts.js";

export const explained = (delegates) => h("ul.changes", delegates.map((each) => h("li",
  state(each.matches ? "matching" : "not_matching"),
  h("a", { href: `#/delegates/${each.delegate}` }, address(each.url || each.delegate, 36)),
  h("span.muted.lines", each.clause ? named("clause " + each.clause.split("/")[1], `${each.clause}: ${reason(each.reason)}`) : each.reason && reason(each.reason)))));
