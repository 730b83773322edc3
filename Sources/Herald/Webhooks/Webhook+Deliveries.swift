public import FoundationEssentials
public import HeraldCore
public import HeraldModel

extension Webhook {
    /// A call of a webhook that has ended.
    public struct Attempt: Sendable {
        /// How long each part took; zero if it did not happen, as on a connection that was reused.
        public struct Phases: Equatable, Sendable {
            /// Resolving the name.
            public let lookup: Duration
            /// Connecting.
            public let connect: Duration
            /// Negotiating TLS.
            public let tls: Duration
            /// From there to the first byte of the response.
            public let firstByte: Duration
        }

        /// Increases in the order in which attempts were recorded; `nil` for a test call, which is not recorded.
        public let id: Int64?
        /// The webhook; `nil` for a test call.
        public let webhookID: String?
        /// The event; `nil` if it has left the log, and for a test call.
        public let eventID: String?
        /// 1 for the first attempt.
        public let number: Int
        /// Whether it was part of a replay or a redelivery.
        public let isReplay: Bool
        /// When it began; `nil` for a test call.
        public let date: Date?
        /// From its start to its end.
        public let duration: Duration
        /// Whether the receiver has accepted the event, with a status from 200 to 299.
        public let isSuccess: Bool
        /// The status of the response; `nil` without a response.
        public let statusCode: Int?
        /// Why there was no response; `nil` if there was one.
        public let failure: CallbackFailure?
        /// An explanation of the failure, for humans.
        public let detail: String?
        /// The beginning of the body of the response, at most 1 KiB.
        public let responseExcerpt: String
        /// How long each part took.
        public let phases: Phases
        /// Whether the connection was used for an earlier request.
        public let isConnectionReused: Bool
        /// The address and the port of the connection; `nil` if there was none.
        public let peer: String?
        /// The size of the body of the request.
        public let requestBytes: Int64
        /// The size of the body of the response, decompressed.
        public let responseBytes: Int64

        init(_ attempt: StoredAttempt, webhookID: String, eventID: String?) {
            let record = attempt.record
            self.init(
                AttemptResult(record), id: attempt.id, webhookID: webhookID, eventID: eventID, number: record.number,
                isReplay: record.isReplay, date: Date(milliseconds: record.startedAt))
        }

        init(
            _ result: AttemptResult, id: Int64? = nil, webhookID: String? = nil, eventID: String? = nil,
            number: Int = 1, isReplay: Bool = false, date: Date? = nil
        ) {
            self.id = id
            self.webhookID = webhookID
            self.eventID = eventID
            self.number = number
            self.isReplay = isReplay
            self.date = date
            duration = .microseconds(result.duration)
            isSuccess = result.succeeded
            statusCode = result.status
            failure = result.failure
            detail = result.hint
            responseExcerpt = String(decoding: result.excerpt, as: UTF8.self)
            let transport = result.transport
            phases = Phases(
                lookup: .microseconds(transport.lookup), connect: .microseconds(transport.connect),
                tls: .microseconds(transport.tls), firstByte: .microseconds(transport.firstByte))
            isConnectionReused = transport.isReused
            peer = transport.peer.isEmpty ? nil : transport.peer
            requestBytes = transport.bytesSent
            responseBytes = transport.bytesReceived
        }
    }

    /// Conditions for deliveries, besides their state, webhook, event and time of acceptance.
    public struct DeliveryFilter: Sendable {
        /// The types of the events; empty for all.
        public var types: [EventPattern]
        /// The subject of the event; `nil` for any.
        public var subject: String?
        /// The errors of the last attempt, such as `.failure(.timeout)` or `.status(500...599)`; empty for any outcome.
        public var errors: [DeliveryError]
        /// Only deliveries whose last attempt failed, and began at this time or later.
        public var failedSince: Date?

        /// - Parameters:
        ///   - types: the types of the events; empty for all.
        ///   - subject: the subject of the event; `nil` for any.
        ///   - errors: the errors of the last attempt; empty for any outcome.
        ///   - failedSince: only deliveries whose last attempt failed, and began at this time or later.
        public init(
            types: [EventPattern] = [], subject: String? = nil, errors: [DeliveryError] = [], failedSince: Date? = nil
        ) {
            self.types = types
            self.subject = subject
            self.errors = errors
            self.failedSince = failedSince
        }

        var filter: HeraldModel.DeliveryFilter {
            var filter = HeraldModel.DeliveryFilter()
            filter.types = types.contains(.any) ? [] : types
            filter.subject = subject
            filter.errors = errors
            filter.failedSince = failedSince?.milliseconds
            return filter
        }
    }

    /// The numbers of deliveries in one state.
    public struct DeliveryCounts: Sendable {
        /// The number of deliveries in all.
        public let deliveries: Int
        /// The number of webhooks that have some.
        public let webhooks: Int
        /// The webhooks with the most deliveries, the largest number first.
        public let elements: [(webhookID: Webhook.ID, deliveries: Int)]
        /// Continues the count: the numbers are those of a part of the deliveries. `nil` if the count is complete.
        public let next: ListCursor?
    }

