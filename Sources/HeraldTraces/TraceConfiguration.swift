package import HeraldModel

/// The settings of the export of traces.
package struct TraceConfiguration: Sendable {
    /// The URL that receives spans, such as `http://127.0.0.1:4318/v1/traces`.
    package var url: String
    /// Sent with each request.
    package var headers: [KeyValue] = []
    /// For one request.
    package var timeoutMilliseconds = 10_000
    /// A PEM file of certificate authorities to trust; `nil` for those of the system.
    package var certificateAuthorities: String?
    package var sampler: Sampler
    /// Describe this process.
    package var resource: [KeyValue] = []
    /// The version of Herald.
    package var version = ""
    /// The number of spans that may wait; others are dropped.
    package var maxWaiting = 16_384
    /// The number of spans in one request.
    package var batch = 512
    /// How long a span waits for others.
    package var delayMilliseconds: Int32 = 1000
    /// The pause after a failure, which doubles with each up to `maxPauseMilliseconds`.
    package var pauseMilliseconds: Int32 = 1000
    package var maxPauseMilliseconds: Int32 = 30_000
    /// For the spans that wait when the server stops.
    package var stopMilliseconds: Int32 = 5000

    package init(url: String, sampler: Sampler) {
        self.url = url
        self.sampler = sampler
    }
}
