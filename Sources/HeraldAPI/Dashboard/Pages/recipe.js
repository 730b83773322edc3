// The requests of a delegate: a preset with its fields or a recipe as JSON, and a preview.

import { may } from "./access.js";
import { api } from "./api.js";
import { attempt } from "./attempt.js";
import { h, show, code, fails, invalid, t } from "./dom.js";
import { explained } from "./explained.js";
import { area, choice, field as row, line } from "./form.js";
import { Stored, indented, members, mistake } from "./json.js";

/// A field of a preset. `pointer`: of its setting. `make`: the value there.
const field = (name, title, pointer, hint = "", make = (text) => text) => ({ name, title, pointer, hint, make });
const message = (make) => [field("message", "Text of the message", "/request/body", "Empty: type, subject and data. {{ data.amount }} stands for a value.", make)];
const metadata = (name, title, hint = t("Stored in the metadata as {}.", name)) => field(name, title, "/metadata/" + name, hint);
const aws = [["region", "Region", "Such as eu-central-1."], ["key_id", "Access key id"], ["secret", "Secret access key"]]
  .map(([name, title, hint]) => field(name, title, "/request/auth/aws/" + name, hint));

const groups = {
  "Messages and incidents": {
    slack: ["Slack", message((text) => ({ text }))], teams: ["Microsoft Teams", []],
    discord: ["Discord", message((content) => ({ content, allowed_mentions: { parse: [] } }))],
    google_chat: ["Google Chat", message((text) => ({ text }))], mattermost: ["Mattermost", message((text) => ({ text }))],
    pagerduty: ["PagerDuty", [metadata("routing_key", "Integration key")]],
  },
  "Queues and storage": {
    sqs: ["Amazon SQS", aws], sns: ["Amazon SNS", [...aws, metadata("topic_arn", "Topic ARN")]],
    eventbridge: ["Amazon EventBridge", [...aws, metadata("event_bus", "Event bus", "Stored in the metadata as event_bus; empty: default.")]], s3: ["Amazon S3", aws],
    cloudflare_queue: ["Cloudflare Queues", [field("token", "API token", "/headers/Authorization", "Stored as the header Authorization.", (text) => "Bearer " + text)]],
  },
  "Signatures of providers": { github: ["GitHub", []], stripe: ["Stripe", []], svix: ["Svix", []] },
};
const presets = Object.assign({}, ...Object.values(groups));
const wide = "field wide";
const isBelow = (pointer, place) => `${pointer}/`.startsWith(place + "/");

export class Recipe {
  #delegate;
  #stored;
  #settings;
  #kind;
  #own;
  #fields = h("div.fields.wide");
  #inputs = new Map();
  #answer = h("div", { role: "status" });

