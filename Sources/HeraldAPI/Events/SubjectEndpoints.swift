import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Erasing all data of a subject, for example at a person's request.
struct SubjectEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.delete, "/v1/subjects/{subject}", needs: .manage) { call throws(Problem) in
                try erase(call.parameters[0], call)
            },
            // For subjects that a path can't contain, such as those with a slash.
            Route(.delete, "/v1/subjects", needs: .manage, takesQuery: true) { call throws(Problem) in
                guard let subject = try call.query("subject")["subject"] else {
                    throw .invalidParameter("subject", "is required: whom or what to erase")
                }
                try erase(subject, call)
            },
        ]
    }

    private func erase(_ subject: String, _ call: Call) throws(Problem) {
        guard (1...EventInput.maxSubjectCharacters).contains(subject.unicodeScalars.count) else {
            throw .notFound("A subject has 1 to \(EventInput.maxSubjectCharacters) characters.")
        }
        let erasing = Erasing(subject: subject, call: call, hub: hub)
        erasing.eraseScheduled(Erasure(), isFirst: true)
    }
}

/// An erasure in progress: a slice of the events is looked up on a reader's thread and erased by the writer in short steps,
/// until there are no more. The last steps erase the data of the subject outside the log. Other requests are served between
/// two steps.
private struct Erasing: Sendable {
    let subject: String
    let call: Call
    let hub: Hub

    private static let sliceSize = 500

    /// The first steps: no scheduled event becomes one of the log behind the search.
    /// - Parameter isFirst: the audit log gets one entry, with the first step, because later ones may be refused.
    func eraseScheduled(_ erased: Erasure, isFirst: Bool) {
        submit(.erasePending(subject), isFirst: isFirst, erased) { sum, step in
            if step.scheduled > 0 { return eraseScheduled(sum, isFirst: false) }
            readOn(after: 0, sum)
        }
    }

    /// A reader's thread.
    func read(_ reader: any StoreReader, after sequence: LogPosition, _ erased: Erasure) throws {
        let slice = try reader.sequences(about: subject, app: call.app, after: sequence, limit: Self.sliceSize)
        erase(slice, then: slice.count < Self.sliceSize ? nil : slice.last, erased)
    }

    /// - Parameter next: the position behind which the next slice begins; `nil` if these are the last events.
    private func erase(_ events: [LogPosition], then next: LogPosition?, _ erased: Erasure) {
        submit(.erase(events), erased) { sum, rest in
            if !rest.rest.isEmpty {
                erase(rest.rest, then: next, sum)
            } else if let next {
                readOn(after: next, sum)
            } else {
                eraseOutsideLog(after: "", sum)
            }
        }
    }

    private func eraseOutsideLog(after key: String, _ erased: Erasure) {
        submit(.eraseSubject(subject, after: key), erased) { sum, rest in
            if let next = rest.nextAnswer { return eraseOutsideLog(after: next, sum) }
            receipt(sum)
        }
    }

    /// - Parameter then: called on the writer's thread with the sum of all steps, and with the last step.
    private func submit(
        _ action: DeliveryWrite.Action, isFirst: Bool = false, _ erased: Erasure,
        then: @escaping @Sendable (_ sum: Erasure, _ step: Erasure) -> Void
    ) {
        call.begin(hub)?.submit(
            DeliveryWrite(app: call.app, action: action, provenance: isFirst ? call.provenance : nil) { result in
                if case .refused(let refusal) = result, !isFirst { return stop(Problem(refusal)) }
                guard case .done(.erased(let more)) = result else {
                    return call.send(result) { call.response(to: $0) { _ in Response(status: 204) } }
                }
                then(erased.adding(more), more)
            })
    }

    /// The writer's thread.
    private func readOn(after sequence: LogPosition, _ erased: Erasure) {
        do throws(Problem) {
            try call.answer(from: hub, refuse: stop) { try read($0, after: sequence, erased) }
        } catch {
            stop(error)
        }
    }

    /// Steps are done, which stay done.
    private func stop(_ problem: Problem) { call.send(problem.saying(Self.isPart)) }

    private static let isPart =
        "A part of the data of the subject is erased. Repeat the request in a second: it erases the rest."

    private func receipt(_ erased: Erasure) {
        let now = hub.clock.wall()
        call.send {
            $0.member("subject", subject)
            $0.member("events", erased.events)
            $0.member("attempts", erased.attempts)
            $0.member("deliveries", erased.deliveries)
            $0.member("auth_statuses", erased.authStatuses)
            $0.member("remembered_answers", erased.answers)
            $0.member("scheduled_events", erased.scheduled)
            $0.member("erased_at", .timestamp(now))
        }
    }
}

extension Erasure {
    fileprivate func adding(_ other: Erasure) -> Erasure {
        var sum = self
        sum.events += other.events
        sum.attempts += other.attempts
        sum.deliveries += other.deliveries
        sum.authStatuses += other.authStatuses
        sum.answers += other.answers
        sum.scheduled += other.scheduled
        return sum
    }
}
