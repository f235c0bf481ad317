import AppStore
import HTML
import Interpretation
import Postgres
import SQL
import StrictJSON

/// One event: the document of `appstore.explain`.
struct EventPage: ConsolePage {
    let path = "/events/{id}"
    let area = ConsoleArea.events
    /// Whether ``CheckBody`` can be used.
    let checksBodies: Bool

    /// Runs and repairs that are shown, and effects: a receipt has hundreds.
    private static let (runs, effects) = (5, 8)

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let id = try request.number("id")
        guard let document = try await context.transaction.document(.explanation(of: id)) else {
            throw ConsoleProblem.notFound("There is no event \(id), or its outcome has aged.")
        }
        let page = Page(
            title: "Event \(id)",
            elsewhere: Elsewhere(
                psql: ["SELECT jsonb_pretty(appstore.explain(\(id)));"],
                commands: ["appstore-inbox explain \(id)"]
            )
        ) {
            facts(document, context)
            runs(document)
            effects(document)
            ledger(document)
            repairs(document)
            actions(document, id, context)
        }
        return .page(page)
    }

    private func facts(_ document: JSONObject, _ context: ConsoleContext) -> Markup {
        let latest = document.rows("outcomes").last ?? [:]
        let meaning = EventReader.meaning(
            of: EventSource(rawValue: document.word("source") ?? ""),
            type: latest.word("notification_type"),
            subtype: latest.word("subtype")
        )
        let contract = latest.word("original_transaction_id").map { contractLink($0, latest.word("environment"), context) }
        let first = document.word("first_event_id").flatMap { $0 == document.word("event_id") ? nil : $0 }
        let rows: [(String, Markup?)] = [
            ("state", document.badge("state")),
            ("result", document.word("result").map { stateBadge($0) }), ("reason", document.word("reason").map { .text($0) }),
            ("type", latest.typeWords.map { .text($0) }), ("meaning", meaning.map { .text($0) }),
            ("source", document.text("source")), ("received", document.time("received_at")),
            ("due", dueTime(document)),
            ("body", .text(document.word("bytes").map { "\($0) bytes, hidden" } ?? "deleted: what it said is known by its outcome only")),
            ("app", latest.word("bundle_id").map { .text($0.shortened) }),
            ("environment", latest.word("environment").map { .text($0.shortened) }),
            ("contract", contract), ("transaction", latest.word("transaction_id").map { identifier($0.shortened) }),
            ("notificationUUID", latest.word("notification_uuid").map { identifier($0) }),
            ("first event with it", first.map { event in a(.href(context.url("events", event))) { event } }),
        ]
        return Markup {
            definitions(rows.compactMap { name, value in value.map { (name, $0) } })
            p {
                "Which checks pass, and the facts of the body, need the body. "
                checksBodies ? "People with the role appstore_bodies have a button for them below; " : ""
                "appstore-inbox explain shows them to the worker’s role."
            }
        }
    }

    private func dueTime(_ document: JSONObject) -> Markup? {
        guard case .object(let queue)? = document["queue"] else { return nil }
        return Markup {
            queue.time("run_at")
            " after \(queue.word("attempts") ?? "0") attempts"
            queue.word("last_error").map { ": \($0.shortened)" }
        }
    }

    private func runs(_ document: JSONObject) -> Markup {
        documentTable(
            "Runs, the latest first",
            document.rows("outcomes").reversed(),
            limit: Self.runs,
            empty: "It has not been settled.",
            [
                .number("run", "run"), .time("settled", "settled_at"), .state("result", "result"), .text("reason", "reason"),
                .number("attempts", "attempts"), .text("last error", "last_error"), .text("ended by", "replaced_by"),
            ]
        )
    }

    private func effects(_ document: JSONObject) -> Markup {
        documentTable(
            "Effects that it brought, the latest first",
            document.rows("effects").reversed(),
            limit: Self.effects,
            empty: "It brought no effect.",
            [
                .text("effect", "kind"), .time("happened", "occurred_at"), .time("recorded", "recorded_at"), .text("product", "product_id"),
                .identifier("transaction", "transaction_id"), .text("user", "user_id"),
            ]
        )
    }

    /// The rows of the ledger that it is about, by the names of their tables.
    private func ledger(_ document: JSONObject) -> Markup {
        let tables = [
            "contracts", "transactions", "v1_renewals", "orders", "ownership_claims", "owner_links", "client_posts", "refund_requests",
            "outbox",
        ]
        // appstore.explain gives the latest of these first, and of the others last.
        let latestFirst = ["ownership_claims", "owner_links"]
        return section {
            h2 { "What the ledger holds" }
            for table in tables {
                let rows = document.rows(table)
                DocumentRows(title: table, rows: latestFirst.contains(table) ? rows : rows.reversed()).markup
            }
        }
    }

    private func repairs(_ document: JSONObject) -> Markup {
        documentTable(
            "Repairs, and who read its body, the latest first",
            document.rows("audit_log").reversed(),
            limit: Self.runs,
            empty: "None.",
            [.time("at", "at"), .text("by", "actor"), .text("action", "action"), .number("events", "events"), .text("reason", "note")]
        )
    }

    private func actions(_ document: JSONObject, _ id: Int64, _ context: ConsoleContext) -> Markup {
        let canBeDiscarded = document.word("result").map { ["failed", "rejected", "unhandled"].contains($0) } ?? true
        let hasBody = document.word("bytes") != nil
        return section {
            if context.mayAct, hasBody {
                actionForm(context.url("events", "\(id)", "requeue"), button: "Requeue") {
                    textField(name: "note", label: "Reason", isRequired: true)
                }
            }
            if context.mayAct, canBeDiscarded {
                actionForm(context.url("events", "\(id)", "discard"), button: "Discard…", isDangerous: true) {
                    textField(name: "note", label: "Reason", isRequired: true)
                }
            }
            if context.may(.showBodies), hasBody, checksBodies {
                actionForm(context.url("events", "\(id)", "checks"), button: "Verify the body") {
                    textField(name: "note", label: "Why do you need it?", isRequired: true)
                }
            }
            if context.may(.showBodies), hasBody {
                actionForm(context.url("events", "\(id)", "body"), button: "Show the body") {
                    textField(name: "note", label: "Why do you read it?", isRequired: true)
                }
            }
        }
    }
}

extension Statement {
    /// The document of an event, by the labels of its outcome.
    static func explanation(of event: Int64) -> Statement { .explain(eventID: event) }
}
