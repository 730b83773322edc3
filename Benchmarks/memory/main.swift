// The service without a disk: requests are parsed, checked, routed and answered as `herald serve` does it, and events are kept
// in memory. InMemoryBenchmark PORT, on 127.0.0.1; ended by SIGTERM. Benchmarks/run measures what publishing costs then.

import Glibc
import HTTPServer
import Herald
import HeraldServer

guard CommandLine.arguments.count == 2, let port = UInt16(CommandLine.arguments[1]) else {
    print("usage: InMemoryBenchmark PORT")
    exit(64)
}
let hub = try Hub(store: MemoryStore(), lost: { _ in exit(74) }, makeSender: { try MemorySender() })
var listening = HTTPServerConfiguration(host: "127.0.0.1", port: port)
listening.maxConnectionsPerAddress = 0
let server = try HTTPServer(listening, handler: HeraldService(hub: hub, configuration: HeraldService.Configuration()))
while true { pause() }
