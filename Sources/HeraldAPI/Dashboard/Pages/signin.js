// Signing in with an access key, and out. The session is a cookie that scripts can't read; the key is not stored.

import { api } from "./api.js";
import { setAccess } from "./access.js";
import { dress, isPortalPage, windowTitle } from "./appearance.js";
import { confirm, h, invalid, notice, say, t } from "./dom.js";
import { speak } from "./texts.js";

const main = document.getElementById("main");
const signOut = document.getElementById("sign-out");

const isLink = () => location.hash.match(/^#\/portal\/(.+)$/);

/// Calls `start` once the user has access, with or without a key.
export async function whenSignedIn(start) {
  let refusal = null;
  const link = isLink()?.[1];
  if (link) {
    try {
      if (await mayReplaceSession(link)) await api.signIn({ portal_link: link });
    } catch (error) {
      // The link stays for another attempt.
      if (error.status === 0 || error.status === 429 || error.status >= 500) throw error;
      refusal = error.status === 401 ? "This link has expired. Request a new one." : error.message;
    }
    // Removes the token from the URL and the history of the browser.
    history.replaceState(null, "", "#/");
  }
  const session = await api.session();
  // A page of another origin may show this page in a frame: then it shows nothing but the session of a link. Who follows
  // links has no key.
  const isClosed = top !== self ? !session.portal : (link || isPortalPage()) && session.key_required && !session.signed_in;
  // An app chooses the language of its portal.
  await speak(session.portal ? session.appearance?.language : navigator.language.slice(0, 2));
  if (refusal) notice(refusal);
  if (isClosed) return main.replaceChildren(h("h1.page", "Open this page with a new link."));
  if (session.key_required && !session.signed_in) return ask(start);
  dress(session.appearance);
  signOut.hidden = !session.signed_in;
  setAccess(session);
  start();
}

/// Signs in with a key that was just created, if this page needed none so far.
export async function adoptKey(key) {
  const session = await api.session();
  if (!session.key_required || session.signed_in) return;
  await api.signIn({ key });
  signOut.hidden = false;
  setAccess(await api.session());
}

/// A page of another site can open a link: it must not replace a session unnoticed.
async function mayReplaceSession(link) {
  const app = await api.appOf({ portal_link: link });
  const current = await api.session();
  if (!current.signed_in || (current.portal && current.app === app)) return true;
  return confirm(t("This link opens the dashboard of the app {}. You are signed in to the app {}, and would be signed out there.", app, current.app), t("Open {}", app));
}

signOut.addEventListener("click", async () => {
  await api.signOut();
  location.reload();
});

// The session has ended: the page must not be visible any more.
addEventListener("unauthorized", () => location.reload());
// Only a page that is loaded opens a link.
addEventListener("hashchange", () => isLink() && location.reload());

function ask(start) {
  document.title = windowTitle(t("Sign in"));
  const input = h("input", { id: "access-key", type: "password", autocomplete: "current-password", spellcheck: "false", required: true, "aria-describedby": "key-error" });
  const wrong = h("p.error", { id: "key-error", role: "alert" });
  const form = h("form", { onsubmit: send }, h("label", { for: "access-key" }, "Access key"), input, wrong,
    h("div.actions", h("button.primary", "Sign in")));
  main.replaceChildren(h("div.page", h("h1", "Sign in"),
    h("p", "A key that this server has made begins with hrld_. Its log says where the first one is."), form));
  input.focus();

  async function send(event) {
    event.preventDefault();
    try {
      await api.signIn({ key: input.value.trim() });
    } catch (error) {
      say(wrong, t(error.status === 401 ? "This key is unknown or has expired." : error.message));
      invalid(input, true);
      return input.focus();
    }
    await whenSignedIn(start);
  }
}
