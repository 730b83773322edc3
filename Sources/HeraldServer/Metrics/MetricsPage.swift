/// Appends metrics in the text format.
struct MetricsPage {
    private(set) var text = ""

    mutating func counter(_ name: String, _ help: String, _ samples: [(labels: String, value: Double)]) {
        write(name, "counter", help, samples)
    }

    mutating func gauge(_ name: String, _ help: String, _ samples: [(labels: String, value: Double)]) {
        write(name, "gauge", help, samples)
    }

    mutating func histogram(
        _ name: String, _ help: String, _ bounds: [Double], _ parts: [(buckets: [Int], sum: Double)]
    ) {
        header(name, "histogram", help)
        var total = 0
        for bucket in 0...bounds.count {
            total += parts.reduce(0) { $0 + $1.buckets[bucket] }
            let bound = bucket < bounds.count ? "\(bounds[bucket])" : "+Inf"
            text += "\(name)_bucket{le=\"\(bound)\"} \(total)\n"
        }
        text += "\(name)_sum \(parts.reduce(0) { $0 + $1.sum })\n\(name)_count \(total)\n"
    }

    private mutating func write(
        _ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Double)]
    ) {
        header(name, type, help)
        for sample in samples {
            let value =
                sample.value.rounded() == sample.value && abs(sample.value) < 1e15
                ? String(Int64(sample.value)) : "\(sample.value)"
            text += "\(name)\(sample.labels) \(value)\n"
        }
    }

    private mutating func header(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }
}
