import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting
import Testing

/// A merge reads rows by key, whatever statistics the planner had.
struct LookupTests {
    /// The rows of each table that this connection has read, by any access path. The count includes reads of earlier transactions that
    /// were not reported yet.
    private func rowsRead(in transaction: Transaction) async throws -> [String: Int64] {
        let rows = try await transaction.query(
            """
            SELECT relname::text AS table, seq_tup_read + coalesce(idx_tup_fetch, 0) AS read
            FROM pg_stat_xact_user_tables WHERE schemaname = 'appstore'
            """
        )
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.decode("table"), try $0.decode("read")) })
    }

    /// Renewal `period` of each contract; all periods of a contract name the order of the first.
    private func renewals(_ period: Int, contracts: Range<Int>) throws -> [EventFacts] {
        try contracts.map { contract in
            var charge = Facts.Charge("\(1_000_000 + contract * 100 + period)", onDay: Double(period) * 30, token: Self.token(contract))
            charge.contract = "\(1_000_000 + contract * 100)"
            charge.lineItem = "\(5_000_000 + contract * 100 + period)"
            let granted = Effect(
                key: EffectKey(environment: .production, kind: .granted, subject: "\(charge.contract)/\(charge.lineItem ?? "")"),
                occurredAt: Facts.timestamp(Facts.day(charge.purchaseDay)),
                originalTransactionID: charge.contract,
                transactionID: charge.id,
                productID: charge.product
            )
            return Facts.event(
                Int64(contract * 100 + period),
                transaction: try charge.fact(),
                subscription: Facts.subscription(charge.contract, signedDate: Facts.day(charge.purchaseDay), status: .active),
                effects: [granted]
            )
        }
    }

    private static func token(_ contract: Int) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, UInt8(contract / 256), UInt8(contract % 256)))
    }

    enum Statistics: CaseIterable {
        /// The plans are cached from when the tables were empty.
        case stale
        /// The tables have never been analysed.
        case absent
        /// The tables were vacuumed and analysed while they were empty.
        case empty
        case fresh
    }

    @Test(arguments: Statistics.allCases)
    func `a batch reads a few rows for each event, independent of the size of the tables`(statistics: Statistics) async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        func merge(_ events: [EventFacts]) async throws -> [String: Int64] {
            try await pool.withTransaction { transaction in
                let before = try await rowsRead(in: transaction)
                _ = try await LedgerMerger.merge(BatchFold(events), in: transaction)
                return try await rowsRead(in: transaction).merging(before, uniquingKeysWith: -)
            }
        }
        if statistics == .empty {
            try await database.withConnection { _ = try await $0.execute("VACUUM ANALYZE") }
        }
        if statistics == .stale {
            for contract in 0..<8 { _ = try await merge(try renewals(0, contracts: contract..<contract + 1)) }
        }
        for period in 0..<4 {
            for start in stride(from: 100, to: 2100, by: 500) { _ = try await merge(try renewals(period, contracts: start..<start + 500)) }
        }
        if statistics == .fresh {
            try await database.withConnection { try await $0.runScript("ANALYZE") }
        }
        let batches = [
            ("renewals", try renewals(4, contracts: 100..<150), most: 40),
            // The contracts are new, so that the general derivation runs.
            ("first charges", try renewals(0, contracts: 2100..<2150), most: 50),
            ("late charges", try renewals(-1, contracts: 150..<200), most: 50),
        ]
        for (name, batch, most) in batches {
            for (table, rows) in try await merge(batch) {
                #expect(rows < 50 * Int64(most), "\(rows) rows of \(table) read for 50 \(name) among 8,000 charges")
            }
        }
        await pool.close()
    }
}
