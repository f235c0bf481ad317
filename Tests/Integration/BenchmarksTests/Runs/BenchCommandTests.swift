import Foundation
import Glibc
import TemporaryPostgres
import Testing

/// Runs `bench` in the built `appstore-inbox-lab`.
@Suite(.serialized, .timeLimit(.minutes(2))) struct BenchCommandTests {
    /// Runs the command with its own TMPDIR. Returns the files and processes that are left afterwards.
    private func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        body: (ChildProcess, String) async throws -> Void = { _, _ in }
    ) async throws -> (ending: ChildProcess.Ending?, output: String, left: [String]) {
        let folder = try ClusterFolder.make(named: "appstore-inbox-tests")
        defer { CleanupRegistry.remove(folder: folder.path) }
        let variables = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) { $1 }.merging(environment) { $1 }
        let words = [try BuiltProduct.path(of: "appstore-inbox-lab"), "bench"] + arguments
        let command = ChildCommand(words, environment: variables, readyMark: "ingest under load")
        let process = try ChildProcess.launch(command.bound())
        try await body(process, folder.path)
        await process.awaitExit()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path) + Self.processes(naming: folder.path)
        return (process.ending, process.output, left)
    }

    /// The command lines of all processes that have a path in one of their arguments.
    private static func processes(naming path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }.compactMap { pid in
            // The process may have ended since.
            guard let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") else { return nil }
            let text = String(decoding: line.map { $0 == 0 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
            return text.contains(path) ? text : nil
        }
    }

    @Test func `an interrupted benchmark leaves nothing behind`() async throws {
        let result = try await run(["memory", "--seconds", "1", "--events", "1"]) { process, folder in
            // The cluster runs, and the benchmark has begun.
            try await process.awaitReady()
            #expect(try Self.processes(naming: folder).contains { $0.contains("postgres") })
            process.signal(SIGINT)
        }
        #expect(result.ending == .exit(128 + SIGINT), "\(result.output)")
        #expect(result.left == [])
    }

    @Test func `a missing program is named in the error, and the exit code is 69`() async throws {
        let path = try ClusterFolder.make(named: "appstore-inbox-tests")
        defer { CleanupRegistry.remove(folder: path.path) }
        // setpriv is found, openssl is not.
        try FileManager.default.createSymbolicLink(atPath: path.path + "/setpriv", withDestinationPath: "/usr/bin/setpriv")
        let result = try await run(["verify", "--rounds", "1"], environment: ["PATH": path.path])
        #expect(result.ending == .exit(69), "\(result.output)")
        #expect(result.output.contains("openssl is missing"))
    }

    @Test(arguments: [
        ["drain", "--events", "0"], ["ingest", "--connections", "500"], ["flat", "--settled", "5", "--settled", "5"], ["nonsense"],
        ["drain", "--waiting", "5"], ["drain", "--hold", "5"], ["drain", "--queue-only", "--hold", "0"],
        ["verify", "--program", "/bin/true"],
        ["drain", "--queue-only", "--program", "/bin/true"], ["feed", "--endpoints", "0"],
        ["webhooks", "--rate", "15"],
    ]) func `wrong usage is refused before anything is started`(arguments: [String]) async throws {
        let result = try await run(arguments)
        #expect(result.ending == .exit(2), "\(result.output)")
        #expect(result.left.isEmpty)
    }
}
