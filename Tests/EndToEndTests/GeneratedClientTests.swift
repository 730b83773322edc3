import Glibc
import HeraldReceiver
import HeraldTestSupport
import Testing

/// Clients that generators make of the description that the server answers, used against the server: the programs in
/// Tests/Clients. Each registers, posts one event and several, lists, reads a story, rotates a secret and deletes.
@Suite(
    "Clients generated from openapi.yaml", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: GeneratedClient.hasGenerators))
struct GeneratedClientTests {
    @Test("openapi-python-client generates every operation")
    func openapiPythonClient() async throws {
        let client = try await GeneratedClient()
        let text = try await client.generate(
            "openapi-python-client", "generate", "--path", client.description, "--output-path",
            client.folder + "/herald_client", "--meta", "none")
        #expect(!text.contains("will not be generated") && !text.contains("removal of"), "\(text)")
        try await client.usePython("openapi_python_client.py")
    }

    @Test("openapi-generator generates Python that runs")
    func python() async throws {
        let client = try await GeneratedClient()
        try await client.openapiGenerator(
            "python", to: client.folder, "--additional-properties=packageName=herald_client")
        try await client.usePython("openapi_generator.py")
    }

    @Test("openapi-generator generates TypeScript that type-checks and runs", .enabled(if: ChildProcess.exists("tsc")))
    func typeScript() async throws {
        let client = try await GeneratedClient()
        try await client.openapiGenerator("typescript-fetch", to: client.folder + "/client")
        try client.copy("client.ts", to: "main.ts")
        // Before 4.9, TypeScript does not learn from `in` that a property is there: without the exception it objects to
        // each model.
        try await client.run(
            "tsc", "--strict", "--noImplicitAny", "false", "--target", "es2020", "--module", "commonjs",
            "--moduleResolution", "node", "--lib", "es2020,dom", "--outDir", client.folder + "/out",
            client.folder + "/main.ts")
        try await client.run("node", [client.folder + "/out/main.js"] + client.arguments)
    }

    @Test("openapi-generator generates Go that compiles and runs", .enabled(if: GeneratedClient.hasGo))
    func go() async throws {
        let client = try await GeneratedClient()
        let path = client.folder + "/src"
        let options = [
            "packageName=herald", "useOneOfDiscriminatorLookup=true", "disallowAdditionalPropertiesIfNotPresent=false",
        ]
        try await client.openapiGenerator(
            "go", to: path + "/herald", "--additional-properties=" + options.joined(separator: ","))
        #expect(mkdir(path + "/client", 0o700) == 0)
        try client.copy("client.go", to: "src/client/client.go")
        // Without modules, since the one that it imports comes from Debian.
        let environment = [
            "GO111MODULE": "off", "GOFLAGS": "", "GOPATH": client.folder + ":/usr/share/gocode",
            "GOCACHE": client.folder + "/cache",
        ]
        let program = client.folder + "/program"
        try await client.run("go", ["vet", "herald", "client"], environment)
        try await client.run("go", ["build", "-o", program, "client"], environment)
        try await client.run(program, client.arguments)
    }
}

/// A server, a receiver, and a folder for one generated client.
private final class GeneratedClient: Sendable {
    static let hasGenerators =
        ["openapi-python-client", "openapi-generator-cli"].allSatisfy {
            guard let venv else { return false }
            return access("\(venv)/bin/\($0)", X_OK) == 0
        } && ChildProcess.exists("java")

    static let hasGo = ChildProcess.exists("go") && access("/usr/share/gocode/src/gopkg.in/validator.v2", F_OK) == 0

    private static let venv = getenv("HERALD_VENV").map { String(cString: $0) }
    private static let programs = #filePath.split(separator: "/").dropLast(2).reduce("/") { $0 + $1 + "/" } + "Clients/"
    private static let key = "the-key-of-this-test-0123"

    private let herald: HeraldProcess
    private let receiver: Receiver
    private let files = TemporaryFolder()
    /// The server's description of its API, as a file.
    let description: String
    var folder: String { files.path }
    /// The arguments of the programs.
    var arguments: [String] { [herald.url, Self.key, receiver.url()] }

    init() async throws {
        herald = try await HeraldProcess.start(adminKey: Self.key)
        receiver = try Receiver { _ in .status(204) }
        description = try files.write(try await herald.get("/openapi.yaml").text, to: "openapi.yaml")
    }

    deinit { receiver.close() }

    /// Runs one of the generators.
    @discardableResult
    func generate(_ program: String, _ arguments: String...) async throws -> String {
        try await run((Self.venv ?? "") + "/bin/" + program, arguments)
    }

    func openapiGenerator(_ generator: String, to path: String, _ options: String...) async throws {
        let program = (Self.venv ?? "") + "/bin/openapi-generator-cli"
        try await run(program, ["generate", "-i", description, "-g", generator, "-o", path] + options)
    }

    /// Runs one of the programs in Python, with the generated package.
    func usePython(_ program: String) async throws {
        try await run(
            (Self.venv ?? "") + "/bin/python3", ["-B", Self.programs + program, description] + arguments,
            ["PYTHONPATH": folder])
    }

    func copy(_ program: String, to name: String) throws {
        try Files.write(try Files.read(Self.programs + program), to: folder + "/" + name)
    }

    func run(_ program: String, _ arguments: String...) async throws { try await run(program, arguments) }

    /// Runs a program to its end, which has to be a good one.
    @discardableResult
    func run(_ program: String, _ arguments: [String], _ environment: [String: String] = [:]) async throws -> String {
        let result = try await ChildProcess.run(program, arguments, environment: environment)
        if result.end != .exited(0) { throw HeraldFailure(what: "\(program): \(result.text.suffix(4000))") }
        return result.text
    }
}
