// A secret, shown once, with code that verifies its signatures.

import { h, code, t } from "./dom.js";

const samples = {
  Node: (secret) => `// npm install standardwebhooks
import { Webhook } from "standardwebhooks";
const event = new Webhook("${secret}").verify(body, headers);`,
  Python: (secret) => `# pip install standardwebhooks
from standardwebhooks import Webhook
event = Webhook("${secret}").verify(body, headers)`,
  Swift: (secret) => `// swift-crypto
let key = SymmetricKey(data: Data(base64Encoded: "${secret.replace(/^whsec_/, "")}")!)
let signed = Data("\\(id).\\(timestamp).".utf8) + body
let isRight = HMAC<SHA256>.isValidAuthenticationCode(
    Data(base64Encoded: String(signature.dropFirst(3)))!, authenticating: signed, using: key)`,
};

export const shownOnce = (label, words, text, title, ...more) => h("section.secret", { "aria-label": label }, title,
  h("p", h("strong", "This is shown once."), words), code(text), more);

/// - Parameter answer: the response to a registration or a rotation.
export function secret(answer) {
  return shownOnce("The secret", !answer.public_key ? " Give it to the receiver, which verifies each callback with it."
    : " It signs the callbacks; the receiver needs the public key only.", answer.secret, null,
    answer.public_key && [h("p", "The public key:"), code(answer.public_key)],
    answer.secret.startsWith("whsec_") && Object.entries(samples).map(([language, sample]) => h("details", h("summary", t("Verify in {}", language)), code(sample(answer.secret)))));
}
