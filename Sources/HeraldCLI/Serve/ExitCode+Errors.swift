import Glibc
import HeraldCore
import HeraldHTTP
import HeraldRuntime
import HeraldSQLite

extension ExitCode {
    /// The exit code and the message for a failed start or command.
    static func explain(_ error: any Error) -> (code: Int32, text: String) {
        switch error {
        case let error as StoreError:
            switch error {
            case .corrupt, .unreadable, .logDamaged, .newer, .older, .sealed, .moved:
                (ExitCode.data, error.description)
            case .inUse, .notWritable: (ExitCode.cannotCreate, error.description)
            case .full, .inputOutput, .syncFailed, .lost, .replaced: (ExitCode.inputOutput, error.description)
            case .unavailable: (ExitCode.unavailable, error.description)
            case .failed, .unknown, .outdated: (ExitCode.software, error.description)
            }
        case let error as MaintenanceError: (ExitCode.software, error.description)
        case let error as CommandError: (error.exitCode, error.description)
        case let error as TLSFilesError: (ExitCode.noInput, error.description)
        case HTTPServerError.cannotListen(_, _, let cause) where cause.code == EADDRINUSE:
            (ExitCode.unavailable, "\(error): another program has the port; --listen HOST:PORT takes another one")
        case let error as HTTPServerError: (ExitCode.unavailable, error.description)
        default: (ExitCode.software, "\(error)")
        }
    }
}
