/// An invalid field of an event, or of the settings of a webhook; or the part of a template that makes no request of an event.
public struct FieldError: Error, Hashable, Sendable {
    /// Per request. Listing thousands takes longer than reading them, and does not help.
    package static let maxReported = 100

    /// A JSON pointer (RFC 6901), `""` for the whole.
    public let pointer: String
    /// A description of the error, and of what is allowed.
    public let detail: String

    package init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }

    /// `/request/body/text makes more than 262144 bytes`
    package var text: String { "\(pointer.isEmpty ? "The whole" : pointer) \(detail)" }

    /// The field has no integer of this range.
    package static func integer(_ pointer: String, _ range: ClosedRange<some BinaryInteger>) -> FieldError {
        FieldError(pointer, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }

    /// The field is none of the members that its object may have.
    package static func noMember(_ pointer: String, of members: [String]) -> FieldError {
        FieldError(pointer, "is not a member here; members are: \(members.joined(separator: ", "))")
    }
}

extension [FieldError] {
    /// Appends an error.
    /// - Returns: `nil`, for functions that read a value.
    package mutating func refuse<Value>(_ pointer: String, _ detail: String) -> Value? {
        append(FieldError(pointer, detail))
        return nil
    }

    /// One line for each field: its pointer and the error.
    package var text: String { map(\.text).joined(separator: "\n") }
}

/// Why a template, a filter or a change of settings is invalid: all errors.
package struct FieldErrors: Error {
    package let errors: [FieldError]

    package init(_ errors: [FieldError]) { self.errors = errors }
}

/// Why a text is invalid, such as one with a placeholder or a wildcard.
struct TextError: Error {
    /// Follows the pointer of the text.
    let detail: String

    init(_ detail: String) { self.detail = detail }
}
