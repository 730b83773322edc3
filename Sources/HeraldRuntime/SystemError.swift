import Glibc

/// A failed system call: its name, and the `errno` read directly after it.
package struct SystemError: Error, CustomStringConvertible, Sendable {
    package let call: String
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code))) (errno \(code))" }
}

/// Runs a system call until it is not interrupted by a signal. Not inlined, so that no reference counting can change
/// `errno` between the call and its reading (as in swift-nio's `System.swift`).
@inline(never)
package func systemCall(_ name: String, _ body: () -> Int) throws(SystemError) -> Int {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw SystemError(call: name, code: code) }
    }
}
