import HeraldCore
import HeraldJSON
import HeraldModel

/// Parses an acknowledgement: `{"lease", "failed": [{"id", "retry_after", "reason"}], "returned": [id]}`, or `{"lease", "release": true}`.
struct AcknowledgementInput {
    private static let fields = ["lease", "failed", "returned", "release"]
    private static let failureFields = ["id", "retry_after", "reason"]

    let action: PullWrite.Action

    /// - Throws: 422 with all invalid fields.
    init(_ document: JSONDocument) throws(Problem) {
        var reader = FieldReader(document, fields: Self.fields)
        let lease = reader.lease()
        var failed: [PullWrite.Failed] = []
        for (pointer, element) in reader.elements(document, "failed", "objects with an id") {
            failed.append(Self.failure(element, pointer, &reader))
        }
        for (pointer, element) in reader.elements(document, "returned", "ids of events") {
            failed.append(PullWrite.Failed(id: reader.text(element, pointer) ?? "", isReturned: true))
        }
        let releases = reader.member("release") { $0.flag($1, $2) } ?? false
        if releases, !failed.isEmpty {
            reader.wrong("/release", "can't be combined with failed and returned: it gives all events back")
        }
        var seen: Set<String> = []
        for (index, failure) in failed.enumerated() where !failure.id.isEmpty {
            guard !seen.insert(failure.id).inserted else { continue }
            let isReturned = failure.isReturned
            let pointer = isReturned ? "/returned/\(index - failed.count { !$0.isReturned })" : "/failed/\(index)/id"
            reader.wrong(pointer, "is given twice")
        }
        try reader.check()
        action = releases ? .release(lease: lease) : .acknowledge(lease: lease, failed: failed)
    }

    private static func failure(
        _ value: JSONValue, _ pointer: String, _ reader: inout FieldReader
    ) -> PullWrite.Failed {
        guard value.kind == .object else {
            reader.wrong(pointer, "must be an object with an id")
            return PullWrite.Failed(id: "")
        }
        var (id, reason): (String?, String) = (nil, "")
        var seconds: Int?
        for (key, member) in value.members {
            let child = JSONPointer.child(pointer, key)
            switch key {
            case "id": id = reader.text(member, child) ?? ""
            case "retry_after":
                if !member.isNull { seconds = reader.integer(member, child, PullWrite.Failed.retryAfterRange) }
            case "reason":
                if !member.isNull { reason = reader.text(member, child) ?? "" }
                if reason.unicodeScalars.count > PullWrite.Failed.maxReason {
                    reader.wrong(child, "must have at most \(PullWrite.Failed.maxReason) characters")
                }
            default: reader.wrong(child, "is not a known field; fields are: \(failureFields.joined(separator: ", "))")
            }
        }
        if id == nil { reader.wrong(pointer + "/id", "is required: the id of the event") }
        return PullWrite.Failed(id: id ?? "", retryAfter: seconds, reason: reason)
    }
}

extension FieldReader {
    mutating func lease() -> String {
        let lease = member("lease") { $0.text($1, $2) ?? "" }
        if lease == nil { wrong("/lease", "is required: the lease that a pull has returned") }
        return lease ?? ""
    }

    /// The elements of an array about events, with their pointers.
    fileprivate mutating func elements(
        _ document: JSONDocument, _ name: String, _ words: String
    ) -> [(pointer: String, value: JSONValue)] {
        guard let value = document.nonNull(name) else { return [] }
        guard value.kind == .array, value.count <= PullLease.maxEvents else {
            wrong("/" + name, "must be an array of at most \(PullLease.maxEvents) \(words)")
            return []
        }
        return value.elements.enumerated().map { ("/\(name)/\($0)", $1) }
    }
}
