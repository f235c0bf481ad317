import EndToEndTesting
import Foundation
import Glibc
import Synchronization

/// A place for one daemon, kept occupied as systemd would: whoever ends is started again, and whoever is silent for too long is killed.
final class Slot: Sendable {
    let command: String
    private let program: String?
    private let settings: [String: String]
    private let folder: URL
    /// How long it may be silent, as the unit's WatchdogSec says.
    private let watchdog: Duration
    /// How long it may take to end when it is told to.
    private let endPatience: Duration
    private let state = Mutex(State())

    private struct State {
        var daemon: Daemon?
        /// Somebody means to end the daemon, so that its end is no news.
        var isDoomed = false
        /// It was told to end, and must.
        var isTold = false
        /// Stopped by SIGSTOP: it cannot be expected to say anything.
        var isFrozen = false
        var isClosing = false
        var starts = 0
        var computing = Duration.zero
        var complaints: [String] = []
    }

    /// - Parameter program: another build of the program than the one beside the tests.
    init(
        _ command: String,
        of program: String? = nil,
        settings: [String: String],
        folder: URL,
        watchdog: Duration,
        endPatience: Duration = .seconds(40)
    ) {
        (self.command, self.program, self.folder, self.watchdog, self.endPatience) = (command, program, folder, watchdog, endPatience)
        let microseconds = watchdog.components.seconds * 1_000_000
        self.settings = settings.merging(["WATCHDOG_USEC": "\(microseconds)"]) { given, _ in given }
    }

    /// Keeps the slot occupied until ``close()``.
    func run() async throws {
        while !state.withLock(\.isClosing) {
            let daemon = try await Daemon.start(command, settings: settings, folder: folder, program: program)
            let isLate = state.withLock { state in
                (state.daemon, state.isDoomed, state.isTold, state.isFrozen) = (daemon, state.isClosing, state.isClosing, false)
                state.starts += 1
                return state.isClosing
            }
            if isLate { daemon.signal(SIGTERM) }
            try await watch(daemon)
            state.withLock { state in
                state.daemon = nil
                state.computing += daemon.computing
            }
            // RestartSec of the units is longer: here more is to happen in a minute.
            try await pause(.milliseconds(300))
        }
    }

    /// Sends the daemon a signal that ends it; says whether there was one.
    func end(with signal: Int32) -> Bool {
        state.withLock { state in
            guard let daemon = state.daemon, daemon.isRunning, !state.isDoomed else { return false }
            state.isDoomed = true
            state.isTold = true
            daemon.signal(signal)
            return true
        }
    }

    /// Freezes the daemon for that time; says whether there was one.
    func freeze(for duration: Duration) async throws -> Bool {
        let daemon = state.withLock { state -> Daemon? in
            guard let daemon = state.daemon, daemon.isRunning, !state.isDoomed else { return nil }
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

    /// Whether the daemon is frozen at this moment.
    var isFrozen: Bool { state.withLock(\.isFrozen) }

    /// Lets the daemon end in peace, and starts no other.
    func close() {
        state.withLock { state in
            state.isClosing = true
            state.isDoomed = true
            state.isTold = true
            state.daemon?.signal(SIGTERM)
        }
    }

    /// How often a daemon was started, and what went wrong with one by itself.
    var history: (starts: Int, complaints: [String]) { state.withLock { ($0.starts, $0.complaints) } }

    /// The processor time of all daemons that have ended here.
    var computing: Duration { state.withLock(\.computing) }

    /// The end of the log of the daemon that is there.
    var tail: String { state.withLock(\.daemon).map(Self.tail) ?? "\(command): none is running" }

    private static func tail(_ daemon: Daemon) -> String { daemon.log.split(separator: "\n").suffix(20).joined(separator: "\n") }

    private func watch(_ daemon: Daemon) async throws {
        var silence = Deadline(within: watchdog)
        var ending: Deadline?
        while daemon.isRunning {
            let words = try await daemon.words(within: .seconds(2))
            if !words.isEmpty || state.withLock(\.isFrozen) { silence = Deadline(within: watchdog) }
            if ending == nil, state.withLock(\.isTold) { ending = Deadline(within: endPatience) }
            if silence.hasPassed || ending?.hasPassed == true {
                complain("\(command) hung: silent for \(watchdog), or alive \(endPatience) after it was told to end; it was killed", daemon)
                try await daemon.kill()
                return
            }
        }
        let isExpected = state.withLock(\.isDoomed)
        guard let status = daemon.ending, !isExpected || ![.exit(0), .signal(SIGKILL)].contains(status) else { return }
        complain("\(command) ended by itself with \(status)", daemon)
    }

    private func complain(_ what: String, _ daemon: Daemon) {
        let complaint = "\(what); its log ends with:\n\(Self.tail(daemon))"
        state.withLock { $0.complaints.append(complaint) }
    }
}
