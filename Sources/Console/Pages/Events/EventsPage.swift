import HTML
import StrictJSON

/// The events that a search finds, the latest first.
struct EventsPage: ConsolePage {
    let path = "/events"
    let area = ConsoleArea.events

    static let rows: Int32 = 40

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let text = request.query["q"] ?? ""
        let search: EventSearch
        do {
            search = try EventSearch(text, in: context.environment, now: .now)
        } catch {
            return .page(page(text, context, elsewhere: .nowhere) { p(.class("problem"), .role("alert")) { error.description } })
        }
        let place = try Self.place(request.query["after"])
        let found = try await context.transaction.documents(search.statement(after: place, limit: Self.rows))
        let rows = found.filter { $0.word("is_found") == "true" }
        // A page that is not full ends at the oldest event, or where the search has read enough.
        let isCut = found.last?.word("is_cut") == "true"
        let goesOn = found.count == Int(Self.rows) || isCut
        let first = context.url("events").with("q", text.isEmpty ? nil : text)
        let next = goesOn ? found.last?.word("place").map { first.with("after", $0) } : nil
        let elsewhere = Elsewhere(psql: [search.psql], commands: ["appstore-inbox tail"])
        return .page(
            page(text, context, elsewhere: elsewhere) {
                p { "Events of \(search.scope). env:any finds those of all environments, and of none, as rejected events may be." }
                if context.mayAct {
                    selection(rows, search, context)
                } else {
                    Self.table(rows, context, isSelectable: false)
                }
                if isCut {
                    p {
                        "The search has read 10,000 events and goes on with “older”. A qualifier such as since:, outcome: or contract: makes it narrower."
                    }
                }
                pager(newer: place == nil ? nil : first, older: next)
            }
        )
    }

    private func page(_ text: String, _ context: ConsoleContext, elsewhere: Elsewhere, @MarkupBuilder _ content: () -> Markup) -> Page {
        Page(title: "Events", elsewhere: elsewhere) {
            searchForm(
                action: context.url("events"),
                name: "q",
                value: text,
                label: "Search events",
                hints: EventSearch.hints,
                kept: context.kept
            )
            content()
        }
    }

    /// The table in a form: what is done with it is said by the button.
    private func selection(_ rows: [JSONObject], _ search: EventSearch, _ context: ConsoleContext) -> Markup {
        form(.method(.post), .action(context.url("events", "repair"))) {
            hiddenField(name: "q", value: search.text)
            Self.table(rows, context, isSelectable: true)
            fieldset {
                legend { "Repair" }
                textField(name: "note", label: "Reason", isRequired: true)
                for repair in EventRepair.allCases where !repair.isOfAll || search.canBeRepaired {
                    button(.type(.submit), .name("do"), .value(repair.rawValue)) { repair.title }
                }
                if !search.canBeRepaired {
                    p {
                        "All that match can be repaired where the search has type:, outcome:, reason:, app:, env:, since: or before: only."
                    }
                }
            }
        }
    }

    private static func table(_ rows: [JSONObject], _ context: ConsoleContext, isSelectable: Bool) -> Markup {
        let box = DocumentColumn("select") { row in
            let event = row.word("event_id") ?? ""
            return input(.type(.checkbox), .name("event"), .value(event), .ariaLabel("Select event \(event)"))
        }
        let columns = [
            eventColumn("event", context), .time("received", "received_at"),
            DocumentColumn("type") { .text($0.typeWords ?? $0.word("source") ?? "–") },
            DocumentColumn("outcome") { row in
                Markup {
                    row.word("result").map { stateBadge($0) } ?? badge(.neutral, "waiting")
                    " "
                    row.word("reason")?.shortened
                }
            },
            .text("app", "bundle_id"), .text("environment", "environment"), contractColumn("contract", context),
            .number("attempts", "attempts"),
        ]
        return documentTable("Events, the latest first", rows, empty: "No event matches.", (isSelectable ? [box] : []) + columns)
    }

    /// Where the page before ended.
    private static func place(_ text: String?) throws -> (microseconds: Int64, event: Int64)? {
        guard let text else { return nil }
        let parts = text.split(separator: ".").map { Int64($0) }
        // PostgreSQL's instants end long before the numbers do.
        guard parts.count == 2, let microseconds = parts[0], let event = parts[1], microseconds.magnitude < 1 << 57 else {
            throw ConsoleProblem.badRequest("“after” is no place in the list: begin again at its first page.")
        }
        return (microseconds, event)
    }
}

/// A link to an event.
func eventColumn(_ title: String, _ context: ConsoleContext) -> DocumentColumn {
    DocumentColumn(title) { row in
        row.word("event_id").map { event in a(.href(context.url("events", event))) { event } } ?? .text("–")
    }
}

/// A link to the customer of a contract.
func contractColumn(_ title: String, _ context: ConsoleContext) -> DocumentColumn {
    DocumentColumn(title) { row in
        row.word("original_transaction_id").map { contractLink($0, row.word("environment"), context) } ?? .text("–")
    }
}

func contractLink(_ contract: String, _ environment: String?, _ context: ConsoleContext) -> Markup {
    let environment = environment ?? context.environment
    let url = ConsoleURL("customers", "contracts", contract).with("environment", environment == "Production" ? nil : environment)
    return a(.href(url)) { identifier(contract.shortened) }
}

extension JSONObject {
    /// `DID_RENEW`, or type and subtype with a slash.
    var typeWords: String? {
        word("notification_type").map { type in (type + (word("subtype").map { "/\($0)" } ?? "")).shortened }
    }
}

extension ConsoleContext {
    /// What a search by GET keeps of the address.
    var kept: [(name: String, value: String)] { environment == "Production" ? [] : [("environment", environment)] }
}
