import Postgres
import SQL
import StrictJSON

/// The repairs in steps, the latest first.
struct RepairsPage: ConsolePage {
    let path = "/repairs"
    let area = ConsoleArea.repairs

    private static let rows: Int32 = 20

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let before = try request.query.int64("before")
        let repairs = try await context.transaction.documents(.consoleRepairs(before: before, limit: Self.rows))
        let isFull = repairs.count == Int(Self.rows)
        let page = Page(
            title: "Repairs",
            elsewhere: Elsewhere(
                psql: ["SELECT * FROM appstore.repair_status ORDER BY repair_id DESC LIMIT 20;", "SELECT appstore.stop_repair(1);"],
                commands: ["appstore-inbox requeue --outcome failed", "appstore-inbox discard --outcome rejected"]
            ),
            refreshSeconds: repairs.contains { $0.word("state") == "running" } ? 5 : nil
        ) {
            documentTable(
                "Repairs of all events that met conditions, the latest first",
                repairs,
                empty: "None yet. Search for events, then requeue or discard all that match.",
                columns(context)
            )
            pager(
                newer: before == nil ? nil : context.url("repairs"),
                older: isFull ? repairs.last?.word("repair_id").map { context.url("repairs").with("before", $0) } : nil
            )
        }
        return .page(page)
    }

    private func columns(_ context: ConsoleContext) -> [DocumentColumn] {
        let columns: [DocumentColumn] = [
            .number("repair", "repair_id"), .text("action", "action"), .state("state", "state"),
            DocumentColumn("progress") { row in
                .text("\(row.word("repaired") ?? "0") of \(row.integer("expected").map { grouped($0) } ?? "–")")
            },
            .duration("time left", "time_left"), DocumentColumn("conditions") { .text(Self.conditions($0)) }, .text("reason", "note"),
            .text("by", "actor"), .time("asked", "asked_at"), .time("ended", "ended_at"), .text("error", "last_error"),
        ]
        guard context.mayAct else { return columns }
        let stop = DocumentColumn("stop") { row in
            guard let id = row.word("repair_id"), row.word("state") == "running" else { return .empty }
            return actionForm(context.url("repairs", id, "stop"), button: "Stop", isDangerous: true)
        }
        return columns + [stop]
    }

    private static func conditions(_ row: JSONObject) -> String {
        guard case .object(let conditions)? = row["conditions"] else { return "–" }
        return conditions.members.map { "\($0.name) \(conditions.word($0.name) ?? "")" }.joined(separator: ", ").shortened
    }
}

/// Ends a repair after its step in flight.
struct StopRepair: ConsoleAction {
    let path = "/repairs/{id}/stop"
    let area = ConsoleArea.repairs
    let right = ConsoleRight.operate

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("id")
        let statement = Statement.stopRepair(repairID: id, note: form["note"])
        let isStopped = try await context.transaction.query(statement).first?.decode(0, as: Bool.self) ?? false
        return .done(
            context.url("repairs"),
            isStopped ? "Repair \(id) is stopped. What it has repaired stays repaired." : "Repair \(id) had ended already."
        )
    }
}
