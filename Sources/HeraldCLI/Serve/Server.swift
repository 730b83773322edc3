import Delegation
import Glibc
import HeraldAPI
import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldPostgres
import HeraldRuntime
import HeraldSQLite
import HeraldTraces
import HeraldWebhooks

/// Connects all parts, runs until a signal, and stops the parts in the right order.
struct Server {
    private var settings: Settings
    private let log: Log
    private let descriptors: DescriptorLimit
    private let memory: MemoryPlan
    private let http: HTTPServer
    private let hub: Hub
    private let service: HeraldService
    private let resolver: Resolver
    private let loopback: LoopbackRule
    private let delegateLog: DelegateLog
    private let traces: Traces?
    private let backups: BackupSchedule?
    private let storageLog: StorageLog
    private let nodeLog: NodeLog
    private let certificateLog: CertificateLog
    /// Where the events are, for the log.
    private let place: String
    private let newestPrimary: @Sendable () -> Primary?
    private let risks: [DatabaseRisk]
    /// The admin key, if it was created at this start.
    private let bootstrapKey: BootstrapKey?

    /// - Returns: the exit code.
    static func run(_ settings: Settings) throws(CommandError) -> Int32 {
        // Before any thread exists, so that all threads block the signals.
        let signals = Signals(reloads: true)
        Allocator.giveBackWhenIdle()
        let memory = try MemoryPlan(settings)
        let log: Log
        do throws(SystemError) {
            log = try Log(format: settings.logFormat, level: settings.logLevel)
        } catch {
            throw CommandError("The log can't be opened: \(error)", exitCode: ExitCode.software)
        }
        defer { log.end() }
        let manager = ServiceManager(log)
        do {
            var server = try Server(settings, memory, log, signals, manager)
            let watchdog: Watchdog
            do {
                server.announce()
                manager.isReady("Listening on \(server.url)")
                watchdog = try Watchdog(manager, server.http.pulses + server.hub.pulses, log)
            } catch {
                server.stop(graceSeconds: 0)
                throw error
            }
            let signal = signals.waitForStop { server.reload() }
            let loss = server.storageLog.end()
            watchdog.stop()
            if case .memory = loss { manager.isRestarting() } else { manager.isStopping() }
            if loss == nil { log.info("stopping", ["signal": signal]) }
            // Without it, the stop in order is the only one.
            _ = try? Thread(name: "impatience") {
                log.warning("stopped at once by a second signal", ["signal": signals.waitForStop()])
                log.end()
                _exit(1)
            }
            // Without its store, what callbacks in flight come to can't be recorded.
            server.stop(graceSeconds: loss == nil ? settings.graceSeconds : 0)
            log.info("stopped")
            if case .memory = loss {
                log.end()
                Restart.perform(newestPrimary: server.newestPrimary(), settings.logFormat)
            }
            return loss == nil ? 0 : ExitCode.inputOutput
        } catch {
            let problem = CommandError(explaining: error)
            log.error("not started", ["reason": problem.description])
            return problem.exitCode
        }
    }

