/// A text as a key that is compared by its bytes, as the store compares texts. (Swift compares strings by canonical
/// equivalence: two texts of the store can be one key then.)
struct ExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (one: ExactText, other: ExactText) -> Bool {
        one.text.utf8.count == other.text.utf8.count && one.text.utf8.elementsEqual(other.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
