import Delegation
import Glibc
public import HeraldCore
import HeraldCrypto
public import HeraldModel
import HeraldRuntime
import HeraldSQLite
package import HeraldWebhooks

extension Hub {
    /// Options for opening a hub. The defaults suit an app with some hundreds of webhooks.
    public struct Options: Sendable {
        /// Threads that call webhooks, 1 to 64.
        public var deliveryThreads = 1
        /// Threads that read the database, 1 to 64.
        public var readerThreads = 2
        /// How long events stay in the log, at least a minute; `nil` for no limit.
        public var eventRetention: Duration? = Retention().events.map { .milliseconds($0) }
        /// How long records of webhook attempts are kept, at least a minute; `nil` for no limit.
        public var attemptRetention: Duration? = Retention().attempts.map { .milliseconds($0) }
        /// The maximum size on disk of everything but attempts, in bytes, beyond which the oldest events are removed, those
        /// that all webhooks have got first; `nil` for no limit.
        public var maxDiskBytes: Int64?
        /// The maximum size on disk of the records of attempts, in bytes, beyond which the oldest are removed; `nil` for
        /// no limit.
        public var maxAttemptBytes: Int64?
        /// Whether webhooks on this machine (127.0.0.0/8 and ::1) may be called.
        public var allowsLoopback = false
        /// Private networks that webhooks may be in, such as `10.0.0.0/8` or `10.0.0.5/32:8080`. Without them Herald
        /// calls public addresses only.
        public var allowedNetworks: [String] = []
        /// Networks that are never called, in the same form.
        public var deniedNetworks: [String] = []
        /// How many bytes events may take that are published together, 1,024 to 16,777,216: like `--max-body` of the server.
        public var maxPublicationBytes = PublicationLimits.defaultBytes
        /// The attribute `source` of events in a CloudEvents format: a URI reference of 1 to 256 printable characters.
        public var source = CurlSender.Configuration.defaultSource
        /// A PEM file of CA certificates to trust in place of the system's. It must be readable when the hub is opened.
        public var certificateAuthorities: String?
        /// The key that encrypts secrets in the database: 32 bytes in base64. When it is set for the first time,
        /// existing secrets are encrypted; from then on the database opens only with it. `nil` stores secrets
        /// unencrypted.
        public var masterKey: String?
        /// Called with reports for the operator: changes of webhooks, deliveries that were given up or wait for descriptors,
        /// scheduled events that are not published, failures of the storage. On the thread that writes, and on others of the
        /// hub at the same time: it must return soon and never wait.
        public var onLog: (@Sendable (LogEntry) -> Void)?

        /// The defaults.
        public init() {}
    }

    /// Opens the database in a folder, creates both if they do not exist, and starts the threads that call webhooks.
    ///
    /// Returns after recovery of the folder, usually after some milliseconds.
    ///
    /// - Parameters:
    ///   - folder: the path of a folder on a local disk, whose parent exists. Only one hub can have it open.
    ///   - options: threads, limits, and the addresses that may be called.
    ///   - onDurabilityLost: called at most once, on the writer's thread, when flushing to the disk failed. The state
    ///     of the data on disk is then unknown: events that were reported as published may be lost. The process has to
    ///     end and open the folder again. By default, Herald writes the error to standard error and ends it at once with
    ///     status 74 (`EX_IOERR`), without `atexit` handlers. Your own closure has to end it too: it must not return to
    ///     normal work, and no publication succeeds any more.
    /// - Throws: `HubError.store` if the folder can't be used, with `StoreError.inUse` if another hub or process has it
    ///   open; `HubError.invalid` if an option is invalid.
    public static func open(
        folder: String, options: Options = Options(), onDurabilityLost: (@Sendable (StoreError) -> Void)? = nil
    ) async throws(HubError) -> Hub {
        let result = await onThread("hub-open") {
            Result { () throws(HubError) in
                try hubErrors { try openAndWait(folder: folder, options: options, onDurabilityLost) }
            }
        }
        return try result.get()
    }

    private static func openAndWait(
        folder: String, options: Options, _ onDurabilityLost: (@Sendable (StoreError) -> Void)?
    ) throws -> Hub {
        var sending = try options.sending()
        let sealer = try options.sealer()
        let configuration = try options.configuration()
        sending.capacity = callbacks(ofEach: options.deliveryThreads)
        sending.maxConnections = min(sending.maxConnections, sending.capacity * 2)
        let resolver = Resolver()
        do {
            let hub = try Hub(
                store: SQLiteStore(folder: folder, sealer: sealer), configuration: configuration,
                onDurabilityLost: onDurabilityLost ?? { Hub.endProcess($0) },
                makeSender: { try CurlSender(sending, resolver: resolver) })
            // After the senders that use it.
            hub.whenStopped { resolver.close() }
            options.log(hub)
            return hub
        } catch {
            resolver.close()
            throw error
        }
    }

