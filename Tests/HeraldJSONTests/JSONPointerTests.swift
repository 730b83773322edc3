import HeraldJSON
import Testing

@Suite("JSON pointers")
struct JSONPointerTests {
    @Test(
        "a key is escaped where it stands for itself, and comes back as it was",
        arguments: [
            ("name", "/a/name"), ("", "/a/"), ("a/b", "/a/a~1b"), ("~", "/a/~0"), ("~1", "/a/~01"),
            ("ä/~0", "/a/ä~1~00"),
        ])
    func roundTrip(key: String, pointer: String) {
        #expect(JSONPointer.child("/a", key) == pointer)
        #expect(JSONPointer.key(pointer.dropFirst(3)) == key)
    }

    @Test("a tilde that stands for nothing is no key", arguments: ["~", "a~", "~2", "~~0", "a~b"])
    func wrong(part: String) {
        #expect(JSONPointer.key(part[...]) == nil)
    }
}
