import Postgres
import SQL

/// The pages of the console, which must be as quick with ten million outcomes.
extension PlanCase {
    static let looking: [PlanCase] = [
        .statement("console_find_events", as: "appstore_viewer", entries: 120) { _ in find("{}") },
        .statement("console_find_events that failed", as: "appstore_viewer", entries: 120) { _ in find(#"{"result": "failed"}"#) },
        .statement("console_find_events of a contract", as: "appstore_viewer") { find("{}", contract: "\($0)") },
        .statement("console_find_events that wait", as: "appstore_viewer", entries: 120) { _ in find("{}", isWaiting: true) },
        .statement("console_explain_contract", as: "appstore_viewer", entries: 120, pages: 300) {
            Statement(
                .consoleExplainContract,
                ["environment": "Production", "original_transaction_id": "\($0)", "before": Int64?.none, "limit": Int32(40)]
            )
        },
        .statement("console_ownership", as: "appstore_viewer") {
            Statement(.consoleOwnership, ["environment": "Production", "original_transaction_ids": ["\($0)"]])
        },
        // It counts up to 10,000, so of an endpoint with all of them a scan ends there, too.
        .statement("console_endpoint", as: "appstore_viewer", entries: 31_000, pages: 10_000, whole: ["open_deliveries"]) { _ in
            Statement(.consoleEndpoint, ["name": "e1"])
        },
        .statement("console_attempts", as: "appstore_viewer", entries: 120, pages: 300) { _ in
            Statement(.consoleAttempts, ["name": "e1", "before": Int64?.none, "limit": Int32(40)])
        },
        .statement("console_repairs", as: "appstore_viewer") { _ in
            Statement(.consoleRepairs, ["before": Int64?.none, "limit": Int32(40)])
        },
    ]

    private static func find(_ filter: String, contract: String? = nil, isWaiting: Bool = false) -> Statement {
        Statement(
            .consoleFindEvents,
            [
                "filter": JSONText(filter), "source": String?.none, "original_transaction_id": contract, "notification_uuid": String?.none,
                "is_waiting": isWaiting, "before_microseconds": Int64?.none, "before_event_id": Int64?.none, "limit": Int32(40),
            ]
        )
    }
}
