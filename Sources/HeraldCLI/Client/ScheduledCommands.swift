import HeraldJSON

extension Command {
    static let scheduled = listing(
        name: "scheduled", summary: "list the events that are published later, the earliest first",
        flags: [Flag("subject", "SUBJECT", "Only events about this subject.")],
        examples: ["herald events scheduled --json | jq -r .deliver_at"], path: { _ in ["v1", "events"] },
        query: { [("state", "scheduled"), ("subject", $0["subject"])] }, none: "No events.", EventRow.table,
        row: { EventRow.cells($0, time: $0.text("deliver_at")) })

    static let refused = listing(
        name: "refused", summary: "list the events from SQL that were committed and are not valid, newest first",
        path: { _ in ["v1", "events"] }, query: { _ in [("state", "refused")] }, none: "No events.",
        Table(.time("REFUSED"), "ID", .text("TYPE"), .text("SUBJECT"), .text("REASON")),
        row: { $0.cells("refused_at", "id", "type", "subject", "reason") })

    static let reschedule = Command(
        name: "reschedule", summary: "change the time of a scheduled event", arguments: [eventID],
        flags: [
            Flag("at", "TIME", "Required: the new time; 2h: in two hours.", time: .future, member: "deliver_at")
        ] + Flags.client,
        examples: ["herald events reschedule trial-42 --at 2026-12-27T09:00:00Z"],
        action: .run { call throws(CommandError) in
            guard let time = call["at"] else { throw CommandError("--at TIME is required.") }
            let body = JSONWriter.document { $0.member("deliver_at", time) }
            try Listing.report(call, "PATCH", ["v1", "events", call.arguments[0]], body: body) {
                "\($0.text("id")) is published at \($0.text("deliver_at"))"
            }
        })

    static let cancel = Command(
        name: "cancel", summary: "cancel a scheduled event", arguments: [eventID], flags: Flags.client,
        examples: ["herald events cancel trial-42"],
        action: .run { call throws(CommandError) in
            let id = call.arguments[0]
            try Listing.report(call, "DELETE", ["v1", "events", id]) { _ in "\(id) is cancelled." }
        })
}