    /// A delivery that waits or has ended.
    public struct Delivery: Sendable {
        /// The webhook; `nil` if it was removed while the list was read.
        public let webhookID: String?
        /// Its URL; `nil` if it was removed.
        public let url: String?
        /// The event; `nil` if it has left the log, or is damaged.
        public let eventID: String?
        /// The type of the event.
        public let eventType: String?
        /// The subject of the event.
        public let eventSubject: String?
        /// How far it is.
        public let state: DeliveryState
        /// Why it waits or has ended, for humans.
        public let reason: String?
        /// The number of attempts.
        public let attempts: Int
        /// Whether it is a replay or a redelivery.
        public let isReplay: Bool
        /// When it is tried again; `nil` if it is not, or not by its schedule.
        public let nextAttemptDate: Date?
        /// When it ended.
        public let endDate: Date?

        init(_ row: DeliveryRow) {
            webhookID = row.delegateID
            url = row.delegate?.settings.url
            eventID = row.event?.id
            eventType = row.event?.type
            eventSubject = row.event?.subject
            state = row.state
            reason = row.reason
            attempts = row.attempts
            isReplay = row.isReplay
            nextAttemptDate = row.nextAttemptAt.map(Date.init(milliseconds:))
            endDate = row.endedAt.map(Date.init(milliseconds:))
        }
    }

    /// The delivery of one event to one webhook.
    public struct Story: Sendable {
        /// The webhook.
        public let webhookID: String
        /// Its URL; `nil` if it was removed.
        public let url: String?
        /// How far the delivery is.
        public let state: DeliveryState
        /// Why it waits or has ended, for humans.
        public let reason: String?
        /// The attempts, oldest first.
        public let attempts: [Attempt]
        /// When it is tried again; `nil` if it is not, or not by its schedule.
        public let nextAttemptDate: Date?

        init(_ story: DeliveryStory, eventID: String) {
            webhookID = story.delegateID
            url = story.url
            state = story.state
            reason = story.reason
            attempts = story.attempts.map { Attempt($0, webhookID: story.delegateID, eventID: eventID) }
            nextAttemptDate = story.nextAttemptAt.map(Date.init(milliseconds:))
        }
    }

    /// The changes of a redelivery or a cancellation.
    public struct Changes: Equatable, Sendable {
        /// The number of deliveries.
        public let deliveries: Int
        /// Continues behind these deliveries: one call changes as many as its limit, and a dry run counts as many as it can in
        /// bounded time. `nil` at the end.
        public let next: ListCursor?
    }

    /// A replay that has not ended.
    public struct Replay: Identifiable, Sendable {
        /// Increases in the order in which replays were started.
        public let id: Int64
        /// The events that are still to be sent.
        public let events: Int64
        /// Not all of them were read; the number is extrapolated.
        public let isEstimate: Bool
        /// The share of its part of the log that it has read, 0 to 1.
        public let progress: Double
        /// When it was started.
        public let date: Date

        init(_ progress: ReplayProgress) {
            id = progress.replay.id
            events = progress.backlog.events
            isEstimate = progress.backlog.isEstimate
            self.progress = progress.progress
            date = Date(milliseconds: progress.replay.createdAt)
        }
    }

    /// The events that a replay will send.
    public struct ReplayPreview: Equatable, Sendable {
        /// For ``Webhooks/endReplay(_:of:)``; `nil` if there is nothing to follow.
        public let id: Replay.ID?
        /// The events that will be sent.
        public let events: Int64
        /// Not all of them were read; the number is extrapolated.
        public let isEstimate: Bool

        init(_ backlog: Backlog, id: Replay.ID? = nil) {
            self.id = id
            events = backlog.events
            isEstimate = backlog.isEstimate
        }
    }

    /// How the deliveries to a webhook went.
    public struct Statistics: Sendable {
        /// The attempts of a period.
        public struct Period: Equatable, Sendable {
            /// Attempts that succeeded.
            public let delivered: Int
            /// Attempts that failed.
            public let failed: Int
            /// The durations that 50, 95 and 99 % of the successful attempts did not exceed; `nil` without any.
            public let median, percentile95, percentile99: Duration?

            init(_ statistics: DeliveryStatistics) {
                delivered = statistics.delivered
                failed = statistics.failed
                let percentile = { statistics.latencies.percentile($0).map { Duration.microseconds($0) } }
                median = percentile(0.5)
                percentile95 = percentile(0.95)
                percentile99 = percentile(0.99)
            }
        }

        /// The attempts of an hour.
        public struct Hour: Equatable, Sendable {
            /// When the hour begins.
            public let date: Date
            /// Attempts that succeeded.
            public let delivered: Int
            /// Attempts that failed.
            public let failed: Int
        }

        /// The events that are still to be sent.
        public let lag: Lag
        /// The age of the oldest of them.
        public let behind: Duration
        /// Deliveries that used up their retry schedule.
        public let exhausted: Int
        /// The last hour, in steps of five minutes.
        public let lastHour: Period
        /// The last day.
        public let lastDay: Period
        /// The last 24 hours of UTC, the oldest first; the last one is still open.
        public let hours: [Hour]
        /// The replays that have not ended, oldest first.
        public let replays: [Replay]

        init(_ statistics: DelegateStatistics) {
            lag = Lag(statistics.backlog, statistics.lane)
            behind = .milliseconds(statistics.behind ?? 0)
            exhausted = statistics.exhausted
            lastHour = Period(statistics.hour)
            lastDay = Period(statistics.day)
            hours = statistics.hours.map {
                Hour(date: Date(milliseconds: $0.start), delivered: $0.delivered, failed: $0.failed)
            }
            replays = statistics.replays.map(Replay.init)
        }
    }
}
