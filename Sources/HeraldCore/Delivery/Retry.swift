/// A delivery with a row of its own whose next attempt is due.
struct Retry: Equatable, Sendable {
    let delegate: DelegateKey
    let event: LogPosition
    /// Of the row when this was made: another one there means that this is outdated.
    let turn: UInt32
}
