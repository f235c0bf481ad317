import Postgres
import SQL

/// What imports cost, beside an item for each customer.
extension PlanCase {
    static let importing: [PlanCase] = [
        PlanCase("import_lease", as: "appstore_worker", of: 5, before: chunk("90, 95, 'ask', 0, false")) { pool, _ in
            let statement = Statement(
                .importLease,
                ["bundle_ids": ["b"], "environments": ["Production"], "depths": ["history"], "slots": [Int32(1)], "seconds": 120]
            )
            let rows = try await pool.withConnection { try await $0.query(statement) }
            guard rows.count == 1 else { throw WrongCount(found: rows.count) }
        },
        PlanCase("import_settle", as: "appstore_worker", of: 5, before: chunk("1, 201, 'ask', 1, true")) { pool, keys in
            for customer in keys {
                let statement = Statement(
                    .importSettle,
                    [
                        "import_id": 1, "first_line": 1, "epoch": 1, "line": customer, "bodies": [Array("{}".utf8)],
                        "contracts": ["\(customer)", "x"], "revision": "r", "has_more": false, "seconds": 120,
                    ]
                )
                let did = try await pool.withConnection { try await $0.query(statement)[0].decode(0, as: String?.self) }
                guard did == "settled" else { throw WrongCount(found: 0) }
            }
        },
        PlanCase("import_end_lease", as: "appstore_worker", of: 5, before: chunk("20, 25, 'ask', 1, true")) { pool, _ in
            let statement = Statement(
                .importEndLease,
                ["import_id": 1, "first_line": 20, "epoch": 1, "reason": nil as String?, "delay_milliseconds": 0, "counts": false]
            )
            _ = try await pool.withConnection { try await $0.query(statement) }
        },
        PlanCase("import_link_owners", as: "appstore_worker", of: 5, before: chunk("50, 55, 'link', 0, false", linkAt: "now()") + found) {
            pool,
            _ in
            let did = try await pool.withConnection { try await $0.query(Statement(.importLinkOwners))[0].decode(0, as: Bool.self) }
            guard did else { throw WrongCount(found: 0) }
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

    private static let found = """
        UPDATE appstore.import_items SET state = 'found', user_id = 'user x', reason = NULL WHERE line >= 50 AND line < 55;
        """
}
