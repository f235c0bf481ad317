package import Foundation
import Glibc

/// A running `appstore-inbox ingest` or `worker`.
package final class Daemon: Sendable {
    package let command: String
    private let child: ChildProcess
    private let errorPath: String
    private let notifications: ReadinessSocket

    private init(command: String, child: ChildProcess, errorPath: String, notifications: ReadinessSocket) {
        self.command = command
        self.child = child
        self.errorPath = errorPath
        self.notifications = notifications
    }

    deinit {
        child.signal(SIGKILL)
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
        let socket = try ReadinessSocket()
        let errorPath = folder.appending(path: "\(command)-\(UUID().uuidString).log").path
        let child = try await ChildProcess.start(
            ChildCommand(
                arguments: [BuiltProgram.path(orThatOf: program), command],
                environment: BuiltProgram.environment(settings.merging(["NOTIFY_SOCKET": socket.address]) { given, _ in given }),
                inputPath: "/dev/null",
                outputPath: errorPath,
                errorPath: errorPath
            )
        )
        let daemon = Daemon(command: command, child: child, errorPath: errorPath, notifications: socket)
        try await daemon.awaitMessage("READY=1", within: .seconds(30))
        return daemon
    }

    /// The log so far.
    package var log: String { (try? String(contentsOfFile: errorPath, encoding: .utf8)) ?? "" }

    /// Warnings and errors in the log, except the warning about the tests' root certificate.
    package var warnings: [Substring] {
        log.split(separator: "\n").filter { line in
            [" WARNING: ", " ERROR: ", " CRITICAL: "].contains { line.contains($0) } && !line.contains("is trusted for Production")
        }
    }

    package func signal(_ signal: Int32) {
        child.signal(signal)
    }

    /// Kills the daemon with SIGKILL, like the OOM killer, and waits for its end.
    package func kill() async throws {
        child.signal(SIGKILL)
        _ = try await ending(within: .seconds(10))
    }

    /// Sends SIGTERM and returns how the daemon ended.
    package func terminate() async throws -> ChildProcess.Ending {
        child.signal(SIGTERM)
        return try await ending(within: .seconds(30))
    }

    /// Waits for the end; throws on a timeout.
    package func ending(within duration: Duration) async throws -> ChildProcess.Ending {
        guard let ending = try await child.ending(within: duration) else {
            throw ProgramFailure(what: "\(command) did not end within \(duration)", log: tail)
        }
        return ending
    }

    package var isRunning: Bool { child.ending == nil }

    /// How the daemon ended; nil while it runs.
    package var ending: ChildProcess.Ending? { child.ending }
    /// Processor time; zero until the daemon has ended.
    package var computing: Duration { child.computing }

    /// Waits until the daemon ends, sends a message to systemd such as a heartbeat, or the time is over; returns the messages.
    package func systemdMessages(within duration: Duration) async throws -> [Substring] {
        _ = try await child.ending(within: duration, orReadable: notifications.descriptor)
        return notifications.messages().flatMap(\.self)
    }

    private func awaitMessage(_ line: Substring, within duration: Duration) async throws {
        let deadline = Deadline(within: duration)
        while !notifications.messages().contains(where: { $0.contains(line) }) {
            guard !deadline.hasPassed else { throw ProgramFailure(what: "\(command) did not send \(line)", log: tail) }
            if let ending = try await child.ending(within: .seconds(5), orReadable: notifications.descriptor) {
                throw ProgramFailure(what: "\(command) ended with \(ending) before it sent \(line)", log: tail)
            }
        }
    }

    private var tail: String { log.split(separator: "\n").suffix(30).joined(separator: "\n") }
}
