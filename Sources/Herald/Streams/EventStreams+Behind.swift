import Synchronization

// Streams that are not at the end of the log. Each takes its turn: a piece, then the others.
extension EventStreams {
    typealias Start = @Sendable (any StoreReader) throws(StoreError) -> Sequence?

    /// Where it begins, and the id of the event before that: what the client resumes from when it is cut off before it
    /// was told anything.
    private struct Beginning: Sendable {
        let place: Sequence
        let eventID: String?
        var isLost = false
    }

    func begin(_ stream: EventStream, _ start: Start?) {
        let head = hub.tail.head
        if start == nil, case .events(let batch) = hub.tail.slice(after: head - 1, limit: 1) {
            let id = batch.events[0].app == stream.interest.app ? batch.events[0].id : nil
            return begin(stream, Beginning(place: head, eventID: id))
        }
        let app = stream.interest.app
        let taken = hub.read { reader in
            let beginning = try? Self.find(start, head, app, reader.get())
            self.perform { if let beginning { self.begin(stream, beginning) } else { stream.output.end() } }
        }
        if !taken { stream.output.end() }
    }

    /// A reader's thread.
    private static func find(
        _ start: Start?, _ head: Sequence, _ app: AppKey, _ reader: any StoreReader
    ) throws(StoreError) -> Beginning {
        var place = head
        var isLost = false
        if let start {
            if let found = try start(reader) { place = found } else { isLost = true }
        }
        let before = place > 0 ? try reader.events(after: place - 1, limit: 1, maxBytes: 1).events.first : nil
        return Beginning(place: place, eventID: before?.app == app ? before?.id : nil, isLost: isLost)
    }

    private func begin(_ stream: EventStream, _ beginning: Beginning) {
        guard case .starting = stream.phase else { return }
        let id = beginning.eventID
        stream.output.write(format.beginning(beginning.isLost ? .lost(eventID: id) : .after(eventID: id)))
        stream.move(to: .behind(after: beginning.place))
        goOn(stream)
    }

    /// Tells a stream that is behind a piece of what it has missed, if its client takes it.
    func goOn(_ stream: EventStream) {
        while case .behind(let place) = stream.phase, !stream.output.isFull {
            switch hub.tail.slice(after: place, limit: Self.eventsPerTurn) {
            case .end:
                if joinChannel(stream, at: place) { return }
            case .events(let batch):
                if !tell(stream, batch) { return }
            case .gone:
                return goOn(stream, fromStoreAfter: place)
            }
        }
    }

    /// - Returns: whether nothing of it was wanted, so that there is time for more.
    private func tell(_ stream: EventStream, _ batch: EventBatch) -> Bool {
        let pieces = StreamPieces(batch, stream.interest, limit: 1) { format.event(batch.events[$0]) }.pieces
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

    private func goOn(_ stream: EventStream, fromStoreAfter place: Sequence) {
        let erasures = hub.tail.erasures.load(ordering: .acquiring)
        if erasures != erasuresSeen {
            pages.forgetPages()
            erasuresSeen = erasures
        }
        var events: [Event] = []
        while events.count < PageCache.eventsPerPage, let event = pages.event(place + 1 + Sequence(events.count)) {
            events.append(event)
        }
        guard events.isEmpty else {
            if tell(stream, EventBatch(first: place + 1, events: events)) { perform { self.goOn(stream) } }
            return
        }
        waiting[stream.number] = stream
        if let after = pages.want(place + 1, for: stream.number) { read(after) }
    }

    private func read(_ after: Sequence) {
        let erasures = hub.tail.erasures.load(ordering: .acquiring)
        let taken = hub.read { reader in
            let page = try? reader.get().events(
                after: after, limit: PageCache.eventsPerPage, maxBytes: PageCache.bytesPerPage)
            self.perform {
                // What was erased meanwhile may be in it.
                if erasures != self.hub.tail.erasures.load(ordering: .acquiring) { return self.read(after) }
                self.arrived(page, after)
            }
        }
        if !taken { perform { self.arrived(nil, after) } }
    }

    private func arrived(_ page: EventBatch?, _ after: Sequence) {
        let (numbers, next) = pages.arrived(after: after, page ?? EventBatch(first: after + 1, events: []))
        for number in numbers {
            guard let stream = waiting.removeValue(forKey: number) else { continue }
            guard let page, !page.events.isEmpty, case .behind(let place) = stream.phase else {
                // The client comes again, and knows where it was.
                stream.output.end()
                continue
            }
            if place < page.first - 1 {
                stream.output.write(format.gap())
                stream.move(to: .behind(after: page.first - 1))
            }
            goOn(stream)
        }
        if let next { read(next) }
    }
}
