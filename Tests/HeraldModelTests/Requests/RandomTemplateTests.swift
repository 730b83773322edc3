import Glibc
import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Random templates", .timeLimit(.minutes(60)))
struct RandomTemplateTests {
    /// How many: `HERALD_TEMPLATES=1000000` for all that were promised.
    private static let count = getenv("HERALD_TEMPLATES").flatMap { Int(String(cString: $0)) } ?? 6_000

    @Test("make JSON that the strict parser accepts, and the same twice, or fail with a pointer into the template")
    func valid() throws {
        var made = 0
        var failed = 0
        for seed in 0..<UInt64(Self.count / 4) {
            var source = RandomTemplates(seed: seed)
            let text = source.template()
            let document = try JSONDocument(parsing: text)
            let template: Template
            do throws(FieldErrors) {
                template = try Template(document.root, at: "/body")
            } catch {
                #expect(!error.errors.isEmpty && error.errors.allSatisfy { $0.pointer.hasPrefix("/body") }, "\(text)")
                continue
            }
            for _ in 0..<4 {
                let data = source.event()
                let event = Event("order.paid", id: "evt_\(seed)", subject: seed % 3 == 0 ? nil : "order:1", data: data)
                do throws(FieldError) {
                    let bytes = try rendered(template, event)
                    let again = try rendered(template, event)
                    made += 1
                    let isJSON = (try? JSONDocument(parsing: bytes, limits: Self.limits)) != nil
                    if !isJSON || bytes != again || bytes.count > TemplateLimits.outputBytes {
                        Issue.record("\(text)\n\(data)\n\(String(decoding: bytes, as: UTF8.self))")
                    }
                } catch {
                    failed += 1
                    if !error.pointer.hasPrefix("/body") { Issue.record("\(error) \(text)") }
                }
            }
        }
        // Most work, and some do not, or there would be nothing to see.
        #expect(made > Self.count / 2 && failed > 0, "\(made) made, \(failed) failed")
    }

    /// The depth is that of a template and of the data in it.
    private static let limits = JSONLimits(depth: 80, values: .max, keyBytes: .max)

    private func rendered(_ template: Template, _ event: Event) throws(FieldError) -> [UInt8] {
        var budget = WorkBudget(steps: TemplateLimits.steps)
        let roots = TemplateRoots(
            EventView(event), delegate: "dlg_1", metadata: [KeyValue("team", "a \"b\"")])
        return try template.render(roots, &budget)
    }
}
