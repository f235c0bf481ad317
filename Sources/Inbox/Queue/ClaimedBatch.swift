import Postgres
import SQL

/// The statements of a batch: which events a transaction takes, and what becomes of them.
enum ClaimedBatch {
    /// The advisory lock that the transaction holds from its claim to its end; see ``CrashMarkers``.
    typealias Lane = Int64

    /// How long the statements of a transaction may take.
    struct Timeouts: Sendable, Hashable {
        /// Each statement.
        let statement: Duration
        /// Each wait for a lock.
        let lock: Duration

        /// A lock has less time than a statement, so that a wait for a lock is not mistaken for a slow statement.
        init(statement: Duration, lock: Duration? = nil) {
            self.statement = statement
            self.lock = lock ?? statement * 4 / 5
        }

        /// The values of the two parameters; zero would be no limit.
        fileprivate var values: (statement: String, lock: String) {
            ("\(max(statement.wholeMilliseconds, 1))", "\(max(lock.wholeMilliseconds, 1))")
        }
    }

    /// Takes due events, longest waiting first, that no other transaction holds and that are not suspect: at most `limit`, and bodies of at
    /// most `bytes` together (one larger body still comes alone).
    ///
    /// - Parameter start: The first place that is looked at; see ``QueueMemory/nextClaim(at:)``.
    static func claim(limit: Int, bytes: Int, from start: QueuePosition, lane: Lane) -> Statement {
        Statement(
            .claim,
            [
                "from_run_at": start.runAt, "from_event_id": start.eventID, "contract": SchemaContract.current, "limit": limit,
                "lane": lane, "bytes": bytes,
            ]
        )
    }

    /// Takes events of a batch again whose merge was rolled back.
    ///
    /// - Parameter timeouts: of the later statements of the transaction.
    static func claimAgain(_ events: [Int64], lane: Lane, timeouts: Timeouts) -> Statement {
        Statement(
            .claimAgain,
            [
                "event_ids": events, "contract": SchemaContract.current, "lane": lane, "statement_timeout": timeouts.values.statement,
                "lock_timeout": timeouts.values.lock,
            ]
        )
    }

    /// What `last_error` says of a suspect whose process died when it no longer ran alone.
    static var lossBesideOthers: String { "its process died while it ran beside others" }

    /// Takes the least suspicious event of those that have to run alone, but none whose last time alone has still to be judged.
    static func claimSuspect(lane: Lane) -> Statement {
        Statement(.claimIsolated, ["contract": SchemaContract.current, "died_beside_others": lossBesideOthers, "lane": lane])
    }

    /// What the inbox has of events.
    ///
    /// - Parameter timeouts: of the later statements of the transaction; nil for those of the role.
    static func bodies(of events: [Int64], timeouts: Timeouts?) -> Statement {
        Statement(
            .readBodies,
            [
                "statement_timeout": timeouts?.values.statement, "lock_timeout": timeouts?.values.lock, "event_ids": events,
                "first_event_id": events.min() ?? 0, "last_event_id": events.max() ?? 0,
            ]
        )
    }

    /// Sets the timeouts of the later statements of the transaction; nil for those of the role.
    static func set(_ timeouts: Timeouts?) -> Statement {
        Statement(.setTimeouts, ["statement_timeout": timeouts?.values.statement, "lock_timeout": timeouts?.values.lock])
    }

    /// Looks for the first event of the queue, held or not, without locking anything. To be the first statement of its transaction.
    static func probe(_ look: LowWaterMark.Look) -> Statement {
        Statement(
            .probeQueue,
            ["is_numbered": look.isNumbered, "from_run_at": look.from.runAt, "from_event_id": look.from.eventID]
        )
    }

    /// Records outcomes, takes their events out of the queue, and the crash markers of those lanes away.
    static func settle(_ outcomes: [SettlementPlan.Settled], closing lanes: [Lane]) -> Statement {
        let events = outcomes.map(\.event)
        let labels = outcomes.map(\.outcome.labels)
        return Statement(
            .settleBatch,
            [
                "lanes": lanes, "event_ids": events.map(\.eventID), "sources": events.map(\.source),
                "received_at": events.map(\.receivedAt), "runs": events.map(\.run), "attempts": outcomes.map { Int32($0.attempts) },
                "results": outcomes.map(\.outcome.result.rawValue), "reasons": outcomes.map(\.outcome.reason),
                "last_errors": outcomes.map(\.error), "notification_types": labels.map(\.notificationType),
                "subtypes": labels.map(\.subtype), "notification_uuids": labels.map(\.notificationUUID),
                "environments": labels.map(\.environment), "bundle_ids": labels.map(\.bundleID),
                "transaction_ids": labels.map(\.transactionID), "original_transaction_ids": labels.map(\.originalTransactionID),
            ]
        )
    }

    /// Sends events back to wait. Their rows are locked by the claim, so that a plain UPDATE cannot meet another in the wrong order.
    static func postpone(_ retries: [SettlementPlan.Retry]) -> [Statement] {
        guard !retries.isEmpty else { return [] }
        return [
            Statement(
                .postponeEvents,
                [
                    "event_ids": retries.map(\.event.eventID), "are_attempts": retries.map(\.isAttempt),
                    "are_isolated": retries.map(\.isSuspect), "delays": retries.map(\.delay.wholeMilliseconds),
                    "errors": retries.map(\.error),
                ]
            )
        ]
    }
}

extension Duration {
    var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
