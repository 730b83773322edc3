import Glibc
import HeraldHTTP
import HeraldModel
import HeraldRuntime
import HeraldStore

extension CommandError {
    /// The message and the exit code for a failed start or command.
    init(explaining error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as StoreError: self.init(error.description, exitCode: Self.code(error))
        case let error as MaintenanceError: self.init(error.description, exitCode: Self.code(error.kind))
        case let error as TLSFilesError: self.init(error.description, exitCode: ExitCode.noInput)
        case HTTPServerError.cannotListen(_, _, let cause) where cause.code == EADDRINUSE:
            self.init(
                "\(error): another program has the port; --listen HOST:PORT takes another one",
                exitCode: ExitCode.unavailable)
        case HTTPServerError.cannotListen(_, _, let cause) where cause.code == EACCES:
            self.init(
                "\(error): a port below 1024 needs root or CAP_NET_BIND_SERVICE; --listen HOST:PORT takes another one",
                exitCode: ExitCode.unavailable)
        case HTTPServerError.cannotListen(_, _, let cause) where cause.code == EADDRNOTAVAIL:
            self.init(
                "\(error): --listen needs an address of this machine, or 0.0.0.0 for all of them",
                exitCode: ExitCode.unavailable)
        case let error as HTTPServerError: self.init(error.description, exitCode: ExitCode.unavailable)
        default: self.init("\(error)", exitCode: ExitCode.software)
        }
    }

    private static func code(_ error: StoreError) -> Int32 {
        switch error {
        case .corrupt, .unreadable, .logDamaged, .newer, .older, .sealed, .moved: ExitCode.data
        case .inUse, .notWritable: ExitCode.cannotCreate
        case .full, .inputOutput, .syncFailed, .lost, .replaced: ExitCode.inputOutput
        case .unavailable: ExitCode.unavailable
        case .failed, .unknown, .outdated: ExitCode.software
        }
    }

    private static func code(_ kind: MaintenanceError.Kind) -> Int32 {
        switch kind {
        case .input: ExitCode.noInput
        case .output: ExitCode.cannotCreate
        case .damage: ExitCode.data
        case .busy: ExitCode.temporary
        case .cancelled: ExitCode.interrupted
        case .failed: ExitCode.software
        }
    }
}
