package import HeraldJSON

/// A recipe with a name: the members of `request` for a receiver that many have.
///
/// The members beside `preset` win. `Documentation/guide/recipes.md` shows what each one makes.
package struct Preset: Sendable {
    package let name: String
    /// The members of `request`, such as `method`, `headers`, `body` and `sign`.
    package let request: JSONValue

    package static let names = all.map(\.name)

    package static func named(_ name: String) -> Preset? { all.first { $0.name == name } }

    package static let all: [Preset] = [
        ("slack", slack), ("teams", teams), ("discord", discord), ("google_chat", googleChat),
        ("mattermost", mattermost), ("pagerduty", pagerduty), ("github", github), ("stripe", stripe), ("svix", svix),
        ("sqs", sqs), ("sns", sns), ("eventbridge", eventbridge), ("s3", s3), ("cloudflare_queue", cloudflareQueue),
    ].compactMap { name, text in
        // A test parses all of them.
        (try? JSONDocument(parsing: text)).map { Preset(name: name, request: $0.root) }
    }
}

/// An event as JSON in a text, for receivers whose messages are texts. `json` makes each part JSON.
let eventAsText =
    #"{\"id\":{{ id | json }},\"type\":{{ type | json }},\"time\":{{ time | json }},\"subject\":{{ subject | json }},\"data\":{{ data | json }}}"#

// Receivers that verify the signature of a provider: the body is the delegate's, and the headers are the provider's.
extension Preset {
    static let github = """
        {"headers": {"X-GitHub-Event": "{{ type }}", "X-GitHub-Delivery": "{{ id }}"}, "sign": ["github"]}
        """

    static let stripe = """
        {"sign": ["stripe"]}
        """

    static let svix = """
        {"sign": ["svix"]}
        """
}
