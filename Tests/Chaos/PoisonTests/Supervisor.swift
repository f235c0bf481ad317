import Foundation
import Glibc
import PostgresTesting
import Synchronization
import TemporaryPostgres

/// Runs the poisoned worker and restarts it whenever it dies, like systemd.
final class Supervisor: Sendable {
    /// What one process did.
    struct Life: Sendable {
        /// The events that it began to prepare, in order.
        let events: [Int64]
        let ending: ChildProcess.Ending?
    }

    private struct State {
        var isClosing = false
        var process: ChildProcess?
        var lives: [Life] = []
    }

    private let database: TestDatabase
    private let isFast: Bool
    private let state = Mutex(State())

    /// - Parameter isFast: short timeouts and no pause before a restart; otherwise those of production (`RestartSec=2s`).
    init(_ database: TestDatabase, isFast: Bool) {
        self.database = database
        self.isFast = isFast
    }

    /// The processes that have ended.
    var lives: [Life] { state.withLock(\.lives) }

    /// Keeps a worker running until ``close()``.
    func run() async throws {
        while let process = try start() {
            await process.awaitExit()
            let events = process.output.split(separator: "\n").compactMap { line in
                line.hasPrefix("event ") ? Int64(line.dropFirst(6)) : nil
            }
            state.withLock { $0.lives.append(Life(events: events, ending: process.ending)) }
            if !isFast { try await Task.sleep(for: .seconds(2)) }
        }
    }

    /// Ends the worker with SIGTERM, and starts no other.
    func close() {
        let process = state.withLock { state in
            state.isClosing = true
            return state.process
        }
        process?.signal(SIGTERM)
    }

    private func start() throws -> ChildProcess? {
        var environment = ProcessInfo.processInfo.environment
        // A backtrace of each crash would take seconds.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        let command = ChildCommand(
            [try BuiltProduct.path(of: "PoisonedWorker"), database.url(user: "appstore_worker"), isFast ? "fast" : "production"],
            environment: environment
        )
        return try state.withLock { state in
            guard !state.isClosing else { return nil }
            let process = try ChildProcess.launch(command.bound())
            state.process = process
            return process
        }
    }
}
