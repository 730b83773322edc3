import HeraldTraces

extension Log {
    func report(_ change: Traces.Change) {
        switch change {
        case .failing(let reason):
            warning(
                "traces not exported: the spans wait, and are dropped when too many wait",
                [
                    "reason": reason,
                    "to_do": "check the collector, and OTEL_EXPORTER_OTLP_ENDPOINT or "
                        + "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                ])
        case .refused(let spans, let reason):
            warning("spans dropped: the collector has refused them", ["spans": String(spans), "reason": reason])
        case .working(let dropped): info("traces exported again", ["dropped": String(dropped)])
        case .tooMany(let dropped):
            warning(
                "spans dropped: more end than the collector receives",
                ["spans": String(dropped), "to_do": "record fewer traces with OTEL_TRACES_SAMPLER"])
        }
    }
}
