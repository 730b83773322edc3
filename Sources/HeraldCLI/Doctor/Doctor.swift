import Glibc
import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// The checks of `herald doctor`, in the order in which a server needs their subjects.
struct Doctor {
    let settings: Settings
    private(set) var report = Report()
    /// The keys in the database; `nil` if they could not be read.
    var keys: [APIKey]?

    init(_ settings: Settings) { self.settings = settings }

    /// - Parameter url: the URL of a delegate, to be checked as well.
    mutating func run(url: String?) {
        checkSettings()
        let holder = checkStore()
        checkPort(isRunning: holder != nil)
        checkDescriptors()
        checkMemory()
        checkKeys()
        checkTLS()
        if let url { checkDelegate(url) } else { checkNameServers() }
        checkLibraries()
    }

    mutating func add(_ finding: Finding) { report.add(finding) }
    mutating func ok(_ check: String, _ text: String) { add(.ok(check, text)) }
    mutating func warn(_ check: String, _ text: String, _ advice: String) { add(.warning(check, text, advice)) }
    mutating func fail(_ check: String, _ text: String, _ advice: String) { add(.failure(check, text, advice)) }

    private mutating func checkSettings() {
        for mistake in settings.mistakes {
            fail("settings", mistake.description, mistake.advice)
        }
        for variable in settings.unknownVariables {
            let nearest = Suggestion.nearest(variable, Option.all.map(\.variable))
            warn(
                "settings", "the variable \(variable) is no setting, and ignored",
                nearest.map { "rename it to \($0), or remove it" } ?? "remove it; `herald config` lists all settings")
        }
        guard settings.mistakes.isEmpty, settings.unknownVariables.isEmpty else { return }
        let file = settings.file.map { " of \($0), flags and variables" } ?? ""
        ok("settings", "given: \(settings.given.count)\(file); `herald config` prints all")
    }

    /// - Returns: the process that has the data folder open.
    private mutating func checkStore() -> String? {
        guard let url = settings.store else { return checkFolder() }
        checkDatabase(url: url)
        return nil
    }

    /// - Parameter offset: how far the other clock is ahead, in milliseconds.
    mutating func addClock(offset: Int64, comparedWith other: String) {
        let seconds = offset.magnitude / 1000
        let text = "this machine's is \(seconds) s \(offset > 0 ? "behind" : "ahead of") \(other)"
        let advice = "set the clock that is wrong: `timedatectl set-ntp true` or chrony keeps it right"
        if seconds >= 240 {
            // Of Standard Webhooks.
            return fail("clock", text + "; receivers refuse signatures that are 300 s old or in the future", advice)
        }
        if seconds >= 5 { return warn("clock", text, advice) }
        ok("clock", "equals \(other) within 5 s")
    }

    /// - Parameter isRunning: whether another process has the data folder open.
    private mutating func checkPort(isRunning: Bool) {
        let listen = settings.listen
        do throws(HTTPServerError) {
            try HTTPServer.checkListening(host: listen.host, port: listen.port)
            ok("port", listen.port == 0 ? "the system chooses one" : "\(listen) is free")
        } catch {
            guard case .cannotListen(_, _, let reason) = error else {
                return fail("port", error.description, "name an address of this machine with --listen")
            }
            switch reason.code {
            case EADDRINUSE where HealthCheck.isServed(settings):
                if isRunning || settings.store != nil {
                    return ok("port", "a Herald server listens on \(listen)")
                }
                fail(
                    "port", "another Herald server, with another data folder, listens on \(listen)",
                    "choose another port with --listen, or stop that server")
            case EADDRINUSE:
                fail(
                    "port", "another program listens on \(listen)",
                    "choose another port with --listen, or end that program: "
                        + "`ss -ltnp 'sport = :\(listen.port)'` shows it")
            case EACCES:
                fail(
                    "port", "\(listen) is reserved for root",
                    "choose a port from 1024 on with --listen, or set AmbientCapabilities=CAP_NET_BIND_SERVICE, "
                        + "CapabilityBoundingSet=CAP_NET_BIND_SERVICE and PrivateUsers=no in the unit of systemd")
            default:
                fail("port", error.description, "name an address of this machine with --listen: `ip address`")
            }
        }
    }

    private mutating func checkDescriptors() {
        let limit = DescriptorLimit(
            granted: DescriptorLimit.raise(), threads: settings.threads, deliveryLoops: settings.deliveryLoops)
        let parts =
            "\(limit.connections) connections, \(limit.streams) streams, \(limit.callbacks) callbacks of a thread"
        let text = "\(limit.granted) file descriptors: \(parts)"
        add(limit.isFew ? .warning("descriptors", text, DescriptorLimit.advice) : .ok("descriptors", text))
    }

    private mutating func checkMemory() {
        let most = MemoryLimit.ofGroup() ?? MemoryLimit.machineBytes
        let place = MemoryLimit.ofGroup() == nil ? "machine" : "control group"
        func text(_ bytes: Int) -> String { "\(bytes >> 20)MiB" }
        if let wanted = settings.memory, wanted > most {
            let fitting = max(MemoryPlan.minimum, MemoryLimit.found())
            return fail(
                "memory",
                "--memory is \(text(wanted)), but the \(place) has \(text(most)): the system would kill "
                    + "the server", "set --memory \(text(fitting)), or give it more memory")
        }
        do throws(CommandError) {
            let plan = try MemoryPlan(settings)
            let size = text(plan.total)
            ok("memory", plan.isScarce ? "\(size): caches and queues are smaller than with 1GiB" : size)
        } catch {
            fail("memory", error.description, "raise the limit of the \(place) to at least 48MiB")
        }
    }

    private mutating func checkLibraries() {
        let libraries = Library.all
        ok("libraries", libraries.map { "\($0.name) \($0.version)" }.joined(separator: ", "))
        for (library, fault) in LibraryFault.found(in: libraries) {
            let text = "\(library.name): \(fault.what); \(fault.source)"
            add(
                fault.remedy.map { .ok("libraries", "\(text); avoided: \($0)") }
                    ?? .warning("libraries", text, "install a later version of \(library.name)"))
        }
    }
}
