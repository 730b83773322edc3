import HeraldJSON

extension Event {
    /// Where a draft with the same source and id differs from this event: JSON pointers into the draft. All is
    /// compared byte for byte. Empty for an erased or damaged event.
    package func differences(from draft: EventDraft) -> [String] {
        if isErased || isDamaged { return [] }
        let posted = draft.event
        var pointers: [String] = []
        if type != posted.type { pointers.append("/type") }
        if subject.map(ExactText.init) != posted.subject.map(ExactText.init) { pointers.append("/subject") }
        if draft.bringsTime, time != posted.time { pointers.append("/time") }
        if data != posted.data, !AppStateFamily.isCompleted(self, from: posted) { pointers.append("/data") }
        let (ours, theirs) = (comparableAttributes, posted.comparableAttributes)
        for name in Set(ours.keys).union(theirs.keys).sorted() where ours[name] != theirs[name] {
            pointers.append(JSONPointer.child("", name))
        }
        return pointers
    }

    /// By name, without the trace, which differs for each request.
    private var comparableAttributes: [String: EventAttribute] {
        let found = shownAttributes.filter { !["traceparent", "tracestate", CloudEventAttribute.id].contains($0.name) }
        return Dictionary(found.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    }
}
