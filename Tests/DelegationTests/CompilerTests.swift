import Foundation
import Testing

/// Code that must compile, and code that must not. The compiler checks it together with the sources of the module.
@Suite("The compiler", .enabled(if: Compiler.exists), .timeLimit(.minutes(20)))
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

    @Test("refuses a delegate of logins whose method has a slightly different type, which would never be called")
    func nearMiss() async throws {
        let answer = try await Compiler.check(
            """
            struct Account: Sendable {}
            final class Greeter: AuthEventsDelegate {
                func userIsLoggedIn(user: Account?, sender: any DelegateSender) {}
                func userIsLoggedOut(user: Account?, sender: any DelegateSender) {}
                func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) {}
            }
            func add(_ greeter: Greeter) { _ = AuthEvents<Account>().addDelegate(greeter) }
            """)
        #expect(answer.contains("error: "))
    }

    @Test("refuses a delegate that isn't Sendable outside of an actor, and its use elsewhere afterwards")
    func isolation() async throws {
        let outside = try await Compiler.checkUser(
            Self.listener
                + "func add(_ listener: Listener, to state: ObservedState<Int>) { state.addDelegate(listener) }")
        #expect(outside.contains("error: 'nil' is not compatible with expected argument type 'any Actor'"))
        let elsewhere = try await Compiler.checkUser(
            Self.listener
                + """
                @MainActor func add(to state: ObservedState<Int>) async {
                    let listener = Listener()
                    state.addDelegate(listener)
                    await Task.detached { listener.last = 1 }.value
                }
                """)
        #expect(elsewhere.contains("data race"))
        let inside = try await Compiler.checkUser(
            Self.listener
                + """
                @MainActor func add(_ listener: Listener, to state: ObservedState<Int>) { state.addDelegate(listener) }
                """)
        #expect(inside == "")
    }

    private static let listener = """
        import Delegation
        final class Listener: StateDelegate {
            var last = 0
            func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { last = new }
        }

        """

    @Test(
        "accepts what app developers write first, without a warning, also if all is on the main actor by default",
        arguments: [[], ["-default-isolation", "MainActor"]])
    func snippets(_ options: [String]) async throws {
        let answer = try await Compiler.checkUser(
            of: ["Tests/Adoption/Sources/DelegationAdoption/Snippets.swift"], options)
        #expect(answer == "")
    }

    @Test(
        "accepts the example apps in SwiftUI and UIKit, here with stand-ins for both",
        arguments: [[], ["-default-isolation", "MainActor"]])
    func apps(_ options: [String]) async throws {
        let answer = try await Compiler.checkUser(
            of: ["Examples/Apps/Sources/Apps/SwiftUIApp.swift", "Examples/Apps/Sources/Apps/UIKitApp.swift"], options,
            beside: [(module: "SwiftUI", code: Self.swiftUI), (module: "UIKit", code: Self.uiKit)])
        #expect(answer == "")
    }

    @Test("accepts the conformances for UIKit, here with a stand-in for UIKit")
    func uikit() async throws {
        let answer = try await Compiler.check(
            """
            import UIKit
            final class SignUp: UIViewController, FormNavigation {
                let exitIdentifier: String? = "showHome"
                func textFieldShouldReturn(_ field: UITextField) -> Bool { textFieldDidReturn(field) }
            }
            """, beside: [(module: "UIKit", code: Self.uiKit)])
        #expect(answer == "")
    }
}

extension CompilerTests {
    /// As much of UIKit as is used here.
    private static let uiKit = """
        @MainActor open class UIResponder {
            public init() {}
            @discardableResult open func becomeFirstResponder() -> Bool { true }
            @discardableResult open func resignFirstResponder() -> Bool { true }
        }
        open class UIView: UIResponder {
            public var tag = 0
            public var subviews: [UIView] = []
            public func addSubview(_ view: UIView) { subviews.append(view) }
        }
        open class UILabel: UIView { public var text: String? }
        open class UITextField: UIView { public var isEnabled = true }
        open class UIViewController: UIResponder {
            public var view: UIView! = UIView()
            public var title: String?
            open func performSegue(withIdentifier: String, sender: Any?) {}
            open func viewDidLoad() {}
            open func viewWillAppear(_ animated: Bool) {}
            open func viewWillDisappear(_ animated: Bool) {}
        }
        """

