// The name, logo, color and language of an app, on the pages for the users of its links.

import { h } from "./dom.js";
import { visible } from "./texts.js";

let product = "Herald";

export const windowTitle = (page) => `${page} · ${product}`;

/// Whether this is the page for the links of an app: only its policy allows a logo, and frames.
export const isPortalPage = () => new URLSearchParams(location.search).has("portal");

/// - Parameter found: the appearance of a session; `null` for the product's own.
export function dress(found) {
  if (!found) return;
  const brand = document.querySelector(".brand");
  if (found.title) brand.querySelector("span").textContent = product = visible(found.title);
  if (found.logo && isPortalPage()) {
    brand.prepend(h("img.logo", { src: found.logo, alt: "" }));
    brand.querySelector(".mark").setAttribute("hidden", "");
  }
  if (found.color) {
    document.documentElement.style.setProperty("--brand", found.color);
    document.documentElement.classList.add("branded");
  }
}
