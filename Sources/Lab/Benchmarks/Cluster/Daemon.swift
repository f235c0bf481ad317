import FoundationEssentials
import Glibc
import TemporaryPostgres

/// A running `appstore-inbox worker` or `ingest`.
final class Daemon: Sendable {
    private let command: String
    private let process: ChildProcess

    private init(_ command: String, _ process: ChildProcess) {
        self.command = command
        self.process = process
    }

    /// Starts a daemon, runs `body` when it is ready, and stops it.
    ///
    /// - Parameters:
    ///   - program: the executable.
    ///   - settings: the daemon's settings, without their prefix; it inherits none of this process's settings.
    ///   - readyMark: the text that it logs when it is ready.
    static func with<T: Sendable>(
        _ command: String,
        program: String,
        settings: [String: String],
        readyMark: String,
        _ body: (Daemon) async throws -> T
    ) async throws -> T {
        var launch = Self.launch(command, program: program, settings: settings)
        launch.readyMark = readyMark
        let process = try ChildProcess.launch(launch)
        do {
            try await process.awaitReady()
            let value = try await body(Daemon(command, process))
            process.signal(SIGTERM)
            try await process.awaitSuccess()
            return value
        } catch {
            process.signal(SIGKILL)
            await process.awaitExit()
            throw error
        }
    }

    /// Runs `body` with a worker.
    static func withWorker<T: Sendable>(
        program: String,
        settings: [String: String],
        _ body: (Daemon) async throws -> T
    ) async throws -> T {
        try await with("worker", program: program, settings: settings, readyMark: "worker is running", body)
    }

    /// Runs `body` with an ingest that listens on a port of the loopback interface.
    static func withIngest<T: Sendable>(
        program: String,
        databaseURL: String,
        port: Int,
        _ body: (Daemon) async throws -> T
    ) async throws -> T {
        let settings = [
            "DATABASE_URL": databaseURL, "LISTEN": "127.0.0.1:\(port)", "ADMIN_LISTEN": "127.0.0.1:0", "LOG_LEVEL": "info",
            "LOG_FORMAT": "text",
            // The limit would end the measurement.
            "HOURLY_BYTE_LIMIT": "0",
        ]
        return try await with("ingest", program: program, settings: settings, readyMark: "ingest is listening", body)
    }

    /// Runs a command of the program; throws unless it ends with status 0.
    static func run(_ command: String, program: String, settings: [String: String]) async throws {
        try await ChildProcess.launch(launch(command, program: program, settings: settings)).awaitSuccess()
    }

    private static func launch(_ command: String, program: String, settings: [String: String]) -> ChildCommand {
        var environment = ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"].contains($0.key) }
        for (name, value) in settings { environment["APPSTORE_INBOX_\(name)"] = value }
        return ChildCommand([program, command], environment: environment).bound()
    }

    /// Processor time since the start.
    func processorTime() throws -> Duration { try ProcessStatistics.processorTime(of: process.pid) }

    /// The peak of its memory so far, in bytes.
    func peakMemory() throws -> Int { try PeakMemory.ofProcess(process.pid) }

    /// Throws when the daemon has ended.
    func check() throws {
        if process.ending != nil { throw process.failure("\(command) has ended") }
    }
}
