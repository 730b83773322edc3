import HeraldJSON

/// Commands about pull delegates, within `herald delegates`.
extension Command {
    static let leases = listing(
        name: "leases", summary: "list the leases of a pull delegate: the events that its workers have, newest first",
        arguments: [delegateID],
        path: { call throws(CommandError) in try delegatePath(call, "leases") }, none: "No leases.",
        Table("LEASE", .time("BEGAN"), .time("EXPIRES"), "EVENTS"),
        row: { $0.cells("lease", "created_at", "expires_at", "events") })

    static let endLease = Command(
        name: "end-lease", summary: "take a lease back: others get its events at once",
        details: "No attempt is counted. What the worker reports about these events from then on is refused.",
        arguments: [delegateID, Argument(name: "LEASE", help: "The lease: ls_...")],
        flags: Flags.client,
        action: .run { call throws(CommandError) in
            let lease = call.arguments[1]
            try Listing.report(call, "DELETE", delegatePath(call, "leases", lease)) { _ in "Ended \(lease)." }
        })

    static let seek = Command(
        name: "seek", summary: "move the position of a pull delegate: past events are pulled again, or skipped",
        details: "All leases end. Retries of events before the position are dropped.",
        arguments: [delegateID],
        flags: [
            Flag(
                "to", "ID|TIME|earliest|now",
                "Required: the event that is pulled next, by its id or time; 1d: a day ago.", time: .past),
            Confirmation.flag,
        ] + Flags.client,
        examples: ["herald delegates seek dlg_01M7YZ2J61B6WSJHG4TYRGWBTV --to 2h"],
        action: .run { call throws(CommandError) in
            guard let to = call["to"] else {
                throw CommandError("--to is missing: an event's id, a time, earliest, or now.")
            }
            let position = try ShortID.events.resolve(to, call)
            let path = try delegatePath(call, "seek")
            try Confirmation.ask(call, isNamed: true) {
                "Move the position of \(path[2]) to \(position), and end its leases?"
            }
            try Listing.report(call, "POST", path, body: JSONWriter.document { $0.member("to", position) }) {
                "Moved. Matching events from there on: \(eventCount($0))."
            }
        })
}
