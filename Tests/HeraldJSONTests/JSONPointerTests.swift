import HeraldJSON
import Testing

@Suite("JSON pointers")
struct JSONPointerTests {
    @Test(
        "keys are escaped where necessary, and read back unchanged",
        arguments: [
            ("name", "/a/name"), ("", "/a/"), ("a/b", "/a/a~1b"), ("~", "/a/~0"), ("~1", "/a/~01"),
            ("ä/~0", "/a/ä~1~00"),
        ])
    func roundTrip(key: String, pointer: String) {
        #expect(JSONPointer.child("/a", key) == pointer)
        #expect(JSONPointer.key(pointer.dropFirst(3)) == key)
    }

    @Test("an invalid tilde escape is not a key", arguments: ["~", "a~", "~2", "~~0", "a~b"])
    func wrong(part: String) {
        #expect(JSONPointer.key(part[...]) == nil)
    }
}
