/// A field of a form: something to type into.
@MainActor
public protocol FormField: AnyObject {
    /// Its place among the fields of the form. Gaps are fine.
    var tag: Int { get }

    /// Whether it can have the focus.
    var isEnabled: Bool { get }

    /// Takes the focus.
    func focus()

    /// Gives the focus away.
    func blur()
}

/// A form whose fields hand on the focus when Return is pressed, in the order of their tags; the last one leads out of it.
///
/// ```swift
/// func returnWasPressed(in field: Field) { form.advance(from: field) }
/// ```
/// Fields that are disabled or not there are skipped.
@MainActor
public protocol FormNavigation: AnyObject {
    /// What the fields are.
    associatedtype Field: FormField

    /// The fields of the form, in any order.
    var fields: [Field] { get }

    /// Where the form leads when it is done: in UIKit the identifier of a segue.
    var exitIdentifier: String { get }

    /// Leaves the form by that exit.
    func exit(by identifier: String)
}

extension FormNavigation {
    /// The field that gets the focus after this one; `nil` when it is the last. Of fields with the same tag those come
    /// later that `fields` has later.
    public func field(after field: Field) -> Field? {
        let sorted = inOrder
        guard let place = sorted.firstIndex(where: { $0 === field }) else {
            return sorted.first { $0.tag > field.tag && $0.isEnabled }
        }
        return sorted[(place + 1)...].first { $0.isEnabled }
    }

    /// Gives the focus to the first field that can have it.
    public func focusFirstField() { inOrder.first { $0.isEnabled }?.focus() }

    /// To be called when Return is pressed in a field: gives the focus to the next one, or leaves the form.
    public func advance(from field: Field) {
        field.blur()
        if let next = self.field(after: field) {
            next.focus()
        } else {
            exit(by: exitIdentifier)
        }
    }

    private var inOrder: [Field] {
        // The sorting of the standard library is stable, but doesn't promise to be.
        fields.enumerated().sorted { ($0.element.tag, $0.offset) < ($1.element.tag, $1.offset) }.map(\.element)
    }
}
