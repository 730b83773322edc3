// Chooses the page: the part of the URL after `#`. Each page is a function that fills an element, until its signal is
// aborted.

import { may } from "./access.js";
import { actOn, acting, api, Problem } from "./api.js";
import { windowTitle } from "./appearance.js";
import { button, h, modal, notice, t } from "./dom.js";
import "./live.js";
import { whenSignedIn } from "./signin.js";

// Pages are loaded when they are first shown: the function `name` of the file of this name.
const pages = [
  { path: /^\/$/, title: "Overview", name: "overview" },
  { path: /^\/delegates(?:\/([^/]+))?$/, title: "Delegates", name: "delegates" },
  { path: /^\/events\/([^/]+)$/, title: "Event", name: "story" },
  { path: /^\/events$/, title: "Events", name: "events" },
  { path: /^\/deliveries$/, title: "Deliveries", name: "deliveries" },
  { path: /^\/types(?:\/([^/]+))?$/, title: "Event types", name: "types" },
  { path: /^\/state$/, title: "State", name: "state" },
  { path: /^\/post$/, title: "Publish an event", name: "post" },
  { path: /^\/server(?:\/([^/]+))?$/, title: "Server", name: "server" },
];

const section = () => "#/" + (location.hash.split(/[/?]/)[1] ?? "");
const main = document.getElementById("main");
let current = null;

function route() {
  offerApps();
  const [path, search] = (location.hash.slice(1) || "/").split("?");
  const query = new URLSearchParams(search);
  const page = pages.find((each) => each.path.test(path));
  const parameter = decode(page?.path.exec(path)[1]);
  if (page && page === current?.page && page.show?.update?.(current.root, parameter, query)) return;
  current?.controller.abort();
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link.getAttribute("href") === section();
    link.ariaCurrent = isCurrent ? "page" : null;
    // On a phone the row of links is longer than the screen.
    if (isCurrent) link.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  document.title = windowTitle(t(page?.title ?? "Nothing here"));
  const root = h("div.page");
  const isFirst = current === null;
  current = { page, root, controller: new AbortController() };
  main.replaceChildren(root);
  if (!isFirst) main.focus({ preventScroll: true });
  if (page) fill(page, root, { parameter, query, signal: current.controller.signal });
  else root.append(h("h1", "Nothing here"), h("p", h("a", { href: "#/" }, "Go to the overview")));
  scrollTo(0, 0);
}

async function fill(page, root, context) {
  try {
    page.show ??= (await import(`./${page.name}.js`))[page.name];
    if (!context.signal.aborted) await page.show(root, context);
  } catch (error) {
    if (!context.signal.aborted) unloaded(root, page.title, error, context.signal);
  }
}

/// Instead of a page that can't be loaded. A browser may not load a module again that has failed: the document is loaded.
function unloaded(root, title, error, signal) {
  root.replaceChildren(h("h1", title), h("p.error", { role: "alert" }, error instanceof Problem ? error.message : "This page can't be loaded."),
    button("reload", "Try again", () => location.reload()));
  addEventListener("connected", () => location.reload(), { signal });
  // Whether the server is away.
  api.session().catch(() => {});
}

function decode(text) {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return text;
  }
}

/// A choice of the user, and a new one if it is given. Without storage, it lasts as long as the page.
function stored(storage, key, value) {
  try {
    if (value) self[storage].setItem(key, value);
    return self[storage].getItem(key);
  } catch {
    return null;
  }
}

// MARK: Apps

const apps = document.getElementById("acting");

/// Offers the other apps, if the key allows everything.
async function offerApps() {
  if (!may("admin")) return;
  const names = new Set(["default", ...(await api.allApps()).map((each) => each.name)]);
  if (acting && !names.has(acting)) return choose("default");
  apps.hidden = names.size < 2;
  apps.replaceChildren(...[...names].map((name) => h("option", { value: name, selected: name === (acting ?? "default") }, t("App: {}", name))));
}

const act = (app) => actOn(app === "default" ? null : app);

/// Shows the same page of another app.
function choose(app) {
  act(app);
  stored("sessionStorage", "app", app);
  current.controller.abort();
  const place = section();
  current = null;
  if (location.hash === place) route();
  else location.hash = place;
}
apps.addEventListener("change", () => choose(apps.value));
addEventListener("app", ({ detail }) => {
  main.focus();
  choose(detail);
});

// MARK: Light and dark

const themes = ["system", "light", "dark"];
const themeButton = document.getElementById("theme");

function setTheme(theme) {
  const known = { light: "☀ Light", dark: "☾ Dark" }[theme];
  if (known) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const words = t(known ?? "◑ Auto");
  themeButton.textContent = words;
  themeButton.ariaLabel = t("Colours: {}. Change", words.slice(2));
}

setTheme(stored("localStorage", "theme"));
themeButton.addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % themes.length];
  setTheme(next);
  stored("localStorage", "theme", next);
});

// MARK: Keyboard

const shortcuts = [
  ["/", "search"], ["n", "new delegate", "manage"], ["g o", "overview"], ["g d", "delegates"], ["g e", "events"], ["g l", "deliveries"],
  ["g t", "event types"], ["g s", "state"], ["g p", "publish an event", "publish"], ["g k", "keys and the server", "admin"], ["Esc", "close"], ["?", "this help"],
];
const places = { o: "#/", d: "#/delegates", e: "#/events", l: "#/deliveries", t: "#/types", s: "#/state", p: "#/post", k: "#/server" };
let isGoing = false;

function help() {
  modal("ask", { "aria-label": "Keyboard" }, null,
    h("h2", "Keyboard"),
    h("dl.keys", shortcuts.filter(([, , scope]) => !scope || may(scope)).map(([key, words]) => [h("dt", h("kbd", key)), h("dd", words)])),
    h("form.actions", { method: "dialog" }, h("button", "Close")));
}

document.getElementById("keys").addEventListener("click", help);
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const place = isGoing ? places[event.key] : null;
  isGoing = event.key === "g";
  if (place) location.hash = place;
  else if (event.key === "n" && may("manage")) location.hash = "#/delegates/new";
  else if (event.key === "?") help();
  else if (event.key === "/") {
    const search = main.querySelector("input[type=search]");
    if (search) search.focus();
    else location.hash = "#/delegates";
  } else return;
  event.preventDefault();
});

addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  // A lost connection is shown already.
  if (event.reason?.name !== "AbortError" && event.reason?.status !== 0) notice(event.reason?.message ?? "Something went wrong.");
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
whenSignedIn(() => {
  setTheme(stored("localStorage", "theme"));
  if (may("admin")) act(stored("sessionStorage", "app"));
  addEventListener("hashchange", route);
  route();
}).catch((error) => unloaded(main, "Herald", error));
