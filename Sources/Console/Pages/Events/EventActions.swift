import HTML
import Postgres
import SQL

/// Runs one event again.
struct RequeueEvent: ConsoleAction {
    let path = "/events/{id}/requeue"
    let area = ConsoleArea.events
    let right = ConsoleRight.operate

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("id")
        let note = try form.required("note", "Reason")
        let statement = Statement.requeueEvent(eventID: id, note: note)
        guard try await context.transaction.query(statement).first?.decode(0, as: Int64.self) == 1 else {
            throw ConsoleProblem.conflict("A worker or another repair holds event \(id). Try again in some seconds.")
        }
        return .done(context.url("events", "\(id)"), "Event \(id) is requeued.")
    }
}

/// Ends one event without running it again.
struct DiscardEvent: ConsoleAction {
    let path = "/events/{id}/discard"
    let area = ConsoleArea.events
    let right = ConsoleRight.operate

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("id")
        let note = try form.required("note", "Reason")
        guard form.isConfirmed else {
            return .confirm(
                Confirmation(title: "Discard event \(id)?", button: "Discard event \(id)", isDangerous: true) {
                    p { "It does not run again. The reason becomes the reason of its outcome and is kept for ever: name no user." }
                }
            )
        }
        let statement = Statement.discardEvent(eventID: id, reason: note)
        guard try await context.transaction.query(statement).first?.decode(0, as: Int64.self) == 1 else {
            throw ConsoleProblem.conflict("A worker or another repair holds event \(id). Try again in some seconds.")
        }
        return .done(context.url("events", "\(id)"), "Event \(id) is discarded.")
    }
}
