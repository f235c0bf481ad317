import Postgres
import SQL

/// What follows for the events of batches that ended without a commit.
///
/// A process that lives, and has only lost its connection, has time to say so. After that those who were in company become suspects: each runs
/// alone from now on, and no attempt is counted. A suspect that was lost while it ran alone is left to wait meanwhile, longer; after that it has
/// killed its process, which counts as an attempt; it backs off, and after the last death it is `failed`.
enum LostBatches {
    /// How strict to be.
    struct Rules: Sendable {
        /// How long a process has to say that it lives after a batch in company was found lost.
        var companyGrace: Duration
        /// The same for a suspect that ran alone.
        var grace: Duration
        /// How many deaths make an event `failed`, and how long it backs off after each.
        var deaths: RetryPolicy
        /// How many lost batches one look judges, so that it ends in time; the rest is for the next one.
        var batchesPerLook = 8
    }

    /// A lost batch's crash marker.
    struct Marker: Sendable {
        let lane: ClaimedBatch.Lane
        let eventIDs: [Int64]
        let isAlone: Bool
        /// Whether it was found lost before.
        let isNoted: Bool
        /// Whether its process has had its time.
        let isOverdue: Bool
        /// Whether PostgreSQL was started anew since: the batch ended with the server, and no event is at fault.
        var endedWithServer = false
    }

    /// What is to be done about a marker.
    enum Verdict: Equatable {
        /// Its process has time to speak for them, who may go on meanwhile.
        case noted
        /// These run alone from now on.
        case suspects([Int64])
        /// It is to wait until its process has had time to speak for it.
        case respite(Int64)
        /// It killed its process, or had its process be ended, for that reason.
        case death(Int64, reason: String)
        /// Somebody else has it in his hands, or its time has not come: later.
        case later
    }

    /// - Parameters:
    ///   - held: The marker's events that are still unsettled and held by who asks.
    ///   - waiting: Its events that are still unsettled.
    static func verdict(on marker: Marker, held: Set<Int64>, waiting: Set<Int64>) -> Verdict {
        if marker.endedWithServer { return .suspects([]) }
        guard marker.isAlone, let event = marker.eventIDs.first else {
            // What another batch holds by now is that batch's affair, and its marker's.
            if marker.isOverdue { return .suspects(marker.eventIDs.filter(held.contains)) }
            return marker.isNoted ? .later : .noted
        }
        guard waiting.contains(event) else { return .suspects([]) }
        guard held.contains(event) else { return .later }
        guard marker.isNoted else { return .respite(event) }
        return marker.isOverdue ? .death(event, reason: "killed_worker") : .later
    }

    /// Looks for lost batches. In a transaction it keeps their lanes, so that no other worker judges them.
    static func find(_ rules: Rules) -> Statement {
        Statement(
            .findLostBatches,
            [
                "grace_alone": rules.grace.wholeMilliseconds, "grace_together": rules.companyGrace.wholeMilliseconds,
                "limit": rules.batchesPerLook,
            ]
        )
    }

    /// The lanes of lost batches, and a report that says whether an event that has to run alone is due.
    static func found(_ rows: Rows) throws -> (lanes: [ClaimedBatch.Lane], report: LossReport) {
        (try rows[0].decode("lanes"), LossReport(suspectsAreDue: try rows[0].decode("isolated_are_due")))
    }

    /// Looks for lost batches and carries the verdicts out.
    static func judge(_ rules: Rules, in transaction: Transaction) async throws -> LossReport {
        var (lanes, report) = try found(await transaction.query(find(rules)))
        guard !lanes.isEmpty else { return report }

        // A batch that has just been committed had its lane freed after its marker was gone, which only a later statement sees.
        let markers = try await lock(lanes, rules, in: transaction)
        let ids = Set(markers.flatMap(\.eventIDs)).sorted()
        let waiting = try await transaction.query(Statement(.findUnsettled, ["event_ids": ids]))
        let events = try await hold(ids, in: transaction)
        let held = Set(events.map(\.eventID))
        let unsettled = try Set(waiting.map { try $0.decode(0, as: Int64.self) })
        var consequences = Consequences(rules: rules, events: events)
        for marker in markers {
            consequences.add(verdict(on: marker, held: held, waiting: unsettled), of: marker.lane)
        }
        _ = try await transaction.pipeline(consequences.statements)
        report.add(consequences)
        report.hasMore = lanes.count == rules.batchesPerLook && !consequences.isEmpty
        return report
    }

    private static func lock(_ lanes: [ClaimedBatch.Lane], _ rules: Rules, in transaction: Transaction) async throws -> [Marker] {
        let rows = try await transaction.query(
            Statement(
                .lockLostMarkers,
                [
                    "grace_alone": rules.grace.wholeMilliseconds, "grace_together": rules.companyGrace.wholeMilliseconds, "lanes": lanes,
                ]
            )
        )
        return try rows.map { row in
            Marker(
                lane: try row.decode("lane"),
                eventIDs: try row.decode("event_ids"),
                isAlone: try row.decode("is_alone"),
                isNoted: try row.decode("is_noted"),
                isOverdue: try row.decode("is_overdue"),
                endedWithServer: try row.decode("ended_with_server")
            )
        }
    }

    private static func hold(_ ids: [Int64], in transaction: Transaction) async throws -> [ClaimedEvent] {
        let rows = try await transaction.query(
            Statement(.holdLostEvents, ["event_ids": ids, "first_event_id": ids.first ?? 0, "last_event_id": ids.last ?? 0])
        )
        return try zip(ClaimedBatch.suspects(rows), rows).map { event, row in
            event.with(source: try row.decode("source"), receivedAt: try row.decode("received_at"), body: [])
        }
    }
}
