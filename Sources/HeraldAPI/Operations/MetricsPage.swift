import HeraldModel
import HeraldRuntime

/// Appends metrics in one of the text formats of Prometheus.
struct MetricsPage {
    enum Format {
        /// Version 0.0.4.
        case prometheus
        /// OpenMetrics 1.0: histograms have exemplars, which name traces.
        case openMetrics

        /// - Parameter accept: the header of the request.
        init(accept: String?) {
            self = accept?.holds("application/openmetrics-text") == true ? .openMetrics : .prometheus
        }

        var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    /// One sample of a metric. Labels need no escaping, because their values are constants, and names and ids without quotes.
    struct Sample {
        let labels: [(name: String, value: String)]
        let value: Double

        init(_ labels: (String, String)..., value: some BinaryInteger) {
            self.labels = labels
            self.value = Double(value)
        }

        init(_ labels: (String, String)..., value: Double) {
            self.labels = labels
            self.value = value
        }
    }

    private let format: Format
    private(set) var text = ""

    init(_ format: Format = .prometheus) { self.format = format }

    /// The bytes of the complete page.
    var bytes: [UInt8] { Array((format == .openMetrics ? text + "# EOF\n" : text).utf8) }

    mutating func counter(_ name: String, _ help: String, _ samples: Sample...) {
        write(name, "counter", help, samples)
    }

    mutating func counter(_ name: String, _ help: String, _ samples: [Sample]) { write(name, "counter", help, samples) }

    mutating func gauge(_ name: String, _ help: String, _ samples: Sample...) { write(name, "gauge", help, samples) }

    mutating func gauge(_ name: String, _ help: String, _ samples: [Sample]) { write(name, "gauge", help, samples) }

    mutating func counter(_ name: String, _ help: String, _ value: some BinaryInteger) {
        counter(name, help, [Sample(value: value)])
    }

    mutating func gauge(_ name: String, _ help: String, _ value: some BinaryInteger) {
        gauge(name, help, [Sample(value: value)])
    }

    mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram.Snapshot) {
        header(name, "histogram", help)
        var total = 0
        for (bucket, count) in histogram.buckets.enumerated() {
            total += count
            let bound = bucket < histogram.bounds.count ? bound(histogram.bounds[bucket]) : "+Inf"
            text += "\(name)_bucket{le=\"\(bound)\"} \(total)\(example(bucket, histogram))\n"
        }
        text += "\(name)_sum \(Self.format(histogram.sum))\n\(name)_count \(histogram.count)\n"
    }

    /// OpenMetrics requires a decimal point.
    private func bound(_ value: Double) -> String { format == .openMetrics ? "\(value)" : Self.format(value) }

    private func example(_ bucket: Int, _ histogram: Histogram.Snapshot) -> String {
        guard format == .openMetrics, histogram.examples.indices.contains(bucket),
            let example = histogram.examples[bucket]
        else { return "" }
        let trace = example.trace
        return " # {trace_id=\"\(trace.traceID)\",span_id=\"\(trace.spanID)\"} \(Self.format(example.value))"
    }

    private mutating func write(_ name: String, _ type: String, _ help: String, _ samples: [Sample]) {
        header(name, type, help)
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
            text += "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(Self.format(sample.value))\n"
        }
    }

    private mutating func header(_ name: String, _ type: String, _ help: String) {
        // In OpenMetrics the name of a counter has no suffix; its sample has.
        let family = format == .openMetrics && type == "counter" ? String(name.dropLast("_total".count)) : name
        text += "# HELP \(family) \(help)\n# TYPE \(family) \(type)\n"
    }

    private static func format(_ value: Double) -> String {
        value.rounded() == value && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }
}
