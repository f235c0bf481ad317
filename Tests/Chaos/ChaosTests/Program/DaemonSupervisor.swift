import EndToEndTesting
import Foundation
import Glibc
import PostgresTesting
import Synchronization

/// Keeps one daemon running like systemd: restarts it when it ends, and kills it when it misses its watchdog.
final class DaemonSupervisor: Sendable {
    let command: String
    private let program: String?
    private let settings: [String: String]
    private let folder: URL
    /// The longest time between heartbeats, like the unit's WatchdogSec.
    private let watchdog: Duration
    /// The longest time between SIGTERM and the end.
    private static let endTimeout: Duration = .seconds(40)
    private let state = Mutex(State())

    private struct State {
        var daemon: Daemon?
        /// A fault or ``close()`` ends the daemon: its end is no failure.
        var isEndExpected = false
        /// The daemon has received a signal that ends it.
        var wasToldToEnd = false
        /// Stopped by SIGSTOP: the daemon sends no heartbeat.
        var isFrozen = false
        var isClosing = false
        var starts = 0
        var daemonFailures: [String] = []
    }

    /// - Parameter program: another build of the program than the one beside the tests.
    init(_ command: String, of program: String?, settings: [String: String], folder: URL, watchdog: Duration) {
        (self.command, self.program, self.folder, self.watchdog) = (command, program, folder, watchdog)
        let microseconds = watchdog.components.seconds * 1_000_000
        self.settings = settings.merging(["WATCHDOG_USEC": "\(microseconds)"]) { given, _ in given }
    }

    /// Keeps a daemon running until ``close()``.
    func run() async throws {
        while !state.withLock(\.isClosing) {
            let daemon = try await Daemon.start(command, settings: settings, folder: folder, program: program)
            let isLate = state.withLock { state in
                (state.daemon, state.isEndExpected, state.wasToldToEnd, state.isFrozen) = (daemon, state.isClosing, state.isClosing, false)
                state.starts += 1
                return state.isClosing
            }
            if isLate { daemon.signal(SIGTERM) }
            try await watch(daemon)
            state.withLock { $0.daemon = nil }
            // Shorter than RestartSec of the units, so that more happens in a minute.
            try await pause(.milliseconds(300))
        }
    }

    /// Sends the daemon a signal that ends it; false when none is running.
    func end(with signal: Int32) -> Bool {
        state.withLock { state in
            guard let daemon = state.daemon, daemon.isRunning, !state.isEndExpected else { return false }
            state.isEndExpected = true
            state.wasToldToEnd = true
            daemon.signal(signal)
            return true
        }
    }

    /// Stops the daemon by SIGSTOP for that time; false when none is running.
    func freeze(for duration: Duration) async throws -> Bool {
        let daemon = state.withLock { state -> Daemon? in
            guard let daemon = state.daemon, daemon.isRunning, !state.isEndExpected else { return nil }
            state.isFrozen = true
            daemon.signal(SIGSTOP)
            return daemon
        }
        guard let daemon else { return false }
        let result = await Result { try await pause(duration) }
        daemon.signal(SIGCONT)
        state.withLock { $0.isFrozen = false }
        try result.get()
        return true
    }

    /// Sends SIGTERM and starts no other daemon.
    func close() {
        state.withLock { state in
            state.isClosing = true
            state.isEndExpected = true
            state.wasToldToEnd = true
            state.daemon?.signal(SIGTERM)
        }
    }

    /// How often a daemon was started, and the failures that no fault explains.
    var history: (starts: Int, daemonFailures: [String]) { state.withLock { ($0.starts, $0.daemonFailures) } }

    /// The last log lines of the running daemon.
    var tail: String { state.withLock(\.daemon).map(Self.tail) ?? "\(command): none is running" }

    private static func tail(_ daemon: Daemon) -> String { daemon.log.split(separator: "\n").suffix(20).joined(separator: "\n") }

    private func watch(_ daemon: Daemon) async throws {
        var silence = Deadline(within: watchdog)
        var ending: Deadline?
        while daemon.isRunning {
            let messages = try await daemon.systemdMessages(within: .seconds(2))
            if !messages.isEmpty || state.withLock(\.isFrozen) { silence = Deadline(within: watchdog) }
            if ending == nil, state.withLock(\.wasToldToEnd) { ending = Deadline(within: Self.endTimeout) }
            if silence.hasPassed || ending?.hasPassed == true {
                recordFailure(
                    "\(command) hung: no heartbeat for \(watchdog), or alive \(Self.endTimeout) after SIGTERM; it was killed",
                    daemon
                )
                try await daemon.kill()
                return
            }
        }
        let isExpected = state.withLock(\.isEndExpected)
        guard let status = daemon.ending, !isExpected || ![.exit(0), .signal(SIGKILL)].contains(status) else { return }
        recordFailure("\(command) ended unexpectedly with \(status)", daemon)
    }

    private func recordFailure(_ what: String, _ daemon: Daemon) {
        let failure = "\(what); its log ends with:\n\(Self.tail(daemon))"
        state.withLock { $0.daemonFailures.append(failure) }
    }
}
