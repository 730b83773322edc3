package import HeraldDelivery
package import HeraldModel
package import HeraldRuntime

/// Events that are posted together, all or none, with their completion.
///
/// A class, because it is passed between several owners, and copying a struct would retain each of its references.
package final class Publication: Sendable {
    package let app: AppKey
    package let drafts: [EventDraft]
    /// The size of the events' bodies.
    let bytes: Int
    /// Whether some of the events may be published later.
    let schedules: Bool
    /// Whether some of the events depend on the version of a status. At its commit, a publishing transaction compares only the
    /// event that has set the status, and another login changes the user's data alone.
    let comparesStatus: Bool
    package let idempotency: Idempotency<[PublishedEvent]>?
    /// Lets it wait for room, and be withdrawn; `nil`: it is refused if there is no room.
    package let ticket: WriteTicket?
    /// Waits for the outcomes of the events' first attempts.
    package let watch: DeliveryWatch?
    /// The span of the request; `nil` without traces.
    package let span: OpenSpan?
    /// Where `completion` is called once the events are published; `nil`: on the writer's thread.
    let caller: (any CallerLoop)?
    /// Called once: by `caller`, or on the writer's thread (or at once if it is refused); must not wait.
    package let completion: @Sendable (WriteResult<[PublishedEvent]>) -> Void

    package init(
        app: AppKey = .default, drafts: [EventDraft], idempotency: Idempotency<[PublishedEvent]>? = nil,
        ticket: WriteTicket? = nil, watch: DeliveryWatch? = nil, span: OpenSpan? = nil,
        caller: (any CallerLoop)? = nil,
        completion: @escaping @Sendable (WriteResult<[PublishedEvent]>) -> Void
    ) {
        self.app = app
        self.drafts = drafts
        bytes = drafts.reduce(0) { $0 + $1.event.body.count }
        schedules = drafts.contains { $0.deliverAt != nil }
        comparesStatus = drafts.contains { draft in
            if case .auth(_, _, _, .some) = draft.family { true } else { false }
        }
        self.idempotency = idempotency
        self.ticket = ticket
        self.watch = watch
        self.span = span
        self.caller = caller
        self.completion = completion
    }
}

extension Publication {
    /// The validated publication.
    /// - Throws: `HubError.invalid`; with several drafts, pointers start with the index of the draft. `.tooLarge`.
    func checked(_ limits: PublicationLimits) throws(HubError) -> Publication {
        if drafts.allSatisfy(\.isChecked) { return self }
        try limits.check(events: drafts.count, bytes: bytes)
        var values = PublicationLimits.maxValues
        var errors: [FieldError] = []
        var checked: [EventDraft] = []
        for (index, draft) in drafts.enumerated() where errors.count < FieldError.maxReported {
            let pointer = drafts.count > 1 ? "/\(index)" : ""
            let right = draft.isChecked ? draft : draft.checked(app: app, at: pointer, values: &values, &errors)
            if let right { checked.append(right) }
        }
        guard errors.isEmpty else { throw .invalid(errors) }
        return Publication(
            app: app, drafts: checked, idempotency: idempotency, ticket: ticket, watch: watch, span: span,
            caller: caller, completion: completion)
    }
}

extension Publication {
    /// Completes publications whose events are on disk, in their order; those that follow each other from one caller together, with
    /// one wake-up. The writer's thread, which should hold no reference to them any more.
    static func complete(_ published: consuming [(publication: Publication, events: [PublishedEvent])]) {
        var rest = published[...]
        while let caller = rest.first.map(\.publication.caller) {
            let run = rest.prefix { $0.publication.caller === caller }
            rest = rest[run.endIndex...]
            let complete: @Sendable () -> Void = {
                for (publication, events) in run { publication.completion(.done(events)) }
            }
            if let caller { caller.post(complete) } else { complete() }
        }
    }
}

extension PublicationLimits {
    /// - Throws: `HubError.invalid`, `.tooLarge`.
    func check(events: Int, bytes: Int) throws(HubError) {
        guard events <= Self.maxEvents else {
            throw .invalid([FieldError("", "must be at most \(Self.maxEvents) events")])
        }
        guard bytes <= maxBytes else { throw .tooLarge(limit: maxBytes) }
    }
}
