import Delegation

/// An input line.
@MainActor
final class TerminalField: FormField {
    let tag: Int
    let label: String
    var isEnabled = true
    var text = ""
    private unowned let form: SignUpForm

    init(_ tag: Int, _ label: String, in form: SignUpForm) {
        self.tag = tag
        self.label = label
        self.form = form
    }

    func focus() { form.focused = self }
    func blur() { if form.focused === self { form.focused = nil } }
}

/// A form on a terminal.
@MainActor
final class SignUpForm: FormNavigation {
    let exitIdentifier: String? = "showHome"
    private(set) var fields: [TerminalField] = []
    var focused: TerminalField?
    private let leave: (SignUpForm, String) -> Void

    /// - Parameter leave: called with the identifier of the exit, when the form is complete.
    init(leave: @escaping (SignUpForm, String) -> Void) {
        self.leave = leave
        // In the order of the layout; the tags define the order of navigation.
        fields = [
            TerminalField(30, "Plan (free or pro)", in: self),
            TerminalField(10, "Name", in: self),
            TerminalField(20, "Voucher", in: self),
        ]
        fields[2].isEnabled = false  // There are none this month.
    }

    subscript(_ label: String) -> String { fields.first { $0.label == label }?.text ?? "" }

    func exit(by identifier: String) { leave(self, identifier) }

    /// Reads one field after another. Return in an empty field repeats it.
    func run() {
        focusFirstField()
        while let field = focused {
            print("\(field.label)?")
            guard let line = readLine() else { return print("Good-bye.") }
            field.text = line
            if !line.isEmpty { advance(from: field) }
        }
    }
}
