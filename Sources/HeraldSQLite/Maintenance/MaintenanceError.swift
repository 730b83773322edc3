/// Why a backup, a restoration, a check or a salvage can't be made. The text is for operators.
package struct MaintenanceError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// What is to be read is not there, or not what it should be.
        case input
        /// What is to be made is there already, or can't be made.
        case output
        /// It is damaged.
        case damage
        /// Whoever asked does not want it any more.
        case cancelled
    }

    package let kind: Kind
    package let description: String
}
