import Postgres
import SQL

/// `GET /audit`: who did what, and why, latest first.
struct AuditPage: ConsolePage {
    let path = "/audit"
    let area = ConsoleArea.audit
    private static let limit = 25

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let (actor, action) = (request.query["actor"], request.query["action"])
        let (before, after) = (try request.query.int64("before"), try request.query.int64("after"))
        let limit = Int32(Self.limit + 1)
        let statement: Statement =
            if let after {
                .consoleAuditNewer(from: after, actor: actor, action: action, limit: limit)
            } else {
                .consoleAudit(from: before, actor: actor, action: action, limit: limit)
            }
        let found = try await context.transaction.query(statement).map(Entry.init)
        let page = Array(found.prefix(Self.limit))
        let entries = after == nil ? page : page.reversed()
        let hasMore = found.count > Self.limit
        let hasNewer = after == nil ? before != nil : hasMore
        let hasOlder = after == nil ? hasMore : true
        let url = context.url("audit").with("actor", actor).with("action", action)
        return .page(
            Page(
                title: "Audit",
                elsewhere: Elsewhere(psql: ["SELECT * FROM appstore.audit_log ORDER BY audit_id DESC LIMIT 25"])
            ) {
                form(.method(.get), .action(ConsoleURL("audit")), .role("search"), .class("search")) {
                    if context.environment != "Production" { hiddenField(name: "environment", value: context.environment) }
                    textField(name: "actor", label: "Who", value: actor)
                    textField(name: "action", label: "What", value: action)
                    button(.type(.submit)) { "Search" }
                }
                dataTable(
                    caption: "Repairs and changes, latest first",
                    columns: [
                        Column("Entry", .number), Column("When"), Column("Who"), Column("What"), Column("Events"), Column("Why"),
                        Column("Details"),
                    ],
                    rows: entries.map { $0.cells(context) },
                    empty: "No entries."
                )
                pager(
                    newer: hasNewer ? entries.first.map { url.with("after", "\($0.id)") } : nil,
                    older: hasOlder ? entries.last.map { url.with("before", "\($0.id)") } : nil
                )
            }
        )
    }

    private struct Entry {
        let id: Int64
        let at: PostgresTimestamp
        let actor: String
        let action: String
        let events: Int32
        let firstEvent: Int64?
        let note: String?
        let details: String?

        init(_ row: Row) throws {
            (id, at, actor) = (try row.decode("audit_id"), try row.decode("at"), try row.decode("actor"))
            (action, events, firstEvent) = (try row.decode("action"), try row.decode("events"), try row.decode("first_event"))
            (note, details) = (try row.decode("note"), try row.decode("details"))
        }

        func cells(_ context: ConsoleContext) -> [Markup] {
            let event = firstEvent.map { first in
                Markup {
                    a(.href(context.url("events", "\(first)"))) { "\(first)" }
                    events > 1 ? " and \(events - 1) more" : ""
                }
            }
            return [
                .text("\(id)"), timeOf(at), identifier(actor.shortened), .text(action), event ?? .text("–"), .text(note?.shortened ?? "–"),
                identifier(details?.shortened),
            ]
        }
    }
}