    private init(
        _ settings: Settings, _ memory: MemoryPlan, _ log: Log, _ signals: Signals, _ manager: ServiceManager
    ) throws {
        self.settings = settings
        self.log = log
        self.memory = memory
        var configuration = Self.hubConfiguration(settings, memory)
        descriptors = DescriptorLimit(
            granted: DescriptorLimit.raise(), threads: settings.threads, deliveryLoops: configuration.deliveryLoops)
        let startup = StartupHandler(origins: OriginRules(settings.corsOrigins), hasRun: Restart.hasHappened)
        var listening = Self.httpConfiguration(settings, descriptors, memory, log)
        listening.certificate = try settings.tls?.load()
        http = try HTTPServer(listening, handler: startup)
        Self.logUnwatchedSockets(log)
        do {
            traces = try settings.traces.configuration(version: heraldVersion).map { configuration in
                var configuration = configuration
                configuration.maxWaiting = memory.spans
                return try Traces(configuration) { log.report($0) }
            }
            configuration.tracer = traces
            resolver = Resolver()
            loopback = LoopbackRule(settings)
            let guardian = Self.addressGuard(
                settings, port: http.port, allowsLoopback: { [loopback] in loopback.allowsCallbacks })
            var sending = CurlSender.Configuration(version: heraldVersion, addressGuard: guardian)
            sending.capacity = min(descriptors.callbacks, memory.callbacks)
            sending.maxConnections = sending.capacity * 2
            sending.maxRecipeBytes = memory.recipeBodies
            sending.source = settings.source
            sending.origin = settings.origin
            sending.proxies = ProxyRules(settings.callbackProxy, overrides: settings.callbackProxyOverrides)
            sending.certificateAuthorities = settings.certificateAuthorities
            sending.reportLack = { log.reportLack($0) }
            let store: any EventStore
            (store, place, newestPrimary) = try Self.open(settings, memory, log, signals, manager)
            risks = (store as? PostgresStore)?.risks ?? []
            hub = try Hub(
                store: store, configuration: configuration,
                onDurabilityLost: { error in
                    log.error("stopped: the state of the data on disk is unknown", ["reason": error.description])
                    log.end()
                    // `_exit` and not `exit`, which would unload libraries while other threads run.
                    _exit(ExitCode.inputOutput)
                },
                keysRecovered: { [loopback] in loopback.begin($0) },
                makeSender: { [resolver] in try CurlSender(sending, resolver: resolver) })
            delegateLog = DelegateLog(log, clock: hub.clock.wall)
            let isFolder = settings.store == nil
            hub.damagedEvents.observe { position in
                log.write(.error, "event damaged: it is not served or sent any more") {
                    [
                        "position": String(position),
                        "to_do": isFolder
                            ? "run `herald check`: it counts all damaged events" : "restore a backup of the database",
                    ]
                }
            }
            hub.damagedRows.observe { found in
                log.write(.error, "rows that cannot be read are left out or replaced") {
                    [
                        "table": found.table, "rows": String(found.count), "first": found.row, "reason": found.reason,
                        "to_do": "run `herald doctor`: it names the delegates to set again, and the tables",
                    ]
                }
            }
            hub.committed.refused.observe { event in
                log.write(.warning, "committed event refused: GET /v1/events?state=refused has it") {
                    ["id": event.submission.id, "type": event.submission.type, "reason": event.reason]
                }
            }
            hub.addDelegate(delegateLog, description: "Log of the server: changes of delegates")
            hub.committed.registry.delegates.addDelegate(delegateLog)
            delegateLog.started(hub.committed.registry)
            storageLog = StorageLog(log, place: place)
            hub.storage.observers.addDelegate(storageLog)
            nodeLog = NodeLog(log, place: place)
            hub.nodeMonitor.observers.addDelegate(nodeLog)
            certificateLog = CertificateLog(http, hub, log)
            certificateLog.start()
            backups = BackupSchedule(settings.backups, data: settings.data, hub: hub, log: log)
            var serving = HeraldService.Configuration()
            serving.operatorKey = settings.adminKey
            serving.requestsPerSecond = settings.requestsPerSecond
            serving.version = heraldVersion
            serving.maxBodyBytes = settings.maxBody
            serving.maxWaitingBytes = memory.waitingBodies
            serving.maxReceiverWaits = max(1, listening.maxConnections / (2 * listening.loops))
            serving.maxSchemas = memory.schemas
            serving.isTLS = settings.tls != nil
            if let publicURL = settings.publicURL { serving.publicURL = publicURL }
            serving.servesSvix = settings.servesSvix
            serving.corsOrigins = settings.corsOrigins
            serving.reportWrongKeys = { report in
                log.write(.warning, "wrong access keys") {
                    ["address": report.address?.description ?? "several addresses", "keys": String(report.count)]
                }
            }
            serving.httpStatistics = { [http] in http.statistics }
            service = try HeraldService(hub: hub, configuration: serving)
            // Last: an error of the start after it would hide the text of the key, and lock all out.
            bootstrapKey =
                settings.needsKey && settings.adminKey == nil && hub.committed.keys.isEmpty
                ? try BootstrapKey(
                    hub, folder: settings.store == nil ? settings.data : nil, isOnTerminal: isatty(STDERR_FILENO) == 1)
                : nil
            // A backup under way would keep the hub from its end after an error of the start.
            backups?.start()
            startup.open(service)
        } catch {
            http.stop()
            throw error
        }
    }

