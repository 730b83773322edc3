/// A log that clients listen to: what the streams need to know of it.
package protocol StreamLog: AnyObject, Sendable {
    associatedtype Page: LogPage
    associatedtype Interest: StreamInterest where Interest.Entry == Page.Entry

    // Any thread

    /// How many entries of an app come after a place, as far as is known.
    func count(of app: AppKey, after place: LogPosition) -> Int64
    /// Counts what was erased, so that whoever keeps what was read from the store knows when to forget it.
    var erasures: Int { get }

    // The streams' thread

    /// The end of the log, when it is known without reading.
    var end: LogPosition? { get }
    /// A stream begins; this was the end of the log when it was found out where.
    func begin(head: LogPosition)
    /// Nobody listens any more.
    func rest()
    /// Something is new: brings it into memory, and calls `done` on the same thread then, each time when there is more.
    func refresh(on thread: any StreamThread, _ done: @escaping @Sendable () -> Void)
    /// What memory has after a place.
    func slice(after place: LogPosition, limit: Int) -> LogSlice<Page>

    // A reader's thread

    func end(in reader: any StoreReader) throws(StoreError) -> LogPosition
    /// Oldest first, from the store: something, if there is anything after the place.
    func page(after place: LogPosition, in reader: any StoreReader) throws(StoreError) -> Page
}

/// A place in a log, after which a stream begins.
package struct StreamPlace: Equatable, Sendable {
    package let number: LogPosition
    /// The client's own word for it, by which it can come back; `nil`: it named none.
    package let id: String?

    package init(_ number: LogPosition, id: String? = nil) {
        self.number = number
        self.id = id
    }
}

/// What memory can say of a log after a place.
package enum LogSlice<Page: LogPage>: Sendable {
    case entries(Page)
    /// The place is the end of what is known.
    case end
    /// The store has it.
    case gone
}
