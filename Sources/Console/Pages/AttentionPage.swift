import Postgres
import SQL

/// `GET /attention`: what waits for a person.
struct AttentionPage: ConsolePage {
    let path = "/attention"
    let area = ConsoleArea.attention
    private static let limit = 20

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let limit = Int32(Self.limit + 1)
        let rows = try await context.transaction.pipeline([
            Statement.consoleFailed(limit: limit),
            Statement.consoleUnmatched(environment: context.environment, limit: limit),
            Statement.consoleConsumption(environment: context.environment, limit: limit),
            Statement.consoleEndpoints(),
            Statement.consoleExternalPurchaseTokens(environment: context.environment, limit: limit),
        ])
        let (failed, unmatched) = (try failedRows(rows[0], context), try unmatchedRows(rows[1], context))
        let (consumption, endpoints) = (try consumptionRows(rows[2], context), try EndpointTroubles(rows[3]))
        let tokens = try tokenRows(rows[4], context)
        let environment = context.environment
        return .page(
            Page(
                title: "Attention",
                elsewhere: Elsewhere(
                    psql: [
                        "SELECT * FROM appstore.failed ORDER BY settled_at DESC LIMIT 20",
                        "SELECT * FROM appstore.unmatched WHERE environment = \(environment) LIMIT 20",
                        """
                        SELECT * FROM appstore.consumption_requests WHERE environment = \(environment) AND state IN ('waiting', 'refused') \
                        AND due_at > now() ORDER BY due_at LIMIT 20
                        """,
                        "SELECT * FROM appstore.external_purchase_tokens_due WHERE environment = \(environment) LIMIT 20",
                        "SELECT * FROM appstore.endpoint_status WHERE state <> 'enabled' OR breaker <> 'closed' OR given_up > 0",
                    ],
                    commands: ["appstore-inbox consumption list", "appstore-inbox endpoint list", "appstore-inbox doctor"]
                ),
                refreshSeconds: 30
            ) {
                h2 { "Failed events (\(shown(failed.count)))" }
                dataTable(
                    caption: "Events whose last attempt failed, in all environments",
                    columns: [
                        Column("Event", .number), Column("Settled"), Column("Type"), Column("Environment"), Column("Reason"),
                        Column("Last error"),
                    ],
                    rows: Array(failed.prefix(Self.limit)),
                    empty: "No event has failed."
                )
                if failed.count > Self.limit {
                    p { a(.href(context.url("events").with("q", "outcome:failed env:any"))) { "All failed events" } }
                }
                h2 { "Purchases without a clear owner (\(shown(unmatched.count)))" }
                dataTable(
                    caption: "Cases in \(environment) that need a decision",
                    columns: [
                        Column("Reason"), Column("What to do"), Column("User"), Column("Owner today"), Column("Contract"),
                        Column("Product"), Column("Bought"),
                    ],
                    rows: Array(unmatched.prefix(Self.limit)),
                    empty: "Each purchase has an owner."
                )
                h2 { "Consumption requests (\(shown(consumption.count)))" }
                dataTable(
                    caption: "Requests of Apple in \(environment) that wait for an answer, by the time that is left",
                    columns: [
                        Column("Transaction"), Column("Due"), Column("Time left"), Column("State"), Column("User"), Column("Product"),
                        Column("Apple's reason"),
                    ],
                    rows: Array(consumption.prefix(Self.limit)),
                    empty: "No request waits."
                )
                h2 { "External purchase tokens (\(shown(tokens.count)))" }
                dataTable(
                    caption: "Tokens for purchases outside the App Store in \(environment) to report to Apple within two days",
                    columns: [
                        Column("Token"), Column("App"), Column("Type"), Column("Report by"), Column("Apple said last"),
                        Column("Event", .number),
                    ],
                    rows: Array(tokens.prefix(Self.limit)),
                    empty: "No token is due."
                )
                h2 { "Endpoints (\(endpoints.troubles.count))" }
                endpointTable(endpoints, context)
                p {
                    a(.href(context.url("health"))) { "Health" }; " has the findings of all checks."
                }
            }
        )
    }

    private func shown(_ count: Int) -> String { count > Self.limit ? "\(Self.limit)+" : "\(count)" }

    private func failedRows(_ rows: Rows, _ context: ConsoleContext) throws -> [[Markup]] {
        try rows.map { row in
            let id: Int64 = try row.decode("event_id")
            let type = [try row.decode("notification_type", as: String?.self), try row.decode("subtype", as: String?.self)]
            return [
                Markup { a(.href(context.url("events", "\(id)"))) { "\(id)" } }, timeOf(try row.decode("settled_at")),
                .text(type.compactMap(\.self).joined(separator: " ").shortened),
                .text(try row.decode("environment", as: String?.self) ?? "–"),
                badge(.bad, try row.decode("reason", as: String.self).shortened),
                .text(try row.decode("last_error", as: String?.self)?.shortened ?? "–"),
            ]
        }
    }

    private func unmatchedRows(_ rows: Rows, _ context: ConsoleContext) throws -> [[Markup]] {
        try rows.map { row in
            let contract: String = try row.decode("original_transaction_id")
            return [
                badge(.warning, try row.decode("reason")), .text(try row.decode("resolution")), try user(row, "user_id", context),
                try user(row, "owner_user_id", context),
                Markup { a(.href(Customer.contract(contract).url(context))) { identifier(contract.shortened) } },
                identifier(try row.decode("product_id", as: String?.self)?.shortened), timeOf(try row.decode("purchase_date")),
            ]
        }
    }

    private func consumptionRows(_ rows: Rows, _ context: ConsoleContext) throws -> [[Markup]] {
        let now = PostgresTimestamp.now
        return try rows.map { row in
            let due: PostgresTimestamp = try row.decode("due_at")
            let left = gap(from: now, to: due)
            let isExpected: Bool = try row.decode("is_expected")
            return [
                identifier(try row.decode("transaction_id")), timeOf(due),
                left < .seconds(7200) && isExpected ? badge(.bad, gap(left)) : .text(gap(left)), .text(try row.decode("state")),
                try user(row, "user_id", context), identifier(try row.decode("product_id", as: String?.self)?.shortened),
                .text(try row.decode("reason", as: String?.self)?.shortened ?? "–"),
            ]
        }
    }

    private func tokenRows(_ rows: Rows, _ context: ConsoleContext) throws -> [[Markup]] {
        let now = PostgresTimestamp.now
        return try rows.map { row in
            let (due, id): (PostgresTimestamp, Int64) = (try row.decode("report_by"), try row.decode("last_event_id"))
            let subtype = try row.decode("subtype", as: String?.self) ?? "–"
            return [
                identifier(try row.decode("external_purchase_id", as: String.self).shortened),
                identifier(try row.decode("bundle_id", as: String.self).shortened),
                .text(try row.decode("token_type", as: String?.self)?.shortened ?? "–"), timeOf(due),
                gap(from: now, to: due) < .zero ? badge(.bad, subtype.shortened) : .text(subtype.shortened),
                Markup { a(.href(context.url("events", "\(id)"))) { "\(id)" } },
            ]
        }
    }

    private func user(_ row: Row, _ column: String, _ context: ConsoleContext) throws -> Markup {
        guard let user = try row.decode(column, as: String?.self) else { return .text("–") }
        return a(.href(Customer.user(user).url(context))) { identifier(user.shortened) }
    }

    private func endpointTable(_ endpoints: EndpointTroubles, _ context: ConsoleContext) -> Markup {
        Markup {
            dataTable(
                caption: "Endpoints that are not enabled, fail, or have given up deliveries",
                columns: [Column("Endpoint"), Column("State"), Column("Failing since"), Column("Given up", .number), Column("Why")],
                rows: endpoints.troubles.prefix(Self.limit).map { trouble in
                    [
                        Markup { a(.href(context.url("outgoing", trouble.name))) { trouble.name } },
                        badge(trouble.state == "disabled" ? .bad : .warning, trouble.state == "enabled" ? "failing" : trouble.state),
                        timeOf(trouble.failingSince), .text(counted(trouble.givenUp)),
                        .text((trouble.why ?? trouble.lastError)?.shortened ?? "–"),
                    ]
                },
                empty: endpoints.all == 0 ? "There are no endpoints." : "All endpoints are well."
            )
            moreRows(Int64(endpoints.troubles.count - Self.limit))
        }
    }
}

/// The endpoints that are not well.
struct EndpointTroubles {
    struct Trouble {
        let name: String
        let state: String
        let why: String?
        let breaker: String
        let failingSince: PostgresTimestamp?
        let givenUp: Int64
        let lastError: String?
    }

    /// How many endpoints there are.
    let all: Int64
    let troubles: [Trouble]

    init(_ rows: Rows) throws {
        all = try rows[0].decode("endpoints")
        troubles = try rows.compactMap { row in
            guard let name = try row.decode("name", as: String?.self) else { return nil }
            return Trouble(
                name: name,
                state: try row.decode("state"),
                why: try row.decode("why"),
                breaker: try row.decode("breaker"),
                failingSince: try row.decode("failing_since"),
                givenUp: try row.decode("given_up"),
                lastError: try row.decode("last_error")
            )
        }
    }
}
