/// Why a backup, a restore, a check or a salvage failed. The text is for operators.
package struct MaintenanceError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The input is missing or of the wrong kind.
        case input
        /// The output exists already or can't be created.
        case output
        /// The input is damaged.
        case damage
        /// The caller cancelled the operation.
        case cancelled
    }

    package let kind: Kind
    package let description: String
}
