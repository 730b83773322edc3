import Delegation
import Testing

@MainActor
private final class Field: FormField {
    let tag: Int
    var isEnabled = true
    private(set) var hasFocus = false
    init(_ tag: Int) { self.tag = tag }
    /// Called when the focus comes or goes.
    var report: (String) -> Void = { _ in }
    func focus() {
        hasFocus = true
        report("focus \(tag)")
    }
    func blur() {
        hasFocus = false
        report("blur \(tag)")
    }
}

@MainActor
private final class Form: FormNavigation {
    var exitIdentifier: String? = "showHome"
    var fields: [Field]
    private(set) var exits: [String] = []
    init(_ tags: Int...) { fields = tags.map(Field.init) }
    func exit(by identifier: String) { exits.append(identifier) }

    /// Tags of the fields that have the focus.
    var focused: [Int] { fields.filter(\.hasFocus).map(\.tag) }
}

@MainActor
@Suite("Navigation between the fields of a form")
struct FormNavigationTests {
    @Test("the focus moves in the order of the tags, and leaves after the last field")
    func order() {
        let form = Form(3, 1, 2)
        form.focusFirstField()
        #expect(form.focused == [1])
        form.advance(from: form.fields[1])
        #expect(form.focused == [2])
        form.advance(from: form.fields[2])
        #expect(form.focused == [3])
        #expect(form.exits.isEmpty)
        form.advance(from: form.fields[0])
        #expect(form.focused == [])
        #expect(form.exits == ["showHome"])
    }

    @Test("missing tags and disabled fields are skipped")
    func gaps() {
        let form = Form(1, 4, 9, 12)
        form.fields[2].isEnabled = false
        form.advance(from: form.fields[0])
        #expect(form.focused == [4])
        form.advance(from: form.fields[1])
        #expect(form.focused == [12])
        form.fields[3].isEnabled = false
        form.fields[0].isEnabled = false
        form.focusFirstField()
        #expect(form.focused == [4, 12])
        form.advance(from: form.fields[1])
        #expect(form.exits == ["showHome"])
    }

    @Test("navigation continues after a field that was removed from the form")
    func leftTheForm() {
        let form = Form(1, 3)
        form.advance(from: Field(2))
        #expect(form.focused == [3])
        form.advance(from: Field(3))
        #expect(form.exits == ["showHome"])
    }

    @Test("fields with the same tag keep the order in which they were added")
    func equalTags() {
        let form = Form(1, 1, 1)
        form.advance(from: form.fields[0])
        #expect(form.fields.map(\.hasFocus) == [false, true, false])
        form.advance(from: form.fields[1])
        #expect(form.fields.map(\.hasFocus) == [false, false, true])
    }

    @Test("the next field takes the focus before the last one gives it up, which gives it up before the exit")
    func keyboard() {
        let form = Form(1, 2)
        var reports: [String] = []
        for field in form.fields { field.report = { reports.append($0) } }
        form.focusFirstField()
        form.advance(from: form.fields[0])
        #expect(reports == ["focus 1", "focus 2", "blur 1"])
        form.advance(from: form.fields[1])
        #expect(reports.last == "blur 2" && form.exits == ["showHome"])
    }

    @Test("a form without an exit only ends the input after the last field")
    func noExit() {
        let form = Form(1)
        form.exitIdentifier = nil
        form.focusFirstField()
        form.advance(from: form.fields[0])
        #expect(form.focused == [] && form.exits == [])
    }

    @Test("a form without fields has nothing to focus")
    func empty() {
        let form = Form()
        form.focusFirstField()
        form.advance(from: Field(1))
        #expect(form.exits == ["showHome"])
    }
}
