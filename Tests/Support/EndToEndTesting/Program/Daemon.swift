package import Foundation
import Glibc
import PostgresTesting
import SystemdTesting

/// A running `appstore-inbox ingest` or `worker`.
package final class Daemon: Sendable {
    package let command: String
    private let process: RunningProgram
    private let logPath: String
    private let notifications: NotificationSocket

    private init(command: String, process: RunningProgram, logPath: String, notifications: NotificationSocket) {
        (self.command, self.process, self.logPath, self.notifications) = (command, process, logPath, notifications)
    }

    deinit {
        process.signal(SIGKILL)
    }

    /// Starts the daemon and returns after its READY=1.
    ///
    /// - Parameters:
    ///   - folder: where its log is written.
    ///   - program: another build of the program than the one beside the tests.
    package static func start(
        _ command: String,
        settings: [String: String],
        folder: URL,
        program: String? = nil
    ) async throws -> Daemon {
        let notifications = try NotificationSocket()
        let logPath = folder.appending(path: "\(command)-\(UUID().uuidString).log").path
        let process = try RunningProgram.start(
            [BuiltProgram.path(orThatOf: program), command],
            settings: settings.merging(["NOTIFY_SOCKET": notifications.address]) { given, _ in given },
            output: logPath,
            errors: logPath
        )
        let daemon = Daemon(command: command, process: process, logPath: logPath, notifications: notifications)
        try await daemon.awaitReady(within: .seconds(30))
        return daemon
    }

    /// The log so far.
    package var log: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }

    /// Warnings and errors in the log, except the warning about the tests' root certificate.
    package var warnings: [Substring] {
        log.split(separator: "\n").filter { line in
            [" WARNING: ", " ERROR: ", " CRITICAL: "].contains { line.contains($0) } && !line.contains("is trusted for Production")
        }
    }

    package func signal(_ signal: Int32) {
        process.signal(signal)
    }

    /// Kills the daemon with SIGKILL, like the OOM killer, and waits for its end.
    package func kill() async throws {
        process.signal(SIGKILL)
        _ = try await ending(within: .seconds(10))
    }

    /// Sends SIGTERM and returns how the daemon ended.
    package func terminate() async throws -> Ending {
        process.signal(SIGTERM)
        return try await ending(within: .seconds(30))
    }

    /// Waits for the end; throws on a timeout.
    package func ending(within duration: Duration) async throws -> Ending {
        guard let ending = try await process.ending(within: duration) else {
            throw ProgramFailure(what: "\(command) did not end within \(duration)", log: tail)
        }
        return ending
    }

    package var isRunning: Bool { process.ending == nil }

    /// How the daemon ended; nil while it runs.
    package var ending: Ending? { process.ending }

    /// Waits until the daemon ends, sends a message to systemd such as a heartbeat, or the time is over; returns the messages' lines.
    package func systemdMessages(within duration: Duration) async throws -> [Substring] {
        let (deadline, descriptor) = (Deadline(within: duration), notifications.descriptor)
        while true {
            let messages = notifications.messages().flatMap { $0.split(separator: "\n") }
            if !messages.isEmpty || !isRunning || deadline.hasPassed { return messages }
            _ = try await blocking { Deadline(within: .milliseconds(100)).awaitReadable([descriptor]) }
        }
    }

    private func awaitReady(within duration: Duration) async throws {
        let deadline = Deadline(within: duration)
        while try await !systemdMessages(within: .seconds(1)).contains("READY=1") {
            if let ending { throw ProgramFailure(what: "\(command) ended with \(ending) before it was ready", log: tail) }
            guard !deadline.hasPassed else { throw ProgramFailure(what: "\(command) was not ready within \(duration)", log: tail) }
        }
    }

    private var tail: String { log.split(separator: "\n").suffix(30).joined(separator: "\n") }
}
