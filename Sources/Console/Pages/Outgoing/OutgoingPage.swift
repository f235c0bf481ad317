import Postgres
import SQL
import StrictJSON

/// What is sent to endpoints and consumers, and what is asked of Apple.
struct OutgoingPage: ConsolePage {
    let path = "/outgoing"
    let area = ConsoleArea.outgoing

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let document = try await context.transaction.document(.consoleOutgoing()) ?? [:]
        let page = Page(
            title: "Outgoing",
            elsewhere: Elsewhere(
                psql: [
                    "SELECT * FROM appstore.endpoint_status;", "SELECT * FROM appstore.feed_consumers;",
                    "SELECT * FROM appstore.history_coverage;", "SELECT * FROM appstore.api_budget_status;",
                    "SELECT * FROM appstore.consumption_requests WHERE due_at > now() AND outcome IS NULL ORDER BY due_at;",
                    "SELECT * FROM appstore.import_status ORDER BY import_id DESC;",
                ],
                commands: [
                    "appstore-inbox endpoint list", "appstore-inbox history status", "appstore-inbox consumption list",
                    "appstore-inbox import status",
                ]
            )
        ) {
            endpoints(document, context)
            consumers(document)
            h2 { "Apple" }
            coverage(document)
            budgets(document)
            requests(document, context)
            imports(document)
        }
        return .page(page)
    }

    private func endpoints(_ document: JSONObject, _ context: ConsoleContext) -> Markup {
        documentTable(
            "Endpoints",
            document.rows("endpoints"),
            of: document.integer("endpoints_in_all"),
            empty: "None. appstore-inbox endpoint create makes one.",
            [
                DocumentColumn("endpoint") { row in
                    row.word("name").map { name in a(.href(context.url("outgoing", name))) { name } } ?? .text("–")
                },
                .state("state", "state"), .text("why", "why"), .text("breaker", "breaker"), .number("lag", "lag"),
                .duration("oldest waits", "oldest_undelivered"), .number("open", "open"), .number("given up", "given_up"),
                .time("last success", "last_success_at"), .text("last error", "last_error"),
            ]
        )
    }

    private func consumers(_ document: JSONObject) -> Markup {
        documentTable(
            "Named consumers of the feed",
            document.rows("consumers"),
            of: document.integer("consumers_in_all"),
            empty: "None.",
            [.text("consumer", "name"), .number("lag", "lag"), .number("position", "position"), .time("moved", "moved_at")]
        )
    }

    private func coverage(_ document: JSONObject) -> Markup {
        documentTable(
            "Until when Apple’s notification history was read",
            document.rows("coverage"),
            of: document.integer("coverage_in_all"),
            empty: "It is not read: no worker has a key of the App Store Server API.",
            [
                .text("app", "bundle_id"), .text("environment", "environment"), .text("mode", "mode"), .time("from", "covered_from"),
                .time("to", "covered_to"), .duration("ago", "age"), .number("open windows", "open_windows"),
                .time("failing since", "failing_since"), .number("confirmed", "confirmed"), .number("recovered", "recovered"),
                .number("refused here", "refused_here"),
            ]
        )
    }

    private func budgets(_ document: JSONObject) -> Markup {
        documentTable(
            "Budgets of the App Store Server API, the fullest first",
            document.rows("budgets"),
            of: document.integer("budgets_in_all"),
            empty: "Nothing was asked.",
            [
                .text("app", "bundle_id"), .text("environment", "environment"), .text("endpoint", "endpoint"),
                .number("requests a second", "allowance"), .number("used this hour", "used_this_hour"), .number("used, %", "used_percent"),
                DocumentColumn("circuit") { row in
                    row.word("blocked_until") == nil
                        ? badge(.good, "closed")
                        : Markup {
                            badge(.bad, "open"); " until "; row.time("blocked_until")
                        }
                },
                .time("last 429", "last_429_at"),
            ]
        )
    }

    private func requests(_ document: JSONObject, _ context: ConsoleContext) -> Markup {
        documentTable(
            "Consumption requests that Apple waits for, the most urgent first",
            document.rows("requests"),
            of: document.integer("requests_in_all"),
            empty: "None.",
            [
                .time("due", "due_at"), .state("state", "state"), .text("reason", "reason"), .text("product", "product_id"),
                contractColumn("contract", context), .text("user", "user_id"), .text("decided by", "decided_by"),
            ]
        )
    }

    private func imports(_ document: JSONObject) -> Markup {
        documentTable(
            "Imports, the latest first",
            document.rows("imports"),
            of: document.integer("imports_in_all"),
            empty: "None.",
            [
                .number("import", "import_id"), .text("file", "file_name"), .state("state", "state"), .number("ids", "items"),
                .number("found", "found"), .number("covered", "covered"), .number("unknown", "unknown"), .number("failed", "failed"),
                .number("remaining", "remaining"), .duration("time left", "time_left"), .text("failing with", "failing_with"),
            ]
        )
    }
}
