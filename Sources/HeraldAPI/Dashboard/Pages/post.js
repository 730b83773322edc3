// Publishing an event manually, from a template, with a dry run.

import { api } from "./api.js";
import { h, invalid, say, show, to, t } from "./dom.js";
import { explained } from "./explained.js";
import { plural } from "./format.js";
import { choice } from "./form.js";
import { indented, mistake, write } from "./json.js";

const templates = {
  "auth.logged_in": { type: "auth.logged_in", data: { user: { id: 42, name: "Ada" } } },
  "app_state.changed": { type: "app_state.changed", data: { state: { data_retrieval: "success" } } },
  "something of your own": { type: "order.paid", subject: "order:1001", data: { amount: 12.5, currency: "EUR" } },
};

export function post(root, { query }) {
  const input = h("textarea.mono", { id: "event", rows: 14, spellcheck: "false", "aria-describedby": "event-error", oninput: check });
  const wrong = h("p.error", { id: "event-error", role: "alert" });
  const answer = h("div", { role: "status" });
  let [text, key] = [];
  const set = (name) => {
    input.value = JSON.stringify(templates[name], null, 2);
    check();
    show(answer);
  };
  const types = choice([["", "A described type"]], "", { id: "described", "aria-label": "Example of a described type", hidden: true, onchange: () => types.value && example(types.value) });
  api.types({ limit: 200 }).then(({ data }) => {
    types.append(...data.map(({ type }) => h("option.data", { value: type }, type)));
    types.hidden = data.length === 0;
  }, () => {});
  root.append(h("h1", "Publish an event"), h("p.templates", { role: "group", "aria-label": "Templates" }, types,
    Object.keys(templates).map((name) => h("button.chip", { onclick: () => set(name) }, name))),
  h("form", { onsubmit: send }, h("label", { for: "event" }, "The event, as JSON"), input, wrong,
    h("div.actions", h("button.primary", "Publish"), h("button", { onclick: dryRun }, "Dry run"))), answer);
  set("auth.logged_in");
  if (query.get("type")) example(query.get("type"));

  /// Text that the user writes during the request stays.
  async function example(type) {
    const first = input.value;
    const { answer: found } = await api.type(type).catch(() => ({ answer: {} }));
    if (input.value !== first) return;
    input.value = indented(write({ type, data: found.example ?? {} }));
    check();
  }

  function fail(words) {
    say(wrong, words);
    invalid(input, words);
  }

  function check() {
    const found = mistake(input.value);
    fail(found ?? "");
    return found === null;
  }

  async function attempt(action) {
    if (!check()) return input.focus();
    try {
      await action();
    } catch (error) {
      const errors = (error.errors ?? []).map(({ pointer, detail }) => `${lineOf(input.value, pointer)}${pointer ? pointer + " " : ""}${detail}`);
      fail(errors.length > 0 ? errors.join("; ") : error.message);
      input.focus();
    }
  }

  function send(event) {
    event.preventDefault();
    return attempt(async () => {
      // Published once, also if its response was lost.
      if (text !== input.value) [text, key] = [input.value, Math.random()];
      const posted = await api.post(text, key);
      location.hash = posted.id ? to("events/", posted.id) : "#/events";
    });
  }

  function dryRun() {
    attempt(async () => show(answer, outcome(await api.dryRun(input.value))));
  }
}

/// The line of a member in the text, as far as a search finds it.
function lineOf(text, pointer) {
  const key = pointer?.split("/").filter((each) => each && !/^\d+$/.test(each)).at(-1);
  const place = key ? text.indexOf(`"${key.replaceAll("~1", "/").replaceAll("~0", "~")}"`) : -1;
  return place < 0 ? "" : t("Line {}: ", text.slice(0, place).split("\n").length);
}

export const outcome = ({ matching, not_matching: others, delegates, warnings }) => [
  h("h2", t("{} would receive it, {} would not", plural(matching, "delegate"), plural(others, "other"))),
  warnings?.map((each) => h("p.error", `${each.pointer} ${each.detail}`)),
  explained(delegates.slice(0, 200))];
