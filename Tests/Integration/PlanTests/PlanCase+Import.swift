import Postgres
import SQL

/// What imports cost, beside an item for each customer.
extension PlanCase {
    static let importing: [PlanCase] = [
        PlanCase("lease_import_chunks", as: "appstore_worker", of: 5, before: chunk("90, 95, 'ask', 0, false")) { pool, _ in
            let statement = Statement.leaseImportChunks(
                bundleIDs: ["b"],
                environments: ["Production"],
                depths: ["history"],
                slots: [Int32(1)],
                seconds: 120
            )
            let rows = try await pool.withConnection { try await $0.query(statement) }
            guard rows.count == 1 else { throw WrongCount(found: rows.count) }
        },
        PlanCase("settle_import_item", as: "appstore_worker", of: 5, before: chunk("1, 201, 'ask', 1, true")) { pool, keys in
            for customer in keys {
                let statement = Statement.settleImportItem(
                    importID: 1,
                    firstLine: 1,
                    epoch: 1,
                    line: Int32(customer),
                    bodies: [Array("{}".utf8)],
                    contracts: ["\(customer)", "x"],
                    revision: "r",
                    hasMore: false,
                    seconds: 120
                )
                let did = try await pool.withConnection { try await $0.query(statement)[0].decode(0, as: String?.self) }
                guard did == "settled" else { throw WrongCount(found: 0) }
            }
        },
        PlanCase("end_import_lease", as: "appstore_worker", of: 5, before: chunk("20, 25, 'ask', 1, true")) { pool, _ in
            let statement = Statement.endImportLease(importID: 1, firstLine: 20, epoch: 1, reason: nil, delay: .zero, counts: false)
            _ = try await pool.withConnection { try await $0.query(statement) }
        },
        PlanCase("link_import_owners", as: "appstore_worker", of: 5, before: chunk("50, 55, 'link', 0, false", linkAt: "now()") + found) {
            pool,
            _ in
            let did = try await pool.withConnection { try await $0.query(.linkImportOwners())[0].decode(0, as: Bool.self) }
            guard did else { throw WrongCount(found: 0) }
        },
        PlanCase("set_import_token", as: "appstore_worker", of: 5, before: chunk("70, 75, 'token', 0, false") + tokens) { pool, keys in
            for _ in keys {
                let did = try await pool.withConnection { try await $0.query(.setImportToken())[0].decode(0, as: Bool.self) }
                guard did else { throw WrongCount(found: 0) }
            }
        },
    ]

    /// The only chunk, of an import that runs: an earlier round may have ended it.
    private static func chunk(_ values: String, linkAt: String = "NULL") -> String {
        """
        UPDATE appstore.imports SET state = 'running', ended_at = NULL;
        DELETE FROM appstore.import_chunks;
        INSERT INTO appstore.import_chunks (import_id, first_line, end_line, phase, epoch, is_leased, environment, link_at)
        SELECT 1, c.*, 'Production', \(linkAt) FROM (VALUES (\(values))) AS c;
        """
    }

    private static let tokens = """
        INSERT INTO appstore.import_tokens (import_id, line, id, user_id, token)
        SELECT 1, n, n::text, 'user ' || n, gen_random_uuid() FROM generate_series(70, 74) AS n
        ON CONFLICT (import_id, line) DO UPDATE SET error = NULL, token = excluded.token;
        """

    private static let found = """
        UPDATE appstore.import_items SET state = 'found', user_id = 'user x', reason = NULL WHERE line >= 50 AND line < 55;
        """
}
