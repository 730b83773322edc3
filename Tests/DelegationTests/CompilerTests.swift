import Foundation
import Testing

/// What must compile, and what must not: asked of the compiler, together with the sources of the module.
@Suite("The compiler", .enabled(if: Compiler.exists), .timeLimit(.minutes(5)))
struct CompilerTests {
    @Test("refuses a value type as a delegate if the protocol is bound to classes")
    func values() async throws {
        let answer = try await Compiler.check(
            """
            protocol Listener: AnyObject { func hear() }
            struct Value { func hear() {} }
            func add() { MulticastDelegate<any Listener>().addDelegate(Value()) }
            """)
        #expect(answer.contains("error: argument type 'Value' does not conform to expected type 'Listener'"))
    }

    @Test("refuses a value type that claims to conform to such a protocol")
    func conformingValues() async throws {
        let answer = try await Compiler.check(
            """
            protocol Listener: AnyObject { func hear() }
            struct Value: Listener { func hear() {} }
            """)
        #expect(answer.contains("error: non-class type 'Value' cannot conform to class protocol 'Listener'"))
    }

    @Test("accepts code written for the published pattern, unchanged, also in Swift 5 mode")
    func publishedShape() async throws {
        let code = """
            public protocol EmergencyResponding {
                func notifyFire(at location: String)
            }
            public class FireStation: EmergencyResponding {
                public func notifyFire(at location: String) {}
            }
            public class DispatchSystem {
                let multicastDelegate = MulticastDelegate<EmergencyResponding>()
            }
            func play() {
                let dispatch = DispatchSystem()
                var fireStation: FireStation! = FireStation()
                dispatch.multicastDelegate.addDelegate(fireStation)
                dispatch.multicastDelegate.invokeDelegates {
                    $0.notifyFire(at: "Ray's house!")
                }
                dispatch.multicastDelegate.removeDelegate(fireStation)
                let other = MulticastDelegate<EmergencyResponding>(delegates: [fireStation])
                other.invokeDelegates { $0.notifyFire(at: "home") }
                fireStation = nil
            }
            """
        for version in ["5", "6"] { #expect(try await Compiler.check(code, version: version) == "") }
    }

    @Test("accepts the conformances for UIKit, here with a stand-in for UIKit")
    func uikit() async throws {
        let uikit = """
            @MainActor open class UIResponder {
                public init() {}
                @discardableResult open func becomeFirstResponder() -> Bool { true }
                @discardableResult open func resignFirstResponder() -> Bool { true }
            }
            open class UIView: UIResponder {
                public var tag = 0
                public var subviews: [UIView] = []
            }
            open class UITextField: UIView { public var isEnabled = true }
            open class UIViewController: UIResponder {
                public var view: UIView! = UIView()
                open func performSegue(withIdentifier: String, sender: Any?) {}
            }
            """
        let answer = try await Compiler.check(
            """
            import UIKit
            final class SignUp: UIViewController, FormNavigation {
                let exitIdentifier = "showHome"
                func textFieldShouldReturn(_ field: UITextField) -> Bool { textFieldDidReturn(field) }
            }
            """, beside: (module: "UIKit", code: uikit))
        #expect(answer == "")
    }
}

private enum Compiler {
    static let exists: Bool = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/swiftc") }
    }()

    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/Delegation").resolvingSymlinksInPath()

    /// Compiles the code as a part of the module.
    /// - Parameter module: another module that can be imported.
    /// - Returns: what the compiler says; nothing when all is well.
    static func check(
        _ code: String, version: String = "6", beside module: (module: String, code: String)? = nil
    ) async throws -> String {
        try await onThread {
            let folder = FileManager.default.temporaryDirectory.appending(path: "delegation-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            var options = ["-parse-as-library", "-I", folder.path]
            if let module {
                let file = folder.appending(path: module.module + ".swift")
                try Data(module.code.utf8).write(to: file)
                let output = folder.appending(path: module.module + ".swiftmodule").path
                let said = try run([
                    "-parse-as-library", "-swift-version", "6", "-emit-module", "-module-name", module.module,
                    "-emit-module-path", output, file.path,
                ])
                if !said.isEmpty { return said }
            }
            let file = folder.appending(path: "code.swift")
            try Data(code.utf8).write(to: file)
            let all = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
            while let source = all?.nextObject() as? URL {
                if source.pathExtension == "swift" { options.append(source.path) }
            }
            for feature in ["InternalImportsByDefault", "MemberImportVisibility"] {
                options += ["-enable-upcoming-feature", feature]
            }
            return try run(["-typecheck", "-swift-version", version] + options + [file.path])
        }
    }

    private static func run(_ arguments: [String]) throws -> String {
        // Not by Foundation's `Process`: that lists the descriptors of this process first, and reads beyond the list's memory
        // where other suites have a thousand of them open. Nor may the compiler hold them open.
        let script = """
            for fd in /dev/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done; exec swiftc "$@" 2>&1
            """
        let words = ["bash", "-c", script, "bash"] + arguments
        let command = "exec " + words.map { "'" + $0.replacing("'", with: "'\\''") + "'" }.joined(separator: " ")
        guard let pipe = popen(command, "r") else { throw CocoaError(.executableLoad) }
        defer { pclose(pipe) }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
        return String(decoding: output, as: UTF8.self)
    }
}