    /// "listening" is the last line, so that programs that wait for it have all warnings.
    private func announce() {
        if descriptors.isFew {
            log.warning(
                "few file descriptors: clients wait and deliveries take turns beyond these numbers",
                [
                    "granted": String(descriptors.granted), "connections": String(descriptors.connections),
                    "streams": String(descriptors.streams), "callbacks": String(descriptors.callbacks),
                    "to_do": DescriptorLimit.advice,
                ])
        }
        if !settings.unknownVariables.isEmpty {
            let all = Option.all.map(\.variable)
            let texts = settings.unknownVariables.map { variable in
                variable + (Suggestion.nearest(variable, all).map { " (did you mean \($0)?)" } ?? "")
            }
            log.warning("variables that are no settings are ignored", ["variables": texts.joined(separator: ", ")])
        }
        log.report(LibraryFault.found(in: Library.all))
        log.write(memory.isScarce ? .info : .debug, "memory is divided") { memory.parts }
        for risk in risks {
            log.warning(
                "the database is open to others", ["data": place, "risk": risk.text, "to_do": risk.advice])
        }
        if hub.committed.kept.total > hub.committed.kept.limit {
            log.warning(
                "delegates, keys and event types take more than their share of the memory: new ones are refused",
                [
                    "taken": "\(hub.committed.kept.total >> 10)KiB", "share": "\(hub.committed.kept.limit >> 10)KiB",
                    "to_do": "give the server more memory with --memory",
                ])
        }
        if let bootstrapKey {
            // At any log level, because the key is shown only once.
            log.insist(.warning, "created an admin key, because other machines can reach this address") {
                ["file": bootstrapKey.file, "then": bootstrapKey.file.map { _ in "delete the file" }]
            }
            if let text = bootstrapKey.text { Output.message("\n    The admin key, shown only once: \(text)\n\n") }
        }
        if isOpen && !settings.listen.isLoopback {
            log.warning(
                "no access key is required: every client that reaches this address has full access",
                ["listen": settings.listen.description])
        }
        log.info(
            "listening",
            [
                "address": url,
                "data": place,
                "memory": Option.describe(size: Int64(memory.total)),
                "events": String(hub.head),
                "webhooks": String(hub.committed.registry.count),
                "loopback_callbacks": loopback.allowsCallbacks ? "allowed until there is a key" : "refused",
                "private_callbacks": settings.allowNetworks.isEmpty
                    ? "refused" : settings.allowNetworks.map(\.description).joined(separator: ","),
                "retention": Option.describe(duration: settings.retention.events),
                "retention_attempts": Option.describe(duration: settings.retention.attempts),
                "retention_size": Option.describe(size: settings.retention.bytes),
                "retention_attempts_size": Option.describe(size: settings.retention.attemptBytes),
                "traces": traces == nil ? "none" : "exported",
                "secrets": settings.masterKey == nil ? "not encrypted" : "encrypted",
                "access": isOpen ? "no key required" : "key required",
                "version": heraldVersion,
            ])
        // A log in JSON is for programs, on a terminal, too.
        if isatty(STDERR_FILENO) == 1, settings.logFormat == .human {
            let welcome = Welcome(settings, port: http.port, shown: bootstrapKey?.text, needsKey: !isOpen)
            Output.message(welcome.text(isPublic: !settings.listen.isLoopback))
        }
    }

    private var url: String {
        (settings.tls == nil ? "http://" : "https://")
            + Endpoint(host: settings.listen.host, port: http.port).description
    }

    private var isOpen: Bool { settings.adminKey == nil && hub.committed.keys.isEmpty }

    /// After SIGHUP: reads the file of settings and the certificate again. Invalid ones change nothing.
    private mutating func reload() {
        if settings.file == nil, settings.tls == nil {
            return log.info("SIGHUP ignored: there is no file of settings and no certificate to reload")
        }
        if settings.file != nil { reloadSettings() }
        guard let tls = settings.tls else { return }
        do throws(TLSFilesError) {
            let certificate = try tls.load()
            http.replaceCertificate(certificate)
            log.info(
                "certificate reloaded; new connections use it",
                ["until": Timestamp(milliseconds: certificate.expiration * 1000).description])
            certificateLog.check()
        } catch {
            log.error("certificate not reloaded; the previous one stays in use", ["reason": error.description])
        }
    }

    /// Takes what can change while the server runs, and names what else has changed.
    private mutating func reloadSettings() {
        let new: Settings
        do throws(SettingsError) {
            new = try settings.readAgain()
        } catch {
            return log.error("settings not reloaded; the previous ones stay in use", ["reason": error.description])
        }
        var changed = Set(Option.all.map(\.name).filter { new.given[$0]?.text != settings.given[$0]?.text })
        log.set(new.logLevel)
        changed.remove("log-level")
        if (new.tls == nil) == (settings.tls == nil) {
            (settings.tlsCertificate, settings.tlsKey) = (new.tlsCertificate, new.tlsKey)
            changed.subtract(["tls-certificate", "tls-key"])
        }
        settings.allowedHosts = new.allowedHosts
        settings.connectionsPerAddress = new.connectionsPerAddress
        settings.corsOrigins = new.corsOrigins
        http.change(allowedHosts: settings.servedHosts, maxConnectionsPerAddress: settings.addressLimit)
        service.allow(origins: settings.corsOrigins)
        changed.subtract(["allowed-hosts", "connections-per-address", "cors-origins"])
        if changed.isEmpty { return log.info("settings reloaded") }
        log.warning(
            "settings reloaded; some that have changed need a restart",
            ["settings": changed.sorted().map { "--\($0)" }.joined(separator: " ")])
    }

