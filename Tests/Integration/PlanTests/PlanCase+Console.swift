import Postgres
import SQL
import Testing

/// The pages of the console, which must be as quick with ten million outcomes.
extension PlanCase {
    static let looking: [PlanCase] = [
        .statement("console_find_events", as: "appstore_viewer", entries: 120) { _ in find("{}") },
        .statement("console_find_events that failed", as: "appstore_viewer") { _ in
            find(#"{"result": "failed"}"#)
        },
        .statement("console_find_events of a contract", as: "appstore_viewer") { find("{}", contract: "\($0)") },
        .statement("console_find_events that wait", as: "appstore_viewer", entries: 120) { _ in find("{}", isWaiting: true) },
        .statement("explain_customer of a contract", as: "appstore_viewer", entries: 120, pages: 300) {
            Statement.explainCustomer(originalTransactionID: "\($0)", maxRows: 40)
        },
        .statement("console_ownership", as: "appstore_viewer") {
            Statement.consoleOwnership(environment: "Production", originalTransactionIDs: ["\($0)"])
        },
        // It counts up to 10,000, so of an endpoint with all of them a scan ends there, too.
        .statement("console_endpoint", as: "appstore_viewer", entries: 31_000, pages: 10_000, whole: ["open_deliveries"]) { _ in
            Statement.consoleEndpoint(name: "e1")
        },
        .statement("console_attempts", as: "appstore_viewer", entries: 120, pages: 300) { _ in
            Statement.consoleAttempts(name: "e1", before: nil, limit: Int32(40))
        },
        .statement("console_repairs", as: "appstore_viewer") { _ in
            Statement.consoleRepairs(before: nil, limit: Int32(40))
        },
        .page("console_failed") { Statement.consoleFailed(limit: Int32(21)) },
        .page("console_unmatched", before: PlanScene.unmatched, rows: 21) {
            Statement.consoleUnmatched(environment: "Sandbox", limit: Int32(21))
        },
        .page("console_external_purchase_tokens", rows: 21) {
            Statement.consoleExternalPurchaseTokens(environment: "Production", limit: Int32(21))
        },
        // It counts up to 10,000 of each endpoint.
        .page("console_endpoints", entries: 31_000, pages: 10_000, whole: ["open_deliveries"]) { Statement.consoleEndpoints() },
        .page("console_audit", entries: 120) {
            Statement.consoleAudit(from: nil, actor: nil, action: nil, limit: Int32(26))
        },
        .page("console_list_sessions", whole: ["console_sessions"]) {
            Statement.consoleListSessions(before: nil, limit: Int32(41))
        },
    ]

    /// A statement of a page: with the settings of the console's login, and the rights of a viewer.
    private static func page(
        _ name: String,
        entries: Int64 = 60,
        pages: Int64 = 150,
        whole: Set<String> = [],
        before: String? = nil,
        rows: Int? = nil,
        _ statement: @escaping @Sendable () -> Statement
    ) -> PlanCase {
        PlanCase(name, as: "appstore_console", entries: entries, pages: pages, whole: whole, before: before) { pool, _ in
            try await pool.withTransaction { transaction in
                try await transaction.execute("SET LOCAL ROLE appstore_viewer")
                let found = try await transaction.query(statement()).count
                #expect(rows == nil || found == rows, "\(name): \(found) rows")
            }
        }
    }

    private static func find(_ filter: String, contract: String? = nil, isWaiting: Bool = false) -> Statement {
        .consoleFindEvents(
            filter: JSONText(filter),
            source: nil,
            originalTransactionID: contract,
            notificationUUID: nil,
            isWaiting: isWaiting,
            beforeMicroseconds: nil,
            beforeEventID: nil,
            limit: Int32(40)
        )
    }
}
