/// The body of a callback in `standard` format (Standard Webhooks: `type`, `timestamp`, `data`), with our `subject`.
enum StandardBody {
    static func encode<Data: Collection<UInt8>>(
        type: String, subject: String?, time: Int64, data: Data
    ) -> (body: [UInt8], dataRange: Range<Int>) {
        var body: [UInt8] = []
        body.append(contentsOf: data)
        return (body, 0..<body.count)
    }
}
