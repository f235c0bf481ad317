import ArgumentParser
import HTTPServing
import Logging
import Postgres
import Schema
import ServiceLifecycle
import ServiceSupport
import Synchronization
import UnixSignals

/// A command that runs until it receives SIGTERM or SIGINT, and whose standard error is a log.
protocol DaemonCommand: AsyncParsableCommand {
    var service: ServiceOptions { get }
    var daemon: DaemonOptions { get }
    /// The name of the daemon in its log.
    static var daemonName: String { get }
}

extension DaemonCommand {
    static var daemonName: String { configuration.commandName ?? "" }

    /// Writes why the daemon ends as lines of its log, or as plain text under `--check-config`.
    func reportFailure(_ message: String, isJournal: Bool, output: LogOutput = .standardError) {
        guard !daemon.checkConfig else { return output.write(LogStyle.failureLines(message, isJournal: isJournal)) }
        let label = "appstore-inbox.\(Self.daemonName)"
        output.write(logStyle(isJournal: isJournal).failureLines(message, label: label, at: output.now()))
    }

    /// The shape of the log lines. The error may be about the settings themselves; then the default shape is used.
    private func logStyle(isJournal: Bool) -> LogStyle {
        do {
            return LogStyle(format: try service.reader().required(Settings.logFormat), isJournal: isJournal)
        } catch {
            // The message to write reports this error already.
            return LogStyle(format: .auto, isJournal: isJournal)
        }
    }
}

/// Tells systemd that the process is about to end. It must be the last service, since services shut down in reverse order.
struct StoppingNotice: Service {
    let notifier: ServiceNotifier

    func run() async throws {
        try await gracefulShutdown()
        notifier.stopping(status: "finishing work in flight")
    }
}

/// Announces that the process is ready, where no listener has to be bound first.
///
/// This is a service since signals are handled only once services run, and a supervisor may send SIGTERM as soon as the process is ready.
struct ReadyNotice: Service {
    let announce: @Sendable () -> Void

    func run() async throws {
        announce()
        try await gracefulShutdown()
    }
}

extension ServiceGroup {
    /// Runs a daemon's services until SIGTERM or SIGINT; work in flight may take `shutdownTimeout` from then on.
    ///
    /// - Parameter bind: binds listeners before any service runs.
    /// - Throws: ``SettingsError`` when an address of `listeners` cannot be bound.
    static func running(
        _ services: [any Service],
        after bind: () async throws -> Void = {},
        listeners: [ListenerSetting],
        shutdownTimeout: Duration,
        logger: Logger
    ) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger.forServiceGroup
        )
        configuration.maximumGracefulShutdownDuration = shutdownTimeout
        do {
            try await bind()
            try await ServiceGroup(configuration: configuration).run()
        } catch let error as ServerError where error.code == .cannotListen {
            guard let setting = listeners.first(where: { $0.address == error.address }) else { throw error }
            throw SettingsError(["\(setting.name): \(error)"])
        }
    }
}

/// The line that `systemctl status` shows: what the daemon does, or what keeps it from that.
final class DaemonStatus: Sendable {
    private struct State {
        /// What the daemon does; nil until it is ready.
        var work: String?
        /// Why each database cannot be used, by the name of its pool.
        var troubles: [String: String] = [:]

        var text: String {
            troubles.isEmpty ? work ?? "starting" : troubles.sorted { $0.key < $1.key }.map(\.value).joined(separator: "; ")
        }
    }

    private let notifier: ServiceNotifier
    private let state = Mutex(State())

    init(_ notifier: ServiceNotifier) {
        self.notifier = notifier
    }

    /// Reports that the daemon is ready for its work.
    func ready(_ work: String) {
        change({ $0.work = work }, notifier.ready)
    }

    /// Reports that the daemon does other work from now on.
    func works(_ work: String) {
        change({ $0.work = work }, notifier.status)
    }

    /// Reports that a database cannot be used, with the reason, or can be used again.
    func changed(_ pool: String, _ trouble: String?) {
        change({ $0.troubles[pool] = trouble }, notifier.status)
    }

    /// Sends the text under the lock, so that the last one that systemd gets is the latest.
    private func change(_ change: (inout State) -> Void, _ send: (String) -> Void) {
        state.withLock { state in
            change(&state)
            send(state.text)
        }
    }
}

/// Uses the database now and then where nothing else may, so that a daemon without work says at its start whether it can work, and notices
/// when that changes.
struct DatabaseWatch: Service {
    let pool: ConnectionPool
    let gate: SchemaGate
    /// The rest after a use that succeeded.
    var rest: Duration = .seconds(5)
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var outage = Backoff(base: .milliseconds(250), cap: .seconds(5))
            var generator = SystemRandomNumberGenerator()
            while !Task.isEnding {
                await use()
                if gate.isUsable { outage.reset() }
                await Task.rest(for: gate.isUsable ? rest : outage.next(using: &generator))
            }
        }
    }

    private func use() async {
        do {
            // The pool checks the connection before it lends it.
            try await pool.withConnection { _ in }
        } catch {
            logger.debug("the database was not used", metadata: ["error": "\(error)"])
        }
    }
}
