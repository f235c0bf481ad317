import HTML
import Postgres
import SQL

/// `GET /sessions`: who uses the console.
struct SessionsPage: ConsolePage {
    let path = "/sessions"
    let area = ConsoleArea.sessions

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let sessions = try await context.transaction.query(Statement(.consoleListSessions, ["limit": Int32(100)]))
        let rows: [[Markup]] = try sessions.map { row in
            let id: Int64 = try row.decode("session_id")
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
                        ORDER BY session_id DESC LIMIT 100
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
        let ended: Bool = try await context.transaction.query(Statement(.consoleEndSession, ["session_id": id]))[0].decode("ended")
        return .done(context.url("sessions"), ended ? "Session \(id) has ended." : "There is no living session \(id).")
    }
}
