import Foundation
import InboxTesting
import Postgres
import PostgresTesting

/// The ledger of one test. Facts are inserted as rows, as the merge leaves them; orders, claims and contracts are derived as usual.
struct TestLedger {
    let database: TestDatabase

    static func with(in cluster: TestCluster = .shared, _ body: (TestLedger) async throws -> Void) async throws {
        try await body(TestLedger(database: InboxDatabase.make(in: cluster)))
    }

    func run(_ statement: Statement, as user: String = "postgres") async throws {
        try await database.withConnection(user: user) { connection in _ = try await connection.execute(statement) }
    }

    func lines(_ statement: Statement) async throws -> [String] {
        try await database.lines(statement)
    }

    /// Merges charges; an existing one is replaced, except for its first fact.
    func put(_ charges: Charge...) async throws {
        for charge in charges {
            try await run(charge.statement)
            try await derive(charge.environment, charges: [charge.id])
        }
    }

    func put(_ renewal: Renewal) async throws {
        try await run(renewal.statement)
        try await derive(renewal.environment, contracts: [renewal.contract])
    }

    func makeOrder(_ no: UUID, user: String, product: String = "pro.monthly", bundle: String? = nil) async throws {
        try await run("SELECT appstore.create_order(\(user), \(product), \(no), \(bundle))", as: "appstore_backend")
    }

    /// A client of this user posted this charge.
    func submit(_ charge: String, of contract: String = "1000", by user: String, onDay day: Double) async throws {
        try await run(
            """
            INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
            VALUES ('Production', \(contract), \(user), false, \(charge), \(timestamp(day)), 1)
            """
        )
        try await derive("Production", charges: [charge], contracts: [contract])
    }

    /// A client posted a receipt with this contract, and named a charge of it as just made, or none.
    func submitReceipt(of contract: String = "1000", naming charge: String? = nil, by user: String, onDay day: Double) async throws {
        try await run(
            """
            INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
            VALUES ('Production', \(contract), \(user), true, \(charge), \(timestamp(day)), 1)
            """
        )
        try await derive("Production", contracts: [contract])
    }

    func link(_ contract: String = "1000", to user: String, onDay day: Double) async throws {
        try await run(
            "SELECT appstore.record_owner_link('Production', \(contract), \(user), \(timestamp(day)), 'operator', 'receipt shown')"
        )
    }

    /// Apple asked (`asked`) or decided (`refunded`, `declined`) about a charge.
    func say(_ kind: String, of charge: String = "1000", onDay day: Double, reason: String? = nil) async throws {
        let uuid = UUID()
        try await run(
            """
            INSERT INTO appstore.refund_requests
            VALUES ('Production', \(uuid), \(kind), \(charge), \(charge), \(reason), \(timestamp(day)))
            """
        )
        try await run("SELECT appstore.derive_refund_requests('Production', ARRAY[\(charge)])")
    }

    private func derive(_ environment: String, charges: [String] = [], contracts: [String] = []) async throws {
        try await run("SELECT appstore.derive_ledger(\(environment)::appstore.environment, \(charges), \(contracts))")
    }
}

/// The instant this many days after 2026-01-01.
func timestamp(_ day: Double) -> PostgresTimestamp {
    PostgresTimestamp(millisecondsSince1970: 1_767_225_600_000 + Int64(day * 86_400_000))
}

func timestamp(_ day: Double?) -> PostgresTimestamp? {
    day.map { timestamp($0) }
}
