import Synchronization

// Streams that are not at the end of the log. Each takes its turn: a piece, then the others.
extension LiveStreams {
    /// Finds the place after which to begin; `nil`: the log doesn't have it.
    package typealias Start = @Sendable (any StoreReader) throws(StoreError) -> StreamPlace?

    private struct Beginning: Sendable {
        /// With what the client resumes from when it is cut off before it was told anything.
        let place: StreamPlace
        let head: LogPosition
        var isLost = false
    }

    final func begin(_ stream: Stream, _ start: Start?) {
        if start == nil, let end = log.end { return begin(stream, Beginning(place: StreamPlace(end), head: end)) }
        let log = log
        let taken = hub.read { reader in
            let beginning = try? Self.find(start, log, reader.get())
            self.perform { if let beginning { self.begin(stream, beginning) } else { stream.output.end() } }
        }
        if !taken { stream.output.end() }
    }

    /// A reader's thread.
    private static func find(
        _ start: Start?, _ log: Log, _ reader: any StoreReader
    ) throws(StoreError) -> Beginning {
        let head = try log.end(in: reader)
        guard let start else { return Beginning(place: StreamPlace(head), head: head) }
        let found = try start(reader)
        return Beginning(place: found ?? StreamPlace(head), head: head, isLost: found == nil)
    }

    private func begin(_ stream: Stream, _ beginning: Beginning) {
        guard case .starting = stream.phase else { return }
        log.begin(head: beginning.head)
        let place = beginning.place
        stream.output.write(format.beginning(beginning.isLost ? .lost(place) : .after(place), stream.interest.app))
        stream.move(to: .behind(after: place.number))
        goOn(stream)
        // What became known to nobody since the end was looked up.
        refresh()
    }

    /// Tells a stream that is behind a piece of what it has missed, if its client takes it.
    final func goOn(_ stream: Stream) {
        while case .behind(let place) = stream.phase, !stream.output.isFull {
            switch log.slice(after: place, limit: Self.entriesPerTurn) {
            case .end:
                if joinChannel(stream, at: place) { return }
            case .entries(let batch):
                if !tell(stream, batch) { return }
            case .gone:
                return goOn(stream, fromStoreAfter: place)
            }
        }
    }

    /// - Returns: whether nothing of it was wanted, so that there is time for more.
    private func tell(_ stream: Stream, _ batch: Log.Page) -> Bool {
        let pieces = StreamPieces(batch, stream.interest, limit: 1) { format.entry(batch.entries[$0]) }.pieces
        guard let piece = pieces.first else {
            stream.move(to: .behind(after: batch.last))
            return true
        }
        stream.output.write(piece.bytes)
        stream.move(to: .behind(after: piece.through))
        if !stream.output.isFull { perform { self.goOn(stream) } }
        return false
    }

    // MARK: What memory has no more

    private func goOn(_ stream: Stream, fromStoreAfter place: LogPosition) {
        let erasures = log.erasures
        if erasures != erasuresSeen {
            pages.forgetPages()
            erasuresSeen = erasures
        }
        if let page = pages.page(after: place) {
            if tell(stream, page.rest(after: place)) { perform { self.goOn(stream) } }
            return
        }
        waiting[stream.number] = stream
        if let after = pages.want(place + 1, for: stream.number) { read(after) }
    }

    private func read(_ after: LogPosition) {
        let log = log
        let erasures = log.erasures
        let taken = hub.read { reader in
            let page = try? log.page(after: after, in: reader.get())
            self.perform {
                // What was erased meanwhile may be in it.
                if erasures != log.erasures { return self.read(after) }
                self.arrived(page, after)
            }
        }
        if !taken { perform { self.arrived(nil, after) } }
    }

    private func arrived(_ page: Log.Page?, _ after: LogPosition) {
        let (numbers, next) = pages.arrived(after: after, page)
        for number in numbers {
            guard let stream = waiting.removeValue(forKey: number) else { continue }
            guard let page, page.last > page.after, case .behind(let place) = stream.phase else {
                // The client comes again, and knows where it was.
                stream.output.end()
                continue
            }
            if place < page.after {
                stream.output.write(format.gap())
                stream.move(to: .behind(after: page.after))
            }
            goOn(stream)
        }
        if let next { read(next) }
    }
}
