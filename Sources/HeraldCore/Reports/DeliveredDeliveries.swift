import HeraldModel

/// Deliveries that have succeeded. The store has no rows for them: the last attempt of each says so.
struct DeliveredDeliveries {
    /// The bounds of one page: rows of the log in which the events of one delegate are searched, deliveries that are read
    /// for one delegate, and events whose deliveries are read.
    private static let searchedRows: Int64 = 10_240
    private static let maxDeliveries = 1_000
    private static let maxEvents = 400

    private let selection: DeliverySelection
    private let hub: Hub
    private let reader: any StoreReader
    private let range: ClosedRange<LogPosition>

    /// A reader's thread.
    init(_ selection: DeliverySelection, _ hub: Hub, _ reader: any StoreReader) throws {
        self.selection = selection
        self.hub = hub
        self.reader = reader
        let events = try selection.events(reader) ?? 0 ... .max
        let event = try selection.eventID.map {
            try DeliverySelection.event($0, selection.app, reader).sequence
        }
        range = event.map { events.contains($0) ? $0...$0 : .max ... .max } ?? events
    }

    /// - Returns: as `DeliverySelection.page`.
    func page(before: DeliveryKey?, limit: Int) throws -> (rows: [DeliveryRow], next: DeliveryKey?) {
        // A success has no error.
        if selection.filter.needsFailure { return ([], nil) }
        if let delegate = selection.delegate { return try page(to: delegate, before: before, limit: limit) }
        return try pageOfAll(before: before, limit: limit)
    }

    private func page(
        to delegate: WebhookDelegate, before: DeliveryKey?, limit: Int
    ) throws -> (rows: [DeliveryRow], next: DeliveryKey?) {
        var rows: [DeliveryRow] = []
        var read = 0
        let end = min(before?.event ?? .max, range.upperBound == .max ? .max : range.upperBound + 1)
        let (parts, rest) = hub.committed.usage.searchParts(of: selection.app, before: end, work: Self.searchedRows)
        for part in parts {
            guard part.upperBound >= range.lowerBound else { return (rows, nil) }
            var last = part.upperBound
            let first = max(part.lowerBound, range.lowerBound)
            while first <= last {
                // One more than needed shows whether there is another page.
                let wanted = limit + 1 - rows.count
                let found = try reader.delivered(to: delegate.key, app: selection.app, in: first...last, limit: wanted)
                let events = try EventHeads(found.map(\.record.event), reader)
                for attempt in found {
                    let record = attempt.record
                    let event = events[record.event]
                    guard selection.filter.matches(type: event?.type, subject: event?.subject, last: nil) else {
                        continue
                    }
                    if rows.count == limit { return (rows, key(after: record.event)) }
                    rows.append(try DeliveryRow(delivered: record, event, hub, reader))
                }
                read += found.count
                guard found.count == wanted, let oldest = found.last?.record.event else { break }
                if read >= Self.maxDeliveries { return (rows, key(before: oldest)) }
                last = oldest - 1
            }
        }
        return (rows, rest.map { key(before: $0) })
    }

    private func pageOfAll(before: DeliveryKey?, limit: Int) throws -> (rows: [DeliveryRow], next: DeliveryKey?) {
        var query = EventQuery()
        query.app = selection.app
        query.types = selection.filter.types
        query.subject = selection.filter.subject
        query.after = max(0, range.lowerBound - 1)
        // An event that is listed is not read again: alone it may be as large as a page.
        let top = before.map { $0.delegate > 0 ? $0.event + 1 : $0.event } ?? .max
        query.before = min(top, range.upperBound == .max ? .max : range.upperBound + 1)
        // A list shows types and subjects only: the events are in memory once, those of other lists four times.
        query.maxBytes = min(4 << 20, 4 * hub.maxListBytes)
        query.limit = min(limit + 1, Self.maxEvents)
        let (events, rest) = try EventSearch(query).page(hub.committed.usage, reader)
        var rows: [DeliveryRow] = []
        var last: DeliveryKey?
        for logged in events {
            let end = before.map { $0.event == logged.sequence ? $0.delegate : .max } ?? .max
            for attempt in try reader.delivered(event: logged.sequence, before: end, limit: limit + 1 - rows.count) {
                if rows.count == limit { return (rows, last) }
                rows.append(try DeliveryRow(delivered: attempt.record, logged.event, hub, reader))
                last = DeliveryKey(delegate: attempt.record.delegate, event: logged.sequence)
            }
        }
        if let rest { return (rows, key(before: rest)) }
        return (rows, events.count == query.limit ? events.last.map { key(before: $0.sequence) } : nil)
    }

    /// The key after all deliveries of an event.
    private func key(before event: LogPosition) -> DeliveryKey { DeliveryKey(delegate: 0, event: event) }

    /// The key before all deliveries of an event, for a list of one delegate.
    private func key(after event: LogPosition) -> DeliveryKey { DeliveryKey(delegate: 0, event: event + 1) }
}
