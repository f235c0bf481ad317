package import Logging
package import Postgres
import Synchronization

/// Keeps a daemon from using a database that it cannot work with: no schema, one of another version, a role without the needed privileges.
///
/// A pool checks each of its connections with it (``ConnectionPool/Configuration/checked(by:)``), and tells it when none can be opened. While
/// the check fails, the daemon waits as for a database that is down. The gate logs each change once, for all who use the pool.
package final class SchemaGate: Sendable {
    private let expected: SchemaExpectation
    private let logger: Logger
    private let onChange: @Sendable (_ trouble: String?) -> Void
    private let state = Mutex(State())

    private struct State {
        var trouble: Trouble?
        /// Whether a connection has passed the check since the last trouble.
        var isUsable = false
        /// The latest text about the trouble.
        var latest: String?
        /// Texts that are logged already since the database could be used.
        var reported: Set<String> = []
        /// How many attempts have failed.
        var failures = 0
    }

    private enum Trouble {
        case unreachable(String)
        case refused(SchemaError)
    }

    /// - Parameters:
    ///   - logger: with metadata that tells this gate's pool from others of the process.
    ///   - onChange: called with the reason when the database can no longer be used, and with nil when it can be.
    package init(
        _ expected: SchemaExpectation,
        logger: Logger,
        onChange: @escaping @Sendable (_ trouble: String?) -> Void = { _ in }
    ) {
        self.expected = expected
        self.logger = logger
        self.onChange = onChange
    }

    /// Why the last check failed although the database answered; nil when it passed, or the database could not be reached.
    package var refusal: SchemaError? {
        state.withLock { if case .refused(let error)? = $0.trouble { error } else { nil } }
    }

    /// Whether the latest attempt to use the database succeeded.
    package var isUsable: Bool { state.withLock(\.isUsable) }

    /// Queries whether the database admits this program.
    ///
    /// - Throws: ``SchemaError`` with the reason when it does not.
    package func check(_ connection: Connection) async throws {
        do {
            var finding: SchemaFinding
            var failures: Int
            // Another connection may have failed while this answer was on its way: then the answer is from before an outage, if it is one.
            repeat {
                failures = state.withLock(\.failures)
                finding = try await SchemaFinding(expected, connection)
            } while !admit(finding, unlessFailedSince: failures)
        } catch let refusal as SchemaError {
            report(.refused(refusal), "the database cannot be used", ["reason": "\(refusal)"])
            throw refusal
        }
    }

    /// Records that no connection could be opened.
    package func openingFailed(_ error: any Error) {
        report(.unreachable("\(error)"), "the database cannot be reached", ["error": "\(error)"])
    }

    private func admit(_ finding: SchemaFinding, unlessFailedSince failures: Int) -> Bool {
        let wasUsable: Bool? = state.withLock { state in
            guard state.failures == failures else { return nil }
            defer { state = State(isUsable: true, failures: failures) }
            return state.isUsable
        }
        guard let wasUsable else { return false }
        guard !wasUsable else { return true }
        logger.notice(
            "the database can be used",
            metadata: [
                "database.name": "\(finding.database)", "database.role": "\(finding.role)", "schema.version": "\(finding.version)",
            ]
        )
        if let warning = finding.warning(expected) { logger.warning("\(warning)") }
        onChange(nil)
        return true
    }

    private func report(_ trouble: Trouble, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        let text = "\(message): \(metadata.values.map { "\($0)" }.joined())"
        let (isNew, isChanged) = state.withLock { state in
            defer { state.latest = text }
            state.trouble = trouble
            state.isUsable = false
            state.failures += 1
            return (state.reported.insert(text).inserted, state.latest != text)
        }
        if isNew { logger.warning(message, metadata: metadata) }
        if isChanged { onChange(text) }
    }
}

extension ConnectionPool.Configuration {
    /// The same configuration for a pool that lends a connection only after the gate's check has passed.
    package func checked(by gate: SchemaGate) -> Self {
        var copy = self
        copy.check = gate.check
        copy.openingFailed = gate.openingFailed
        return copy
    }
}
