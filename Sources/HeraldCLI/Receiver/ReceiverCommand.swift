import Glibc
import HeraldCrypto
import HeraldReceiver
import HeraldRuntime

extension Command {
    static let receiver = Command(
        name: "receiver", summary: "receive webhooks and print them, for testing; the URL decides the response",
        flags: ReceiverSettings.flags, helpText: { Help.receiver },
        action: .run { call throws(CommandError) in try runReceiver(try ReceiverSettings(call)) })

    /// Runs until TERM or INT.
    private static func runReceiver(_ settings: ReceiverSettings) throws(CommandError) {
        let signals = Signals()
        // One connection for each open request.
        DescriptorLimit.raise()
        var configuration = Receiver.Configuration()
        configuration.address = settings.address
        configuration.port = settings.port
        // Printed requests need not be kept.
        configuration.maxRecordedRequests = 0
        configuration.welcome = { [welcome = settings.welcome] _ in welcome }
        let replies = try replies(settings)
        let counts = RequestCounts(now: Clock.system.monotonic())
        let script = try script(settings, replies, counts)
        let receiver: Receiver
        var control: Receiver?
        var authority: CertificateAuthority?
        do throws(ReceiverError) {
            if settings.usesTLS { authority = try CertificateAuthority() }
            configuration.tls = authority.map { ReceiverTLS($0, names: settings.names) }
            receiver = try Receiver(configuration, script: script)
            if let port = settings.controlPort {
                var configuration = Receiver.Configuration()
                configuration.address = settings.address
                configuration.port = port
                configuration.maxRecordedRequests = 0
                control = try Receiver(
                    configuration, script: ReceiverControl(receiver, replies, counts, clock: .system).reply)
            }
        } catch {
            let isTaken = if case .cannotListen(_, let cause) = error { cause.code == EADDRINUSE } else { false }
            throw CommandError(
                error.description + (isTaken ? " --port and --control take other ports; 0: any free one." : ""),
                exitCode: ExitCode.unavailable)
        }
        let file = try authority.map { authority throws(CommandError) in try AuthorityFile(authority) }
        ReceiverPrinter.write("listening on \(receiver.url())")
        if let control { ReceiverPrinter.write("control requests on \(control.url())") }
        if let file { ReceiverPrinter.write("its certificate is signed by \(file.path)") }
        _ = signals.waitForStop()
        control?.close()
        receiver.close()
        file?.remove()
    }

    private static func script(
        _ settings: ReceiverSettings, _ replies: ScriptedReplies, _ counts: RequestCounts
    ) throws(CommandError) -> Receiver.Script {
        let printer = ReceiverPrinter(amount: settings.printing)
        // Counting has a cost for each request.
        let counts = settings.controlPort == nil ? nil : counts
        let check: SignatureCheck?
        do throws(SignatureKeyError) {
            check = settings.keys.isEmpty ? nil : try SignatureCheck(keys: settings.keys, scheme: settings.scheme)
        } catch {
            throw CommandError("--secret: \(error)")
        }
        return { request in
            var verdict: SchemeVerdict?
            // Handshakes are not signed, and verification requires libcrypto.
            if let check, request.method != "OPTIONS" {
                verdict =
                    (try? check.verdict(on: request, now: Clock.system.wall(), url: url(request, settings)))
                    ?? .forged(.unknown)
            }
            let reply = (verdict ?? .verified) == .verified ? replies.reply(to: request) : .status(401)
            counts?.add(request, reply)
            printer.printRequest(request, verdict, reply)
            return reply
        }
    }

    /// The URL that the sender has: the given one, or what the request says.
    private static func url(_ request: ReceivedRequest, _ settings: ReceiverSettings) -> String {
        settings.url ?? "http\(settings.usesTLS ? "s" : "")://\(request.header("host") ?? "")\(request.path)"
    }

    private static func replies(_ settings: ReceiverSettings) throws(CommandError) -> ScriptedReplies {
        var json: [UInt8]?
        do throws(CommandError) {
            json = try settings.scriptFile.map(Input.file)
        } catch {
            throw CommandError(error.description)
        }
        do throws(ScriptError) {
            return try ScriptedReplies(json: json, otherwise: settings.reply, seed: settings.seed)
        } catch {
            throw CommandError("The script cannot be used. \(error)")
        }
    }
}
