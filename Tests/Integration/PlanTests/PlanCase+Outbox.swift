import AppStore
import Foundation
import InboxQueue
import LedgerStore
import Postgres
import SQL

@testable import Outbox
@testable import ServerAPI

/// Settling calls while many others wait.
extension PlanCase {
    static let calling: [PlanCase] = [
        settlement("answer_call", by: .answer([Array("an answer".utf8)])),
        settlement("end_call", by: .refuse(reason: "by_test")),
        settlement("postpone_call", by: .postpone(reason: "by_test", by: .seconds(3600))),
        .statement("take_api_budget", as: "appstore_worker") {
            SharedBudget.take(.consumption, CallLane("b \($0)", .production), .deadline, wanted: 1, share: 0.8)
        },
        .statement("ask_apple", as: "appstore_operator") { customer in
            Statement.askApple(kind: "subscription_statuses", id: "\(customer)", bundleID: "b", environment: "Production", productID: nil)
        },
        .statement("extend_renewal_date", as: "appstore_operator") { customer in
            Statement.extendRenewalDate(
                originalTransactionID: "\(customer)",
                days: Int32(1),
                reason: Int32(0),
                requestIdentifier: "r\(customer)",
                bundleID: "b",
                environment: "Production"
            )
        },
        .statement("call_document", as: "appstore_operator") { Statement.callDocument(callID: Int64($0)) },
        // A command of a moment keeps no plan.
        PlanCase("doctor_test_arrived", as: "appstore_viewer", warmUps: 0) { pool, _ in
            let statement = Statement.doctorTestArrived(notificationUUID: UUID(), environment: "Production")
            _ = try await pool.withConnection { try await $0.query(statement) }
        },
        // Looks at ten thousand outcomes.
        PlanCase("odd_members", as: "appstore_viewer", entries: 11_500, pages: 11_500, warmUps: 0) { pool, _ in
            _ = try await pool.withConnection { try await $0.query(Statement.oddMembers()) }
        },
        PlanCase("unknown_values", as: "appstore_worker", entries: 11_500, pages: 11_500, warmUps: 0) { pool, _ in
            _ = try await pool.withConnection { try await $0.query(Statement.unknownValues()) }
        },
        // Counts up to ten thousand rows.
        PlanCase("external_purchase_token_statistics", as: "appstore_worker", entries: 11_500, pages: 11_500, warmUps: 0) { pool, _ in
            _ = try await pool.withConnection { try await $0.query(Statement.externalPurchaseTokenStatistics()) }
        },
        .statement("mark_external_purchase_token_reported", as: "appstore_operator") { customer in
            Statement.markExternalPurchaseTokenReported(
                environment: "Production",
                externalPurchaseID: "token \(customer)",
                reportedAt: PostgresTimestamp(millisecondsSince1970: 1_767_225_600_000 + Int64(customer))
            )
        },
        PlanCase("release_call", as: "appstore_worker", of: 10, pages: 200, before: longDue) { pool, keys in
            let store = OutboxStore(pool: pool)
            for call in try await lease(keys.count, from: store) { try await store.release(call) }
        },
        PlanCase("expire_calls", as: "appstore_worker", of: 50, before: aged) { pool, _ in
            let rows = try await pool.withConnection { try await MaintenanceTask.ageCalls.step(on: $0)?.rows } ?? 0
            guard rows >= 3 else { throw WrongCount(found: rows) }
        },
        // Counts up to ten thousand rows.
        PlanCase("outbox_statistics", as: "appstore_worker", entries: 11_500, pages: 11_500) { pool, _ in
            _ = try await pool.withConnection { try await $0.query(OutboxStatistics.statement) }
        },
        PlanCase("fallback from answers", as: "appstore_worker", of: 10, pages: 200, before: answered) { pool, keys in
            let answers = keys.map { firstAnswer + Int64($0) }
            try await pool.withTransaction { try await OutboundFallback.fallBack(from: answers, in: $0) }
            let used = try await pool.withConnection { connection in
                try await connection.query(
                    "SELECT call_id FROM appstore.outbox WHERE answer_event_id = ANY (\(answers)) AND fallback_event_id IS NOT NULL"
                )
            }
            guard used.count == keys.count else { throw WrongCount(found: used.count) }
        },
    ]

    /// Leases ten calls and settles each with this verdict.
    private static func settlement(_ name: String, by verdict: CallRules.Verdict) -> PlanCase {
        PlanCase(name, as: "appstore_worker", of: 10, pages: 200, before: longDue) { pool, keys in
            let store = OutboxStore(pool: pool)
            for call in try await lease(keys.count, from: store) {
                guard try await store.settle(call, verdict) else { throw WrongCount(found: 0) }
            }
        }
    }

    /// Of an app without calls and of one with many.
    static let lanes = ["a", "b"].map { CallLane($0, .production) }

    private static func lease(_ count: Int, from store: OutboxStore) async throws -> [LeasedCall] {
        let calls = try await store.lease(["verify_receipt"], in: lanes, atMost: count, for: .seconds(120))
        guard calls.count == count else { throw WrongCount(found: calls.count) }
        return calls
    }

    /// Makes ten calls, with an unused fallback, due for longer than any other. Bodies of the first hundred may be gone.
    private static let longDue = """
        UPDATE appstore.outbox
        SET run_at = now() - interval '1 day', is_leased = false, fallback_source = 'unanswered_receipt'
        WHERE call_id = ANY (ARRAY(
            SELECT call_id FROM appstore.outbox WHERE state = 'open' AND fallback_event_id IS NULL
            ORDER BY event_id <= 100, call_id LIMIT 10));
        """

    /// Three calls whose fallback is to be used, three to be given up and three to be deleted.
    private static let aged = """
        UPDATE appstore.outbox SET asked_at = now() - interval '1 hour', fallback_source = 'unanswered_receipt'
        WHERE call_id = ANY (ARRAY(
            SELECT call_id FROM appstore.outbox WHERE state = 'open' AND fallback_event_id IS NULL
            ORDER BY event_id <= 100, call_id LIMIT 3));
        UPDATE appstore.outbox SET deadline_at = now() - interval '2 hours', run_at = now() - interval '2 hours'
        WHERE call_id = ANY (ARRAY(SELECT call_id FROM appstore.outbox WHERE state = 'open' ORDER BY call_id DESC LIMIT 3));
        UPDATE appstore.outbox SET settled_at = now() - interval '31 days'
        WHERE call_id = ANY (ARRAY(SELECT call_id FROM appstore.outbox WHERE state = 'answered' ORDER BY call_id DESC LIMIT 3));
        """

    /// The answer about customer 7 is the seventh event after this one.
    private static let firstAnswer: Int64 = 5_000_000_000

    /// Every answered call has its answer, and an unused fallback.
    private static let answered = """
        UPDATE appstore.outbox SET answer_event_id = \(firstAnswer) + event_id, fallback_source = 'unanswered_receipt'
        WHERE state = 'answered' AND answer_event_id IS NULL;
        """
}
