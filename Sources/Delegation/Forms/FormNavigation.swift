/// A field of a form, such as a text field.
@MainActor
public protocol FormField: AnyObject {
    /// Its position among the fields of the form. Gaps are allowed.
    var tag: Int { get }

    /// Whether it can have the focus.
    var isEnabled: Bool { get }

    /// Takes the focus.
    func focus()

    /// Gives up the focus.
    func blur()
}

/// A form whose fields pass on the focus when Return is pressed, in the order of their tags; the last one exits the
/// form.
///
/// ```swift
/// func returnWasPressed(in field: Field) { form.advance(from: field) }
/// ```
/// Disabled and missing fields are skipped.
@MainActor
public protocol FormNavigation: AnyObject {
    /// The type of the fields.
    associatedtype Field: FormField

    /// The fields of the form, in any order.
    var fields: [Field] { get }

    /// The destination after the form: in UIKit the identifier of a segue. `nil` if Return in the last field only ends the
    /// input.
    var exitIdentifier: String? { get }

    /// Leaves the form for this destination.
    func exit(by identifier: String)
}

extension FormNavigation {
    /// The field that gets the focus after this one; `nil` if it is the last. Fields with the same tag keep their order
    /// in `fields`.
    public func field(after field: Field) -> Field? {
        let sorted = inOrder
        guard let place = sorted.firstIndex(where: { $0 === field }) else {
            return sorted.first { $0.tag > field.tag && $0.isEnabled }
        }
        return sorted[(place + 1)...].first { $0.isEnabled }
    }

    /// Gives the focus to the first field that can have it.
    public func focusFirstField() { inOrder.first { $0.isEnabled }?.focus() }

    /// Call this when Return is pressed in a field: moves the focus to the next one, or leaves the form.
    public func advance(from field: Field) {
        let next = self.field(after: field)
        // The next one takes the focus before the last one gives it up, so that a keyboard on the screen stays.
        next?.focus()
        field.blur()
        if next == nil, let exitIdentifier { exit(by: exitIdentifier) }
    }

    private var inOrder: [Field] {
        // The sorting of the standard library is stable, but this is not documented.
        fields.enumerated().sorted { ($0.element.tag, $0.offset) < ($1.element.tag, $1.offset) }.map(\.element)
    }
}
