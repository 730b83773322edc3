/// Something else came than the test expects: what it throws where it cannot continue.
public struct Unexpected: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
