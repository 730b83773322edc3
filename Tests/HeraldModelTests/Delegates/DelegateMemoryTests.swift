import HeraldModel
import Testing

@Suite struct DelegateMemoryTests {
    @Test("the state of a delegate is small, since there may be 100,000 of them")
    func size() {
        // With the rest the object takes 320 bytes, a size of which the allocator wastes nothing; the next one is 384.
        #expect(MemoryLayout<WebhookDelegate.State>.size <= 224)
    }

    @Test("TLS settings are kept, and removed when they are unset")
    func tls() {
        var settings = WebhookSettings(url: "https://example.com")
        #expect(settings.tls.isEmpty)
        let plain = settings
        settings.tls.pin = "pin"
        #expect(settings.tls == TLSSettings(pin: "pin"))
        #expect(settings != plain)
        settings.tls.pin = nil
        #expect(settings == plain)
    }
}
