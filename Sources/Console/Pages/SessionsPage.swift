import Postgres
import SQL

/// `GET /sessions`: who uses the console.
struct SessionsPage: ConsolePage {
    let path = "/sessions"
    let area = ConsoleArea.sessions
    private static let limit = 40

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let before = try request.query.int64("before")
        let found = try await context.transaction.query(.consoleListSessions(before: before, limit: Int32(Self.limit + 1)))
        let ids: [Int64] = try found.prefix(Self.limit).map { try $0.decode("session_id") }
        let rows: [[Markup]] = try zip(ids, found).map { id, row in
            let state: String = try row.decode("state")
            return [
                .text("\(id)"), identifier(try row.decode("person")),
                .text(try row.decode("role", as: String.self) + (row.decode("shows_bodies") ? ", shows bodies" : "")),
                timeOf(try row.decode("began_at")), timeOf(try row.decode("ends_at")),
                badge(state == "living" ? .good : .neutral, state),
                context.mayAct && state == "living" ? actionForm(context.url("sessions", "\(id)", "end"), button: "End…") : .text("–"),
            ]
        }
        return .page(
            Page(
                title: "Sessions",
                elsewhere: Elsewhere(
                    psql: [
                        """
                        SELECT session_id, person, role, began_at, expires_at, ended_at FROM appstore.console_sessions \
                        ORDER BY session_id DESC LIMIT 40
                        """
                    ]
                )
            ) {
                dataTable(
                    caption: "Sessions of the console, latest first",
                    columns: [
                        Column("Session", .number), Column("Person"), Column("Role"), Column("Began"), Column("Ends or ended"),
                        Column("State"), Column("End it"),
                    ],
                    rows: rows,
                    empty: "No sessions."
                )
                pager(
                    newer: before == nil ? nil : context.url("sessions"),
                    older: found.count > Self.limit ? ids.last.map { context.url("sessions").with("before", "\($0)") } : nil
                )
            }
        )
    }
}

/// `POST /sessions/{session}/end`.
struct EndSession: ConsoleAction {
    let path = "/sessions/{session}/end"
    let area = ConsoleArea.sessions
    let right = ConsoleRight.operate

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("session")
        guard form.isConfirmed else {
            return .confirm(
                Confirmation(title: "End session \(id)?", button: "End session", isDangerous: true) {
                    p { "The person has to log in again. The audit records it." }
                }
            )
        }
        let ended: Bool = try await context.transaction.query(.endConsoleSession(sessionID: id))[0].decode(0)
        return .done(context.url("sessions"), ended ? "Session \(id) has ended." : "There is no living session \(id).")
    }
}
