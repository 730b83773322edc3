/// Why a template is invalid: all errors, each with its pointer.
package struct TemplateErrors: Error, Equatable, Sendable {
    package let errors: [FieldError]
}

/// Why a template makes no request of an event.
package struct TemplateFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The pointer into the template, as in the errors of ``TemplateErrors``.
    package let pointer: String
    /// Follows the pointer: "makes more than 262144 bytes".
    package let detail: String

    package init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }

    /// `/request/body/text makes more than 262144 bytes`
    package var description: String { "\(pointer.isEmpty ? "The whole" : pointer) \(detail)" }
}
