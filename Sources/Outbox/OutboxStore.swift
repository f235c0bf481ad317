import AppStore
package import Postgres
import SQL

/// Runs the outbox's statements. Those that settle a call name its lease, and change nothing when there is a later lease.
struct OutboxStore: Sendable {
    let pool: ConnectionPool

    /// Leases due calls of these kinds in these lanes: those of the lowest priority number first, and of them those that wait longest. A call
    /// whose lease has expired is due.
    func lease(_ kinds: [String], in lanes: [CallLane], atMost count: Int, for length: Duration) async throws -> [LeasedCall] {
        try await pool.query(Self.lease(kinds, in: lanes, atMost: count, for: length)).map(LeasedCall.init)
    }

    /// False when there is a later lease.
    func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict) async throws -> Bool {
        try await pool.query(Self.settle(call, verdict))[0].decode(0)
    }

    /// Ends a lease without a result.
    func release(_ call: LeasedCall) async throws {
        _ = try await pool.query(.outboxReleaseCall(callID: call.callID, epoch: call.epoch))
    }

    static func lease(_ kinds: [String], in lanes: [CallLane], atMost count: Int, for length: Duration) -> Statement {
        .outboxLeaseCalls(
            bundleIDs: lanes.map(\.bundleID),
            environments: lanes.map(\.environment.rawValue),
            kinds: kinds,
            limit: Int64(count),
            lease: length
        )
    }

    /// Returns whether the lease is the latest.
    static func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict) -> Statement {
        switch verdict {
        case .answer(let bodies):
            answer(call, bodies)
        case .page(let bodies, let answer, let next):
            self.answer(call, bodies, answer: JSONText(String(decoding: answer, as: UTF8.self)), next: next)
        case .refuse(let reason): end(call, state: "refused", reason, fallsBack: true)
        case .deny(let reason): end(call, state: "refused", reason, fallsBack: false)
        case .giveUp(let reason): end(call, state: "given_up", reason, fallsBack: true)
        case .postpone(let reason, let delay, let countsAttempt):
            Statement.postponeCall(callID: call.callID, epoch: call.epoch, reason: reason, delay: delay, countsAttempt: countsAttempt)
        }
    }

    private static func answer(_ call: LeasedCall, _ bodies: [[UInt8]], answer: JSONText? = nil, next: [UInt8]? = nil) -> Statement {
        .answerCall(callID: call.callID, epoch: call.epoch, bodies: bodies, answer: answer, next: next)
    }

    private static func end(_ call: LeasedCall, state: String, _ reason: String, fallsBack: Bool) -> Statement {
        .endCall(callID: call.callID, epoch: call.epoch, state: state, reason: reason, fallsBack: fallsBack)
    }
}

extension LeasedCall {
    fileprivate init(_ row: Row) throws {
        let body: [UInt8]? = try row.decode("body")
        let source: String? = try row.decode("source")
        self.init(
            callID: try row.decode("call_id"),
            epoch: try row.decode("epoch"),
            kind: try row.decode("kind"),
            bundleID: try row.decode("bundle_id"),
            environment: AppStoreEnvironment(rawValue: try row.decode("environment")),
            priority: Int(try row.decode("priority", as: Int16.self)),
            event: body.flatMap { body in source.map { Event(source: $0, body: body) } },
            payload: try row.decode("payload"),
            attempts: Int(try row.decode("attempts", as: Int32.self)),
            lastReason: try row.decode("last_reason"),
            repeats: Int(try row.decode("repeats", as: Int32.self)),
            timeLeft: .milliseconds(try row.decode("milliseconds_left", as: Int64.self))
        )
    }
}

/// The statistics of open calls, from `appstore.outbox_statistics()`.
package struct OutboxStatistics: Hashable, Statistics {
    /// The number of open calls; ``countedTo`` means as many or more.
    package let open: Int64
    /// The age of the oldest counted call, by the database's clock; nil when there is none.
    package let oldest: Duration?

    package static let countedTo: Int64 = 10_000

    /// Reads the statistics; for the role worker.
    package static let statement = Statement.outboxStatistics()

    /// Decodes a row of ``statement``.
    package init(_ row: Row) throws {
        open = try row.decode("open")
        oldest = try row.decode("oldest", as: Duration?.self).map { max($0, .zero) }
    }
}
