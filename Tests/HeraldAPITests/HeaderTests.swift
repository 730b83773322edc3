import HeraldModel
import Testing

@testable import HeraldAPI

@Suite("Optional request headers")
struct HeaderTests {
    @Test(
        "traces that are accepted",
        arguments: [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-later",
        ])
    func traces(text: String) { #expect(TraceParent.isValid(text)) }

    @Test(
        "traces that are ignored",
        arguments: [
            "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-\u{e9}",
        ])
    func noTraces(text: String) { #expect(!TraceParent.isValid(text)) }

    @Test(
        "how long to wait",
        arguments: [
            ("wait=5", 5), ("Wait = 5", 5), ("respond-async, wait=10", 10), ("wait=\"7\"", 7), ("wait=100", 60),
            ("wait=5; foo=bar, wait=9", 5), ("wait=0", nil), ("wait=-1", nil), ("wait", nil), ("wait=soon", nil),
            ("return=minimal", nil), ("", nil),
        ] as [(String, Int?)])
    func wait(value: String, seconds: Int?) { #expect(Preference.wait(value) == seconds) }
}
