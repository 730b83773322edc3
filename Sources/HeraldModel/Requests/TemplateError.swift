/// Why a template is invalid: all errors, each with its pointer.
package struct TemplateErrors: Error, Equatable, Sendable {
    package let errors: [FieldError]
}
