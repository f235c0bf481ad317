import Postgres

extension VersionTwo {
    /// A table with facts or commands, which both versions have.
    struct Table {
        let name: String
        /// Its name in this version.
        var newName: String?
        /// Columns that version 2 fills by itself.
        var derived: [String] = []
        var condition = "true"

        static let all = [
            Table(
                name: "contracts",
                derived: [
                    "user_id", "owner_since", "is_contested", "bundle_id", "product_id", "product_type", "status", "will_renew",
                    "started_at",
                    "current_transaction_id", "current_period_start", "current_period_end", "revoked_at", "access_until",
                ]
            ),
            Table(name: "v1_renewals"),
            Table(name: "transactions"),
            Table(name: "client_posts", derived: ["post_id", "conflict"]),
            Table(name: "owner_links"),
            Table(name: "event_contracts"),
            Table(
                name: "orders",
                newName: "token_orders",
                derived: [
                    "status", "reason", "period_no", "transaction_id", "original_transaction_id", "web_order_line_item_id",
                    "paid_product_id",
                    "paid_at", "quantity", "price", "currency",
                ],
                condition: "t.ordered_at IS NOT NULL AND t.environment = 'Production' AND substr(t.order_no::text, 15, 1) <> '5'"
            ),
            Table(name: "refund_requests", condition: "t.kind <> 'reversed'"),
        ]

        func copy(from source: Connection, to target: Connection) async throws {
            let rows = try await source.query(
                "SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]')::text AS rows FROM appstore.\(identifier: newName ?? name) AS t WHERE \(unsafeRaw: condition)"
            )
            let text: String = try rows[0].decode("rows")
            let columns = try await target.query(
                """
                SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS names FROM pg_attribute AS a
                WHERE a.attrelid = \("appstore." + name)::text::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
                  AND a.attname::text <> ALL (\(derived))
                """
            )
            let names: String = try columns[0].decode("names")
            try await target.execute(
                """
                INSERT INTO appstore.\(identifier: name) (\(unsafeRaw: names)) OVERRIDING SYSTEM VALUE
                SELECT \(unsafeRaw: names) FROM jsonb_populate_recordset(NULL::appstore.\(identifier: name), \(text)::text::jsonb)
                """
            )
        }
    }
}
