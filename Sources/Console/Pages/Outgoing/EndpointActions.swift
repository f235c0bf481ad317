import Postgres
import SQL

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