    /// As much of SwiftUI as is used here.
    private static let swiftUI = """
        @MainActor @preconcurrency public protocol View {
            associatedtype Body: View
            @ViewBuilder var body: Body { get }
        }
        extension Never: View {}
        extension View where Body == Never { public var body: Never { fatalError() } }
        @resultBuilder public struct ViewBuilder {
            public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
            public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Several { Several() }
        }
        public struct Several: View { public typealias Body = Never }
        public struct Text: View {
            public typealias Body = Never
            public init(_ text: String) {}
        }
        public struct Button: View {
            public typealias Body = Never
            public init(_ title: String, action: @escaping @MainActor () -> Void) {}
        }
        public struct VStack<Content: View>: View {
            public typealias Body = Never
            public init(@ViewBuilder content: () -> Content) {}
        }
        extension View {
            public func task(
                @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
            ) -> some View { self }
        }
        @propertyWrapper public struct State<Value> {
            private final class Box {
                var value: Value
                init(_ value: Value) { self.value = value }
            }
            private let box: Box
            public init(wrappedValue: Value) { box = Box(wrappedValue) }
            public var wrappedValue: Value { get { box.value } nonmutating set { box.value = newValue } }
        }
        """
}

private enum Compiler {
    static let exists: Bool = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/swiftc") }
    }()

    private static let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static var sources: [String] {
        let folder = root.appending(path: "Sources/Delegation")
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (all?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }.map(\.path)
    }

    private static let features = ["InternalImportsByDefault", "MemberImportVisibility"].flatMap {
        ["-enable-upcoming-feature", $0]
    }

    /// Where the module map of C functions is, which SwiftPM finds by itself.
    private static let functions = ["-I", root.appending(path: "Sources/C/CDelegation").path]

    typealias Module = (module: String, code: String)

    /// Compiles the code as a part of the module.
    /// - Parameter modules: others that can be imported.
    /// - Returns: what the compiler says; nothing when all is well.
    static func check(_ code: String, version: String = "6", beside modules: [Module] = []) async throws -> String {
        try await inFolder { folder in
            for module in modules { try emit(module, in: folder) }
            let file = folder.appending(path: "code.swift")
            try Data(code.utf8).write(to: file)
            let options = ["-swift-version", version, "-parse-as-library", "-I", folder.path]
            return try run(["-typecheck"] + options + features + functions + sources + [file.path])
        }
    }

    /// Compiles code that imports the module, with what the compiler finds only when it looks at the flow of values.
    /// - Parameter files: more code, below the root of the repository.
    static func checkUser(
        _ code: String = "", of files: [String] = [], _ options: [String] = [], beside modules: [Module] = []
    ) async throws -> String {
        try await inFolder { folder in
            for module in modules { try emit(module, in: folder) }
            try emit("Delegation", sources, features + functions + ["-I", folder.path], in: folder)
            let file = folder.appending(path: "code.swift")
            try Data(code.utf8).write(to: file)
            return try run(
                [
                    "-emit-sil", "-wmo", "-o", "/dev/null", "-swift-version", "6", "-warnings-as-errors",
                    "-parse-as-library",
                    "-module-name", "User", "-I", folder.path,
                ] + functions + options + [file.path] + files.map { root.appending(path: $0).path })
        }
    }

    private struct Rejected: Error { let answer: String }

    private static func emit(_ module: Module, in folder: URL) throws {
        let file = folder.appending(path: module.module + ".swift")
        try Data(module.code.utf8).write(to: file)
        try emit(module.module, [file.path], [], in: folder)
    }

    private static func emit(_ name: String, _ files: [String], _ options: [String], in folder: URL) throws {
        let output = folder.appending(path: name + ".swiftmodule").path
        let answer = try run(
            [
                "-parse-as-library", "-swift-version", "6", "-emit-module", "-module-name", name, "-emit-module-path",
                output,
            ]
                + options + files)
        if !answer.isEmpty { throw Rejected(answer: answer) }
    }

    private static func inFolder<Value: Sendable>(_ body: @escaping @Sendable (URL) throws -> Value) async throws
        -> Value
    {
        try await onThread {
            let folder = FileManager.default.temporaryDirectory.appending(path: "delegation-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            return try body(folder)
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
