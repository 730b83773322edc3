import HeraldCore
import HeraldJSON
import HeraldModel

/// Parses the fields of a request's body, and collects the errors.
///
/// A function that finds an invalid field records the error and returns a placeholder of the right type. Placeholders
/// are never used, because the request is refused after all fields were read.
struct FieldReader {
    private(set) var errors: [FieldError] = []
    /// The body; `nil` if only values are read.
    private var document: JSONDocument?

    mutating func wrong(_ pointer: String, _ detail: String) { errors.append(FieldError(pointer, detail)) }

    mutating func wrong(_ more: [FieldError]) { errors += more }

    /// - Throws: 422 with all errors.
    func check() throws(Problem) {
        guard errors.isEmpty else { throw .invalid(errors) }
    }

    /// Adds the errors of the hub's rules, unless a field was invalid before, because its value is missing then.
    mutating func add(_ problems: [FieldError]) {
        let known = Set(errors.map(\.pointer))
        errors += problems.filter { problem in
            !known.contains { problem.pointer == $0 || $0.hasPrefix(problem.pointer + "/") }
        }
    }

    /// Reads a member of the body; `nil` without it, and for `null`.
    /// - Parameter read: one of the functions below, which gets the value and its pointer.
    mutating func member<Value>(
        _ key: String, _ read: (inout FieldReader, JSONValue, String) -> Value?
    ) -> Value? {
        guard let value = document?.nonNull(key) else { return nil }
        return read(&self, value, "/" + key)
    }

    mutating func text(_ value: JSONValue, _ pointer: String) -> String? {
        if value.string == nil { wrong(pointer, "must be a string") }
        return value.string
    }

    /// `nil` for `null`, too.
    mutating func integer(_ value: JSONValue, _ pointer: String) -> Int? {
        let number = value.integer.flatMap(Int.init(exactly:))
        if number == nil, !value.isNull { wrong(pointer, "must be an integer") }
        return number
    }

    mutating func integer(_ value: JSONValue, _ pointer: String, _ range: ClosedRange<Int64>) -> Int {
        guard let number = value.integer, range.contains(number) else {
            wrong(pointer, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
            return Int(range.lowerBound)
        }
        return Int(number)
    }

    /// `nil` for `null`, too.
    mutating func number(_ value: JSONValue, _ pointer: String) -> Double? {
        if value.double == nil, !value.isNull { wrong(pointer, "must be a number") }
        return value.double
    }

    mutating func flag(_ value: JSONValue, _ pointer: String) -> Bool {
        if value.bool == nil { wrong(pointer, "must be true or false") }
        return value.bool ?? false
    }

    /// One of a fixed set of words.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ value: JSONValue, _ pointer: String, default standard: Choice
    ) -> Choice {
        let choice = value.string.flatMap(Choice.init(rawValue:))
        if choice == nil { wrong(pointer, "must be " + Choice.words) }
        return choice ?? standard
    }

    /// Merges the pairs of a JSON object into existing pairs: `null` removes one, or all of them.
    /// - Parameters:
    ///   - max: the maximum number of pairs.
    ///   - name: the normalized form of a key; equal names mean the same key.
    mutating func merge(
        _ value: JSONValue, _ pointer: String, into pairs: inout [KeyValue], max: Int, name: (String) -> String
    ) {
        if value.isNull {
            pairs = []
            return
        }
        guard value.kind == .object else { return wrong(pointer, "must be an object of strings") }
        // Removals count, too. Each pair is compared with all others, which would take seconds for thousands.
        guard value.count <= 2 * max else { return wrong(pointer, "must have at most \(max) members") }
        // It stands for pairs that can't be read in the database.
        pairs.removeAll { $0.key.isEmpty }
        var given: Set<String> = []
        for (key, member) in value.members {
            let place = JSONPointer.child(pointer, key)
            guard given.insert(name(key)).inserted else {
                wrong(place, "is given twice: upper and lower case make no difference here")
                continue
            }
            pairs.removeAll { name($0.key) == name(key) }
            if member.isNull { continue }
            guard let text = member.string else {
                wrong(place, "must be a string")
                continue
            }
            pairs.append(KeyValue(key, text))
        }
    }
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// The valid values in a sentence.
    static var words: String { FieldReader.oneOf(allCases.map(\.rawValue)) }
}

extension FieldReader {
    /// For a body that must be an object with only these fields.
    init(_ document: JSONDocument, fields: [String]) {
        self.init(errors: document.errors(unlessObjectOf: fields), document: document)
    }

    /// The valid words in a sentence: `none, subject or strict`.
    static func oneOf(_ words: [String]) -> String {
        words.dropLast().joined(separator: ", ") + (words.count > 1 ? " or " : "") + (words.last ?? "")
    }

    mutating func place(_ value: JSONValue, _ pointer: String, words: String) -> PositionInput {
        let place = value.string.flatMap(PositionInput.init)
        if place == nil { wrong(pointer, "must be \(words)") }
        return place ?? .now
    }
}
