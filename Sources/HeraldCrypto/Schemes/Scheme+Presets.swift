extension Scheme {
    /// The scheme with this name; `nil` if there is none.
    package static func preset(_ name: String) -> Scheme? { presets.first { $0.name == name }?.scheme }

    /// The schemes that have a name, each as its provider's library or documentation defines it.
    package static let presets: [(name: String, scheme: Scheme)] = [
        ("standard", standard), ("standard_ed25519", standardEd25519), ("svix", svix), ("github", github),
        ("stripe", stripe), ("slack", slack), ("shopify", shopify), ("linear", linear), ("paddle", paddle),
        ("zoom", zoom), ("square", square), ("twilio", twilio), ("discord", discord), ("gitlab", gitlab),
        ("telegram", telegram),
    ]

    /// Standard Webhooks, `v1`. Source: `spec/standard-webhooks.md` of `standard-webhooks/standard-webhooks`, and the package
    /// `standardwebhooks` of PyPI.
    package static let standard = Scheme(
        header: "webhook-signature", content: "{id}.{timestamp}.{body}", encoding: .base64, value: "v1,{signature}",
        key: .whsec, timestampHeader: "webhook-timestamp", idHeader: "webhook-id")

    /// Standard Webhooks, `v1a`: Ed25519. Source: as ``standard``.
    package static let standardEd25519 = Scheme(
        header: "webhook-signature", algorithm: .ed25519, content: "{id}.{timestamp}.{body}", encoding: .base64,
        value: "v1a,{signature}", key: .whsec, timestampHeader: "webhook-timestamp", idHeader: "webhook-id")

    /// Svix: Standard Webhooks with other names. Source: the package `svix` of PyPI, `svix/webhooks.py`.
    package static let svix = Scheme(
        header: "svix-signature", content: "{id}.{timestamp}.{body}", encoding: .base64, value: "v1,{signature}",
        key: .whsec, timestampHeader: "svix-timestamp", idHeader: "svix-id")

    /// GitHub. Source: the package `gidgethub` of PyPI, `gidgethub/sansio.py`; docs.github.com, "Validating webhook
    /// deliveries".
    package static let github = Scheme(header: "X-Hub-Signature-256", value: "sha256={signature}")

    /// Stripe. Source: the package `stripe` of PyPI, `stripe/_webhook.py`; docs.stripe.com/webhooks/signature.
    package static let stripe = Scheme(
        header: "Stripe-Signature", content: "{timestamp}.{body}", value: "t={timestamp},v1={signature}")

    /// Slack. Source: the package `slack_sdk` of PyPI, `slack_sdk/signature`.
    package static let slack = Scheme(
        header: "X-Slack-Signature", content: "v0:{timestamp}:{body}", value: "v0={signature}",
        timestampHeader: "X-Slack-Request-Timestamp")

    /// Shopify. Source: shopify.dev/docs/apps/build/webhooks, "Verify a webhook": base64 of HMAC-SHA256 of the body.
    package static let shopify = Scheme(header: "X-Shopify-Hmac-SHA256", encoding: .base64)

    /// Linear. Its time is in the body and not examined here. Source: linear.app/developers/webhooks, "Securing webhooks".
    package static let linear = Scheme(header: "Linear-Signature")

    /// Paddle Billing. Several `h1` while a secret is replaced. Source: developer.paddle.com/webhooks/signature-verification.
    package static let paddle = Scheme(
        header: "Paddle-Signature", content: "{timestamp}:{body}", value: "ts={timestamp};h1={signature}")

    /// Zoom. Source: developers.zoom.us/docs/api/webhooks, "Verify webhook events".
    package static let zoom = Scheme(
        header: "x-zm-signature", content: "v0:{timestamp}:{body}", value: "v0={signature}",
        timestampHeader: "x-zm-request-timestamp")

    /// Square. Source: developer.squareup.com/docs/webhooks/step3validate: the notification URL and the body.
    package static let square = Scheme(
        header: "x-square-hmacsha256-signature", content: "{url}{body}", encoding: .base64)

    /// Twilio, for forms: the body itself is not signed. Source: the package `twilio` of PyPI,
    /// `twilio/request_validator.py`.
    package static let twilio = Scheme(
        header: "X-Twilio-Signature", algorithm: .hmacSHA1, content: "{url}{form}", encoding: .base64)

    /// Discord. Source: discord.com/developers/docs/interactions/overview, "Validating Security Request Headers".
    package static let discord = Scheme(
        header: "X-Signature-Ed25519", algorithm: .ed25519, content: "{timestamp}{body}",
        timestampHeader: "X-Signature-Timestamp")

    /// GitLab. Source: docs.gitlab.com/user/project/integrations/webhooks, "Secret token".
    package static let gitlab = Scheme(header: "X-Gitlab-Token", algorithm: .token)

    /// Telegram. Source: core.telegram.org/bots/api#setwebhook, `secret_token`.
    package static let telegram = Scheme(header: "X-Telegram-Bot-Api-Secret-Token", algorithm: .token)
}