    /// How many callbacks may be open on each thread. Each may leave an idle connection behind, and two thirds of the file
    /// descriptors are for the app.
    private static func callbacks(ofEach threads: Int) -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 2 }
        return min(4096, max(2, Int(min(limit.rlim_cur, 1 << 20)) / 6 / threads))
    }

    /// Ends the process when durability is lost.
    /// - Parameter error: the error that the disk reported.
    private static func endProcess(_ error: StoreError) {
        let text = "Herald ends the process, because the state of the data on disk is unknown. \(error)\n"
        _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
        _exit(74)
    }
}

extension Hub.Options {
    fileprivate func configuration() throws(HubError) -> Hub.Configuration {
        var errors: [FieldError] = []
        var configuration = Hub.Configuration()
        for (name, count) in [("deliveryThreads", deliveryThreads), ("readerThreads", readerThreads)]
        where !(1...64).contains(count) {
            errors.append(FieldError("/\(name)", "must be 1 to 64"))
        }
        for (name, period) in [("eventRetention", eventRetention), ("attemptRetention", attemptRetention)] {
            if let period, period < .seconds(60) { errors.append(FieldError("/\(name)", "must be at least a minute")) }
        }
        for (name, bytes) in [("maxDiskBytes", maxDiskBytes), ("maxAttemptBytes", maxAttemptBytes)] {
            if let bytes, bytes <= 0 { errors.append(FieldError("/\(name)", "must be positive")) }
        }
        let byteRange = PublicationLimits.byteRange
        if !byteRange.contains(maxPublicationBytes) {
            errors.append(
                FieldError("/maxPublicationBytes", "must be \(byteRange.lowerBound) to \(byteRange.upperBound)"))
        }
        if !CurlSender.Configuration.isSource(source) {
            errors.append(FieldError("/source", "must be a URI of 1 to 256 printable characters"))
        }
        if let certificateAuthorities, access(certificateAuthorities, R_OK) != 0 {
            errors.append(FieldError("/certificateAuthorities", "must be a file that can be read"))
        }
        guard errors.isEmpty else { throw .invalid(errors) }
        configuration.publicationLimits.maxBytes = maxPublicationBytes
        configuration.deliveryLoops = deliveryThreads
        configuration.readers = readerThreads
        configuration.retention.events = eventRetention.map { $0.nanoseconds / 1_000_000 }
        configuration.retention.attempts = attemptRetention.map { $0.nanoseconds / 1_000_000 }
        configuration.retention.bytes = maxDiskBytes
        configuration.retention.attemptBytes = maxAttemptBytes
        return configuration
    }

    /// Passes the reports of a hub to `onLog`.
    package func log(_ hub: Hub) {
        if let onLog { hub.stopObservers.addDelegate(HubLog(hub, onLog), holding: .strong) }
    }

    /// The options of the senders.
    package func sending() throws(HubError) -> CurlSender.Configuration {
        var sending = CurlSender.Configuration(version: heraldVersion, addressGuard: try addressGuard())
        sending.source = source
        sending.certificateAuthorities = certificateAuthorities
        if let onLog {
            sending.reportLack = { reason in
                onLog(LogEntry(.error, "deliveries wait: this machine lacks descriptors or memory", ["reason": reason]))
            }
        }
        return sending
    }

    fileprivate func addressGuard() throws(HubError) -> AddressGuard {
        var errors: [FieldError] = []
        func rules(_ texts: [String], _ name: String) -> [NetworkRule] {
            texts.enumerated().compactMap { index, text in
                do throws(NetworkRuleError) {
                    return try NetworkRule(parsing: text)
                } catch {
                    errors.append(FieldError("/\(name)/\(index)", error.description))
                    return nil
                }
            }
        }
        let allow = rules(allowedNetworks, "allowedNetworks")
        let deny = rules(deniedNetworks, "deniedNetworks")
        guard errors.isEmpty else { throw .invalid(errors) }
        let loopback = allowsLoopback
        return AddressGuard(allow: allow, deny: deny, allowLoopback: loopback, setting: "allowedNetworks")
    }

    fileprivate func sealer() throws(HubError) -> Sealer? {
        guard let masterKey else { return nil }
        do throws(MasterKeyError) {
            return Sealer(try MasterKey(text: masterKey))
        } catch {
            throw .invalid([FieldError("/masterKey", "\(error)")])
        }
    }
}
