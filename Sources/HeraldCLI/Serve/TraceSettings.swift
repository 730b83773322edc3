import Glibc
import HeraldModel
import HeraldRuntime
import HeraldTraces

/// The export of traces, as the variables of OpenTelemetry describe it.
struct TraceSettings {
    /// The variables of all exports, or those of traces.
    struct Export {
        var headers: [KeyValue]?
        var timeoutMilliseconds: Int?
        var certificateAuthorities: String?
    }

    /// With the path of traces.
    var endpoint: String?
    var tracesEndpoint: String?
    var all = Export()
    var own = Export()
    var hasExporter = true
    var sampler = "parentbased_always_on"
    var ratio = 1.0
    var serviceName: String?
    var attributes: [KeyValue] = []
    var isDisabled = false

    /// - Returns: `nil` if nothing is exported.
    func configuration(version: String) -> TraceConfiguration? {
        guard let url = tracesEndpoint ?? endpoint, hasExporter, !isDisabled,
            let sampler = Sampler(sampler, ratio: ratio)
        else { return nil }
        var configuration = TraceConfiguration(url: url, sampler: sampler)
        configuration.headers = own.headers ?? all.headers ?? []
        configuration.timeoutMilliseconds =
            own.timeoutMilliseconds ?? all.timeoutMilliseconds ?? configuration.timeoutMilliseconds
        configuration.certificateAuthorities = own.certificateAuthorities ?? all.certificateAuthorities
        configuration.resource = resource(version)
        configuration.version = version
        return configuration
    }

    /// The attributes of the process, those that were given last.
    private func resource(_ version: String) -> [KeyValue] {
        let host = ProcessName.host
        var attributes = [
            KeyValue("service.name", "herald"), KeyValue("service.version", version),
            KeyValue("service.instance.id", "\(host):\(getpid())"), KeyValue("host.name", host),
            KeyValue("telemetry.sdk.name", "herald"), KeyValue("telemetry.sdk.language", "swift"),
            KeyValue("telemetry.sdk.version", version),
        ]
        for given in self.attributes + (serviceName.map { [KeyValue("service.name", $0)] } ?? []) {
            attributes.removeAll { $0.key == given.key }
            attributes.append(given)
        }
        return attributes
    }
}
