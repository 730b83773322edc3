import HeraldJSON

/// A name that is unique within an app: of an event, a user, an event type, or an idempotency key. Names are equal if their bytes
/// are, as in a database.
package struct NameInApp: Hashable, Sendable {
    package let app: AppKey
    private let text: ExactText

    package init(app: AppKey, name: String) { (self.app, text) = (app, ExactText(name)) }

    package var name: String { text.text }
}
