import HeraldCore

/// Appends metrics in the text format of Prometheus, 0.0.4.
struct MetricsPage {
    /// One sample of a metric. Labels need no escaping, because their values are constants.
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

    private(set) var text = ""

    mutating func counter(_ name: String, _ help: String, _ samples: Sample...) {
        write(name, "counter", help, samples)
    }

    mutating func counter(_ name: String, _ help: String, _ samples: [Sample]) { write(name, "counter", help, samples) }

    mutating func gauge(_ name: String, _ help: String, _ samples: Sample...) { write(name, "gauge", help, samples) }

    mutating func gauge(_ name: String, _ help: String, _ samples: [Sample]) { write(name, "gauge", help, samples) }

    mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram.Snapshot) {
        header(name, "histogram", help)
        var total = 0
        for (bound, count) in zip(histogram.bounds, histogram.buckets) {
            total += count
            text += "\(name)_bucket{le=\"\(Self.format(bound))\"} \(total)\n"
        }
        text += "\(name)_bucket{le=\"+Inf\"} \(histogram.count)\n"
        text += "\(name)_sum \(Self.format(histogram.sum))\n\(name)_count \(histogram.count)\n"
    }

    private mutating func write(_ name: String, _ type: String, _ help: String, _ samples: [Sample]) {
        header(name, type, help)
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
            text += "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(Self.format(sample.value))\n"
        }
    }

    private mutating func header(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private static func format(_ value: Double) -> String {
        value.rounded() == value && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }
}
