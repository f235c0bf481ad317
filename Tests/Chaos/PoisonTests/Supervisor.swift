import Foundation
import Glibc
import PostgresTesting
import TemporaryPostgres
import Synchronization

/// Runs the poisoned worker and starts it again whenever it dies, as systemd would.
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
    private let isHasty: Bool
    private let state = Mutex(State())

    /// - Parameter isHasty: whether it need not wait; otherwise it does as long as the unit says (`RestartSec=2s`).
    init(_ database: TestDatabase, isHasty: Bool) {
        self.database = database
        self.isHasty = isHasty
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
            if !isHasty { try await Task.sleep(for: .seconds(2)) }
        }
    }

    /// Has the worker end as it should.
    func close() {
        let process = state.withLock { state in
            state.isClosing = true
            return state.process
        }
        process?.signal(SIGTERM)
    }

    private func start() throws -> ChildProcess? {
        var environment = ProcessInfo.processInfo.environment
        // A stack of the process killer is of no use here, and takes seconds to make.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        let command = ChildCommand(
            [try Self.program(), database.url(user: "appstore_worker"), isHasty ? "hasty" : "earnest"],
            environment: environment
        )
        return try state.withLock { state in
            guard !state.isClosing else { return nil }
            let process = try ChildProcess.launch(command.bound(signal: "KILL"))
            state.process = process
            return process
        }
    }

    /// The executable lies beside the tests.
    private static func program() throws -> String {
        let here = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        // `swift test` runs a helper of the toolchain for Swift Testing, and names the tests' own bundle in its arguments.
        let places = ([here] + CommandLine.arguments.filter { $0.contains(".xctest") }).map {
            URL(filePath: $0).deletingLastPathComponent()
        }
        for place in places {
            let path = place.appending(path: "PoisonedWorker").path
            if access(path, X_OK) == 0 { return path }
        }
        throw Missing(description: "there is no PoisonedWorker in \(places.map(\.path).joined(separator: ", ")): build it first")
    }

    private struct Missing: Error, CustomStringConvertible {
        let description: String
    }
}