  /// - Parameter settings: returns the settings of the whole form; `null` if one is invalid.
  constructor(delegate, settings) {
    this.#delegate = delegate;
    this.#settings = settings;
    this.#stored = delegate?.request && delegate.request.text !== "null" ? indented(delegate.request.text) : "";
    const option = ([value, [title]]) => h("option.data", { value }, title);
    this.#kind = h("select", { id: "field-request", onchange: () => this.#choose() },
      h("option", { value: "" }, "The plain callback"),
      Object.entries(groups).map(([label, each]) => h("optgroup", { label: t(label) }, Object.entries(each).map(option))),
      h("option", { value: "own" }, "A recipe of your own"));
    this.#kind.value = this.#stored ? "own" : "";
    this.#own = area(this.#stored);
    this.#own.id = "field-recipe";
    this.element = h("details.more", h("summary", "Request and preview"), h("div.fields",
      row(this.#kind, "Request recipe", "Makes the body, headers and signature that a receiver expects.", wide),
      this.#fields, may("manage") && this.#preview()));
    this.#choose();
  }

  #choose() {
    const [, fields] = presets[this.#kind.value] ?? ["", []];
    this.#inputs = new Map(fields.map((each) => [each, line("", { id: "field-request-" + each.name, type: /secret|token/.test(each.name) ? "password" : "text" })]));
    const isOwn = this.#kind.value === "own";
    show(this.#answer);
    this.#fields.hidden = !isOwn && fields.length === 0;
    this.#fields.replaceChildren(...[...this.#inputs].map(([each, input]) => row(input, each.title, each.hint, each.name === "message" ? wide : undefined)),
      ...isOwn ? [row(this.#own, "Recipe, as JSON", '{"method": "PUT", "body": {"text": "{{ data.amount }}"}}', wide)] : []);
  }

  /// Adds the recipe to the settings, if it was changed.
  /// - Returns: an error in the JSON; else `null`.
  add(settings) {
    const kind = this.#kind.value;
    if (kind === "own") {
      const text = this.#own.value.trim();
      if (text === this.#stored) return null;
      const found = text && mistake(text);
      if (found) return { pointer: "/request", detail: found };
      settings.request = text ? this.#patched(text) : this.#stored ? null : undefined;
    } else if (kind === "") {
      if (this.#stored) settings.request = null;
    } else {
      settings.request = { preset: kind };
      for (const [{ pointer, make }, input] of this.#inputs) if (input.value.trim()) set(settings, pointer, make(input.value.trim()));
    }
    return null;
  }

  /// A change is merged: removed members have to be named. A preset replaces all.
  #patched(text) {
    const now = members(text);
    if (!now || !this.#stored || now.some(([name]) => name === "preset")) return new Stored(text);
    const gone = members(this.#stored).filter(([name]) => !now.some(([each]) => each === name)).map(([name]) => [name, null]);
    return Object.fromEntries([...gone, ...now]);
  }

  /// - Returns: the first invalid input; `null` if there is none.
  showErrors(errors) {
    const general = this.#kind.value === "own" ? this.#own : this.#kind;
    const places = [...[...this.#inputs].map(([each, input]) => [each.pointer, input]), ["/request", general]];
    const found = new Map([this.#kind, general, ...this.#inputs.values()].map((input) => [input, []]));
    for (const { pointer = "", detail } of errors) {
      const [place, input] = places.find(([each]) => isBelow(pointer, each)) ?? [];
      if (input) found.get(input).push(`${pointer === place ? "" : pointer + " "}${detail}`);
    }
    for (const [input, texts] of found) {
      this.element.querySelector("#error-" + input.id.slice(6)).textContent = texts.join("; ");
      invalid(input, texts.length > 0);
    }
    return [...found].find(([, texts]) => texts.length > 0)?.[0] ?? null;
  }

  /// Whether an error is shown at one of its fields.
  has(pointer) { return isBelow(pointer, "/request") || [...this.#inputs.keys()].some((each) => isBelow(pointer, each.pointer)); }

  #preview() {
    const which = choice([["", "A made-up event"], ["type", "The example of a type"], ["event", "A published event"]], "", { id: "preview-of", "aria-label": "Event of the preview", onchange: choose });
    const name = line("", { id: "preview-name", hidden: true });
    const answer = this.#answer;

    async function choose() {
      const kind = which.value;
      name.hidden = !kind;
      name.setAttribute("aria-label", t(kind === "type" ? "Type" : "Id"));
      name.value = "";
      const page = kind && await (kind === "type" ? api.types({ limit: 1 }) : api.events({ limit: 1 })).catch(() => null);
      if (page && which.value === kind && !name.value) name.value = page.data[0]?.[kind === "type" ? "type" : "id"] ?? "";
    }

    const chosen = () => which.value && name.value.trim() ? { [which.value]: name.value.trim() } : {};
    const send = () => api.test(this.#delegate.id, chosen()).then((made) => show(answer, h("ol.attempts", attempt(made, false))), fails(answer));

    const preview = async () => {
      const settings = this.#settings();
      if (!settings) return;
      // Whether the stored settings match it.
      const told = this.#delegate && which.value === "event" && await api.explain(this.#delegate.id, name.value.trim()).then((found) => explained([found]), () => null);
      try {
        const made = await api.preview(this.#delegate?.id, settings, chosen());
        const head = [`${made.method} ${made.url}`, ...Object.entries(made.headers).map(([key, value]) => `${key}: ${value}`)];
        show(answer, told, h("h3", "The request"), code(head.join("\n")), made.body ? code(mistake(made.body) ? made.body : indented(made.body)) : h("p.calm", "It has no body."));
      } catch (error) {
        show(answer, told, h("p.error", "The request can't be made."), h("ul.changes",
          (error.errors?.length > 0 ? error.errors : [{ detail: error.message }]).map(({ pointer, parameter, detail }) => h("li", (pointer || parameter) && h("span.mono", pointer || parameter), h("span.data", detail)))));
      }
    };
    return h("div.wide", h("div.filters", { role: "group", "aria-label": "Preview" }, which, name, h("button", { onclick: preview }, "Preview"), this.#delegate?.flow && h("button", { onclick: send, title: t("With the saved settings") }, "Send as a test")), answer);
  }
}

function set(settings, pointer, value) {
  const names = pointer.slice(1).split("/");
  const last = names.pop();
  names.reduce((object, name) => (object[name] ??= {}), settings)[last] = value;
}