    /// The order matters: see "Stopping" in Documentation/reliability.md.
    private func stop(graceSeconds: Int) {
        backups?.stop()
        hub.refusePublications()
        http.stopAccepting()
        service.stop()
        do throws(HubWaitError) {
            try hub.drain()
        } catch {
            log.warning("stopped before the last commit was confirmed", ["reason": error.description])
        }
        // Their publishers would repeat what is committed.
        hub.endWatches()
        sendFinalResponses()
        http.stop()
        hub.stop(grace: Int64(graceSeconds) * 1_000_000_000)
        traces?.stop()
        resolver.close()
    }

    /// Clients with open connections get a last response, a 503 with `Connection: close`.
    private func sendFinalResponses() {
        let deadline = Clock.system.monotonic() + 250_000_000
        while http.statistics.openConnections > 0 && Clock.system.monotonic() < deadline {
            poll(nil, 0, 5)
        }
    }

    // MARK: Configurations of the parts

    /// The store, its name in messages, and the newest server that it has written to.
    private static func open(
        _ settings: Settings, _ memory: MemoryPlan, _ log: Log, _ signals: Signals, _ manager: ServiceManager
    ) throws(StoreError) -> (any EventStore, String, @Sendable () -> Primary?) {
        let sealer = settings.masterKey.map(Sealer.init)
        guard let url = settings.store else {
            let store = try SQLiteStore(folder: settings.data, sealer: sealer, caches: memory.caches)
            return (store, settings.data, { nil })
        }
        var isWaiting = false
        while true {
            do throws(StoreError) {
                let store = try PostgresStore(url: url, sealer: sealer, newest: Restart.newestPrimary)
                return (store, store.label, { store.newestPrimary })
            } catch {
                // A server that runs waits for its database, whatever it has forgotten.
                guard case .unavailable = error, Restart.hasHappened else { throw error }
                if !isWaiting {
                    log.warning("waiting for the database", ["reason": error.description])
                }
                isWaiting = true
                manager.isAlive()
                if signals.stop(withinMilliseconds: 500) {
                    log.info("stopped")
                    log.end()
                    _exit(0)
                }
            }
        }
    }

    private static func httpConfiguration(
        _ settings: Settings, _ descriptors: DescriptorLimit, _ memory: MemoryPlan, _ log: Log
    ) -> HTTPServerConfiguration {
        var http = HTTPServerConfiguration(
            host: settings.listen.host, port: settings.listen.port, maxBodyBytes: settings.maxBody)
        http.loops = settings.threads > 8 ? 2 : 1
        http.maxPartialBytes = memory.partialBodies
        http.maxConnections = min(descriptors.connections, memory.connections)
        http.maxStreams = min(descriptors.streams, memory.streams)
        // A year. Not for loopback: it would apply to all other servers with the name `localhost`.
        if !settings.listen.isLoopback { http.strictTransportSeconds = 31_536_000 }
        let proxies = TrustedProxies(
            settings.trustedProxies.compactMap { .init($0.base.bytes, prefixLength: $0.prefixLength) })
        http.trustedProxies = proxies
        http.readsProxyHeaders = settings.proxyProtocol
        http.maxConnectionsPerAddress = settings.addressLimit
        http.allowedHosts = settings.servedHosts
        http.reportRefusals = { report in
            log.write(.warning, "connections refused: their address has too many") {
                [
                    "address": report.address.description, "refused": String(report.count),
                    "limit": report.limit == 0 ? "unlimited" : String(report.limit),
                    "to_do": proxies.contains(report.address)
                        ? "let the proxy set X-Forwarded-For or Forwarded: it named no client"
                        : "if it is a proxy, name it in --trusted-proxies, or raise --connections-per-address",
                ]
            }
        }
        return http
    }

    private static func hubConfiguration(_ settings: Settings, _ memory: MemoryPlan) -> Hub.Configuration {
        var hub = Hub.Configuration()
        hub.deliveryLoops = settings.deliveryLoops
        hub.maxWaitingBytes = memory.waitingEvents
        hub.memory.maxRecentBytes = memory.recentEvents
        hub.memory.maxRecentEvents = min(hub.memory.maxRecentEvents, memory.recentEvents / 2048)
        hub.maxListBytes = memory.list
        hub.maxAwaitedBytes = memory.awaited
        hub.memory.maxKeptBytes = memory.keptObjects
        hub.memory.maxValueBytes = memory.values
        hub.loop = memory.ofLoop
        hub.retention = settings.retention
        return hub
    }

    /// The first of each hundred, because many sockets may fail for the same reason.
    private static func logUnwatchedSockets(_ log: Log) {
        EpollFailures.observe { error, count in
            guard count % 100 == 1 else { return }
            log.write(.error, "a socket cannot be watched: it is served late") {
                ["reason": error.description, "count": String(count)]
            }
        }
    }
}
