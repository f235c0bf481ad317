import Foundation
import Glibc
import PrivateCluster
import Testing

/// The command itself, as the built program has it.
@Suite(.serialized, .timeLimit(.minutes(2))) struct BenchCommandTests {
    /// Runs it with its temporary folders in a place of its own, which is empty afterwards whatever happened.
    private func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        body: (ChildProcess) async throws -> Void = { _ in }
    ) async throws -> (ending: ChildProcess.Ending?, output: String, left: [String]) {
        let folder = try ClusterFolder.make(named: "appstore-inbox-tests")
        defer { Leftovers.remove(folder: folder.path) }
        let variables = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) { $1 }.merging(environment) { $1 }
        let command = ChildCommand([try BuiltProgram.path(), "bench"] + arguments, environment: variables, readyMark: "ingest under load")
        let process = try ChildProcess.launch(command.bound())
        try await body(process)
        await process.awaitExit()
        return (process.ending, process.output, try FileManager.default.contentsOfDirectory(atPath: folder.path))
    }

    @Test(arguments: [SIGINT, SIGTERM]) func `an interrupted benchmark leaves nothing behind`(signal: Int32) async throws {
        let result = try await run(["memory", "--seconds", "1", "--events", "1"]) { process in
            // The cluster is up and the work on its way.
            try await process.awaitReady()
            process.signal(signal)
        }
        #expect(result.ending == .exit(128 + signal), "\(result.output)")
        #expect(result.left.isEmpty)
    }

    @Test func `a missing program is named, and has an exit code of its own`() async throws {
        let path = try ClusterFolder.make(named: "appstore-inbox-tests")
        defer { Leftovers.remove(folder: path.path) }
        // setpriv is found, openssl is not.
        try FileManager.default.createSymbolicLink(atPath: path.path + "/setpriv", withDestinationPath: "/usr/bin/setpriv")
        let result = try await run(["verify", "--rounds", "1"], environment: ["PATH": path.path])
        #expect(result.ending == .exit(69), "\(result.output)")
        #expect(result.output.contains("openssl is missing"))
    }

    @Test(arguments: [
        ["drain", "--events", "0"], ["ingest", "--connections", "500"], ["flat", "--settled", "5", "--settled", "5"], ["nonsense"],
        ["drain", "--waiting", "5"],
    ]) func `wrong usage is refused before anything is started`(arguments: [String]) async throws {
        let result = try await run(arguments)
        #expect(result.ending == .exit(2), "\(result.output)")
        #expect(result.left.isEmpty)
    }
}
