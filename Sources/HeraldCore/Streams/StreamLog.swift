package import HeraldDelivery
package import HeraldModel

/// A log that can be streamed.
package protocol StreamLog: AnyObject, Sendable {
    associatedtype Page: LogPage
    associatedtype Interest: StreamInterest where Interest.Entry == Page.Entry

    // Any thread

    /// The number of entries of an app after a position, as far as it is known.
    func count(of app: AppKey, after place: LogPosition) -> Int64
    /// Counts erasures, so that data read from the store can be discarded afterwards.
    var erasures: Int { get }
    /// The bytes of one page, unless one entry is larger. Streams keep up to 32 pages, or fewer that have so many bytes.
    var pageBytes: Int { get }

    // The streams' thread

    /// The end of the log, if it is known without reading.
    var end: LogPosition? { get }
    /// A stream starts; `head` was the end of the log when its start was read.
    func begin(head: LogPosition)
    /// There are no more streams.
    func streamsEnded()
    /// There are new entries: reads them into memory, and calls `done` on the same thread each time there are more.
    func refresh(on thread: any StreamThread, _ done: @escaping @Sendable () -> Void)
    /// The entries in memory after a position.
    func slice(after place: LogPosition, limit: Int) -> LogSlice<Page>

    // A reader's thread

    func end(in reader: any StoreReader) throws(StoreError) -> LogPosition
    /// Oldest first, from the store: not empty if there is anything after the position.
    func page(after place: LogPosition, in reader: any StoreReader) throws(StoreError) -> Page
}

/// A position in a log, after which a stream starts.
package struct StreamPlace: Equatable, Sendable {
    package let number: LogPosition
    /// The id with which the client can resume; `nil` if it sent none.
    package let id: String?

    package init(_ number: LogPosition, id: String? = nil) {
        self.number = number
        self.id = id
    }
}

/// The entries in memory after a position.
package enum LogSlice<Page: LogPage>: Sendable {
    case entries(Page)
    /// The position is the end of the known entries.
    case end
    /// Only the store has them.
    case gone
}
