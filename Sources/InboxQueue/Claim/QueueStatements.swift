package import Postgres
import SQL
import ServiceSupport

/// The statements of the queue, with their binds and their rows.
enum QueueStatements {
    /// The advisory lock that a batch's transaction holds from its claim to its end; see ``CrashMarkers``.
    typealias Lane = Int64

    /// Takes due events, longest waiting first, that no other transaction holds and that are not isolated: at most `limit`, and bodies of at
    /// most `bytes` together (one larger body still comes alone).
    ///
    /// - Parameter start: The first place that is looked at; see ``ClaimCursor``.
    static func claim(limit: Int, bytes: Int, from start: QueuePosition, lane: Lane) -> Statement {
        .claim(
            fromRunAt: start.runAt,
            fromEventID: start.eventID,
            contract: SchemaContract.current,
            limit: Int64(limit),
            lane: lane,
            bytes: Int64(bytes)
        )
    }

    /// Takes one due event by its id, with what the inbox has of it but the body.
    static func claim(_ eventID: Int64, lane: Lane) -> Statement {
        .claimEvent(eventID: eventID, contract: SchemaContract.current, lane: lane)
    }

    /// Chooses the isolated event with the fewest deaths and writes its crash marker.
    static func reserveIsolated(lane: Lane) -> Statement {
        .reserveIsolated(contract: SchemaContract.current, lane: lane)
    }

    /// Reads the bodies of claimed events.
    ///
    /// - Parameter timeout: of the later statements of the transaction. A lock has less time than a statement, so that a wait for a lock is not
    ///   mistaken for a slow statement.
    static func bodies(of events: [Int64], timeout: Duration) -> Statement {
        .readBodies(
            statementTimeout: "\(timeout.milliseconds)",
            lockTimeout: "\((timeout * 4 / 5).milliseconds)",
            eventIDs: events,
            firstEventID: events.min() ?? 0,
            lastEventID: events.max() ?? 0
        )
    }

    /// Finds the first event of the queue, held or not, without locking anything. To be the first statement of its transaction.
    static func probe(_ look: LowWaterMark.Look) -> Statement {
        .probeQueue(isNumbered: look.isNumbered, fromRunAt: look.from.runAt, fromEventID: look.from.eventID)
    }

    /// What a batch sends with its COMMIT: records outcomes, takes their events out of the queue, has the others wait, and removes the crash marker
    /// of the lane.
    static func record(_ plan: SettlementPlan, lane: Lane) -> [Statement] {
        let settle = settle(plan.outcomes, lane: lane)
        return plan.retries.isEmpty ? [settle] : [settle, postpone(plan.retries)]
    }

    private static func settle(_ outcomes: [SettlementPlan.Settled], lane: Lane) -> Statement {
        let events = outcomes.map(\.event)
        let labels = outcomes.map(\.outcome.labels)
        return .settle(
            lanes: [lane],
            eventIDs: events.map(\.eventID),
            sources: events.map(\.source),
            receivedAt: events.map(\.receivedAt),
            runs: events.map(\.run),
            attempts: outcomes.map { Int32($0.attempts) },
            results: outcomes.map(\.outcome.result.rawValue),
            reasons: outcomes.map(\.outcome.reason),
            lastErrors: outcomes.map(\.error),
            notificationTypes: labels.map(\.notificationType),
            subtypes: labels.map(\.subtype),
            notificationUUIDs: labels.map(\.notificationUUID),
            environments: labels.map(\.environment),
            bundleIDs: labels.map(\.bundleID),
            transactionIDs: labels.map(\.transactionID),
            originalTransactionIDs: labels.map(\.originalTransactionID),
            oddMembers: notes(labels)
        )
    }

    /// Odd members and unknown values in one text for each outcome; nil where no outcome has any, as a rule.
    private static func notes(_ labels: [OutcomeLabels]) -> [String]? {
        guard labels.contains(where: { !$0.oddMembers.isEmpty || !$0.unknownValues.isEmpty }) else { return nil }
        return labels.map { ($0.oddMembers + $0.unknownValues).joined(separator: " ") }
    }

    /// Sends events back to wait. The claim has locked their rows, so that two of these updates cannot deadlock.
    private static func postpone(_ retries: [SettlementPlan.Retry]) -> Statement {
        .postponeEvents(
            eventIDs: retries.map(\.event.eventID),
            areAttempts: retries.map(\.isAttempt),
            areIsolated: retries.map(\.isIsolated),
            areBlocked: retries.map(\.isBlocked),
            delays: retries.map(\.delay.milliseconds),
            errors: retries.map(\.error)
        )
    }

