import Postgres
import SQL
import StrictJSON

/// One endpoint and its attempts, the latest first.
struct EndpointPage: ConsolePage {
    let path = "/outgoing/{name}"
    let area = ConsoleArea.outgoing

    private static let rows: Int32 = 20

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let name = request.values["name"] ?? ""
        guard let endpoint = try await context.transaction.document(.consoleEndpoint(name: name)) else {
            throw ConsoleProblem.notFound("There is no endpoint “\(name.shortened)”.")
        }
        let before = try request.query.int64("before")
        let attempts = try await context.transaction.documents(
            .consoleAttempts(name: name, before: before, limit: Self.rows)
        )
        let older = attempts.count == Int(Self.rows) ? attempts.last?.word("attempt_id") : nil
        let url = context.url("outgoing", name)
        let page = Page(
            title: "Endpoint \(name)",
            elsewhere: Elsewhere(
                psql: [
                    "SELECT * FROM appstore.endpoint_status WHERE name = \(name);",
                    "SELECT * FROM appstore.open_deliveries WHERE endpoint = \(name) ORDER BY position LIMIT 100;",
                    "SELECT * FROM appstore.deliveries WHERE endpoint = \(name) ORDER BY attempt_id DESC LIMIT 20;",
                ],
                commands: ["appstore-inbox endpoint show \(name)", "appstore-inbox redeliver \(name) --only-failed"]
            )
        ) {
            facts(endpoint)
            if context.mayAct { actions(endpoint, name, context) }
            open(endpoint)
            documentTable("Attempts, the latest first", attempts, empty: "None.", Self.columns)
            pager(newer: before == nil ? nil : url, older: older.map { url.with("before", $0) })
        }
        return .page(page)
    }

    private static let columns: [DocumentColumn] = [
        .time("at", "at"), .text("entry", "type"), .number("position", "position"), .state("result", "result"), .number("status", "status"),
        .number("ms", "milliseconds"), .text("error", "error"), .text("answer", "answer"),
    ]

    private func facts(_ endpoint: JSONObject) -> Markup {
        definitions([
            ("state", endpoint.badge("state")), ("why", endpoint.text("why")), ("since", endpoint.time("state_since")),
            ("URL", endpoint.text("url")), ("format", endpoint.text("format")), ("breaker", endpoint.text("breaker")),
            ("next probe", endpoint.time("next_probe_at")), ("entries that follow", endpoint.text("lag")),
            ("oldest waits", .text(endpoint.seconds("oldest_undelivered").map(gap) ?? "–")), ("open", endpoint.text("open")),
            ("given up", endpoint.text("given_up")), ("failures in a row", endpoint.text("failures")),
            ("last success", endpoint.time("last_success_at")), ("last error", endpoint.text("last_error")),
        ])
    }

    private func open(_ endpoint: JSONObject) -> Markup {
        documentTable(
            "Deliveries that are open or were given up, the oldest 10 of each",
            endpoint.rows("deliveries"),
            of: (endpoint.integer("open") ?? 0) + (endpoint.integer("given_up") ?? 0),
            empty: "None.",
            [
                .number("position", "position"), .identifier("contract", "subject"), .number("attempts", "attempts"),
                .time("next", "run_at"), .time("given up", "given_up_at"), .number("status", "last_status"), .text("error", "last_error"),
            ]
        )
    }

    private func actions(_ endpoint: JSONObject, _ name: String, _ context: ConsoleContext) -> Markup {
        section {
            h2 { "Actions" }
            actionForm(context.url("outgoing", name, "test"), button: "Send a test")
            if endpoint.word("state") == "enabled" {
                actionForm(context.url("outgoing", name, "pause"), button: "Pause", isDangerous: true) {
                    textField(name: "note", label: "Reason", isRequired: true)
                }
            } else {
                actionForm(context.url("outgoing", name, "enable"), button: "Enable")
            }
        }
    }
}

/// Sends a test to an endpoint, pauses it or enables it.
struct ChangeEndpoint: ConsoleAction {
    enum Change: String, CaseIterable, Sendable {
        case test, pause, enable
    }

    let change: Change
    var path: String { "/outgoing/{name}/\(change.rawValue)" }
    let area = ConsoleArea.outgoing
    let right = ConsoleRight.operate

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let name = form.values["name"] ?? ""
        let (statement, notice): (Statement, String) =
            switch change {
            case .test: (.testEndpoint(name: name), "A test is on its way: its attempt appears below.")
            case .pause:
                (.pauseEndpoint(name: name, why: try form.required("note", "Reason")), "Endpoint \(name) is paused.")
            case .enable:
                (.resumeEndpoint(name: name, after: nil), "Endpoint \(name) is enabled and goes on where it was.")
            }
        _ = try await context.transaction.query(statement)
        return .done(context.url("outgoing", name), notice)
    }
}
