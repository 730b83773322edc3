/// Why a backup, a restore, a check, a salvage or a move failed. The text is for operators.
package struct MaintenanceError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The input is missing or of the wrong kind.
        case input
        /// The output exists already or can't be created.
        case output
        /// The input is damaged, or of another version.
        case damage
        /// A server has to stop first.
        case busy
        /// The caller cancelled the operation.
        case cancelled
        /// A defect.
        case failed
    }

    package let kind: Kind
    package let description: String

    package init(kind: Kind, description: String) {
        self.kind = kind
        self.description = description
    }
}
