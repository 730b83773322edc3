/// The count of removals by retention since the database was created, for one part and one cause.
package struct Removal: Equatable, Sendable {
    package enum Part: String, Sendable, CaseIterable {
        case events, attempts
        /// Deliveries that will not be made, because their event was removed.
        case deliveries
    }

    package enum Cause: String, Sendable, CaseIterable {
        case age, size
    }

    package let part: Part
    package let cause: Cause
    package var count: Int

    package init(_ part: Part, _ cause: Cause, count: Int) {
        self.part = part
        self.cause = cause
        self.count = count
    }
}
