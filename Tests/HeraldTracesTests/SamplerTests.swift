import HeraldModel
import Testing

@testable import HeraldTraces

@Suite("Samplers")
struct SamplerTests {
    private func samples(_ name: String, _ ratio: Double, parent: Bool? = nil, low: UInt64 = .max / 2) -> Bool? {
        let parent = parent.map { TraceContext(trace: (1, low), span: 2, isSampled: $0) }
        return Sampler(name, ratio: ratio)?.samples(parent, trace: low)
    }

    @Test("those that follow the parent decide only about the first span of a trace")
    func parents() {
        for name in ["parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"] {
            #expect(samples(name, 0.5, parent: true) == true && samples(name, 0.5, parent: false) == false)
        }
        #expect(samples("parentbased_always_on", 0) == true && samples("parentbased_always_off", 1) == false)
        #expect(samples("always_on", 0, parent: false) == true && samples("always_off", 1, parent: true) == false)
        #expect(samples("jaeger_remote", 1) == nil)
    }

    @Test("a ratio decides by the trace id, so that all programs record the same traces")
    func ratio() {
        #expect(samples("traceidratio", 0.25, low: .max / 5) == true)
        #expect(samples("traceidratio", 0.25, low: .max / 3) == false)
        #expect(samples("traceidratio", 0, low: 0) == false && samples("traceidratio", 1, low: .max) == true)
    }
}