    /// Writes the crash marker of a batch.
    static func mark(_ events: [Int64], lane: Lane) -> Statement {
        .markBatch(lane: lane, eventIDs: events)
    }

    /// How many deaths of its process make an event `failed`.
    private static var maximumDeaths: Int32 { 3 }

    /// Removes the markers of those lanes, and judges batches that ended without a commit.
    static func recover(removing lanes: [Lane], _ configuration: QueueConfiguration, grace: Duration) -> Statement {
        .recoverBatches(lanes: lanes, grace: grace, isolatedGrace: configuration.isolatedGrace, maximumDeaths: maximumDeaths)
    }

    /// Claimed events without their bodies.
    static func events(_ rows: Rows) throws -> [ClaimedEvent] {
        try rows.map { row in
            ClaimedEvent(
                eventID: try row.decode("event_id"),
                claimedAt: try row.decode("claimed_at"),
                attempts: Int(try row.decode("attempts", as: Int16.self)),
                run: try row.decode("run")
            )
        }
    }

    /// The event of ``claim(_:lane:)``, with all but its body.
    static func event(_ rows: Rows) throws -> ClaimedEvent? {
        guard let row = rows.first, var event = try events(rows).first else { return nil }
        event.source = try row.decode("source")
        event.receivedAt = try row.decode("received_at")
        event.blockedSince = try row.decode("blocked_since")
        return event
    }

    /// Those of claimed events that the inbox still has, in their order, with their bodies. The end of the transaction releases the others.
    static func events(_ keys: [ClaimedEvent], with bodies: Rows) throws -> [ClaimedEvent] {
        var indices: [Int64: Int] = [:]
        for (index, row) in bodies.enumerated() { indices[try row.decode("event_id")] = index }
        return try keys.compactMap { key in
            guard let index = indices[key.eventID] else { return nil }
            let row = bodies[index]
            var event = key
            event.source = try row.decode("source")
            event.receivedAt = try row.decode("received_at")
            event.body = try row.decode("body")
            return event
        }
    }

    /// The place behind the last claimed event.
    static func end(_ rows: Rows) throws -> QueuePosition? {
        guard let row = rows.last else { return nil }
        return QueuePosition(runAt: try row.decode("run_at"), eventID: try row.decode("event_id", as: Int64.self) + 1)
    }

    static func probe(_ rows: Rows, _ look: LowWaterMark.Look) throws -> LowWaterMark.Probe {
        let row = rows[0]
        var probe = LowWaterMark.Probe(
            from: look.from,
            serverStart: try row.decode("server_start"),
            at: try row.decode("probed_at"),
            xmin: try row.decode("xmin"),
            xid: try row.decode("xid")
        )
        probe.duration = .microseconds(
            try row.decode("ended_at", as: PostgresTimestamp.self).microsecondsSince2000 - probe.at.microsecondsSince2000
        )
        if let runAt = try row.decode("run_at", as: PostgresTimestamp?.self) {
            probe.first = QueuePosition(runAt: runAt, eventID: try row.decode("event_id"))
        }
        return probe
    }
}

/// An event that this transaction holds: no other worker can claim it until the transaction ends.
package struct ClaimedEvent: Sendable {
    package let eventID: Int64
    /// Where it came in, such as `notification_v2`; empty until its body has been read.
    package internal(set) var source: String
    package internal(set) var receivedAt: PostgresTimestamp
    /// When this attempt began, by the database's clock.
    package let claimedAt: PostgresTimestamp
    /// Attempts of this run that failed before.
    package let attempts: Int
    /// Exactly as it was received; empty before it has been read, and once it has been prepared.
    package internal(set) var body: [UInt8]
    /// 1, and one more after each requeue.
    let run: Int32
    /// Since when each run has been blocked; nil when the last one was not, and before the event runs by itself.
    fileprivate var blockedSince: PostgresTimestamp?

    /// An event whose body has not been read.
    init(eventID: Int64, claimedAt: PostgresTimestamp, attempts: Int, run: Int32) {
        self.eventID = eventID
        source = ""
        receivedAt = claimedAt
        self.claimedAt = claimedAt
        self.attempts = attempts
        body = []
        self.run = run
    }

    /// For how long it had been blocked when it was claimed.
    var blockedFor: Duration {
        .microseconds(max(0, claimedAt.microsecondsSince2000 - (blockedSince ?? claimedAt).microsecondsSince2000))
    }

    /// How long ago it had been received when it was claimed, both by the database's clock.
    var age: Duration {
        .microseconds(max(0, claimedAt.microsecondsSince2000 - receivedAt.microsecondsSince2000))
    }
}
