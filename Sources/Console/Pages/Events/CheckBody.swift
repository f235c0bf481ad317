import AppStore
import HTML
package import Interpretation
package import Postgres
import SQL
package import StrictJSON

/// Verifies a body, and returns the members `if_run_now`, `verification` and `facts` of `appstore-inbox explain`.
package typealias BodyCheck = @Sendable (InboxEvent, Transaction) async throws -> JSONObject

/// Verifies the body of an event with the settings of now, and shows each check and fact, but not the body. The audit has who asked, and why.
struct CheckBody: ConsoleAction {
    let path = "/events/{id}/checks"
    let area = ConsoleArea.events
    let right = ConsoleRight.showBodies
    let check: BodyCheck?

    /// Signed parts and facts that are shown: a receipt has thousands of facts.
    private static let (parts, facts) = (20, 40)

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("id")
        let note = try form.required("note", "Why do you need it?")
        guard let check else {
            throw ConsoleProblem.conflict("The console has not the settings of the worker. Run appstore-inbox explain \(id) with them.")
        }
        let rows = try await context.transaction.query(.showBody(eventID: id, reason: note))
        // What follows needs no body.
        try await context.transaction.execute("SET LOCAL ROLE appstore_viewer")
        let document = try await context.transaction.document(.explanation(of: id)) ?? [:]
        guard let row = rows.first, let received = document.instant("received_at") else {
            throw ConsoleProblem.notFound("There is no event \(id), or its outcome has aged.")
        }
        let event = InboxEvent(
            id: id,
            source: EventSource(rawValue: document.word("source") ?? ""),
            body: try row.decode(0),
            receivedAt: received,
            readAt: .now
        )
        return .page(page(try await check(event, context.transaction), id, context))
    }

    private func page(_ checked: JSONObject, _ id: Int64, _ context: ConsoleContext) -> Page {
        Page(title: "Checks of event \(id)", elsewhere: Elsewhere(commands: ["appstore-inbox explain \(id)"])) {
            p { "With the settings of now; the outcome may be of another day. That you have asked is in the audit log." }
            if case .object(let result)? = checked["if_run_now"] {
                definitions([("if it runs now", .text(result.word("result") ?? "–")), ("reason", result.text("reason"))])
            }
            let parts = checked.rows("verification")
            for part in parts.prefix(Self.parts) {
                section {
                    h2 { part.word("location")?.shortened ?? "request" }
                    ul { checks(part) }
                }
            }
            moreRows(Int64(parts.count - Self.parts))
            documentTable(
                "Facts of the body, and how each stands to what the register holds",
                checked.rows("facts"),
                limit: Self.facts,
                empty: "It states no fact that counts.",
                [
                    .text("register", "table"), .text("standing", "standing"), .identifier("transaction", "transaction_id"),
                    .identifier("contract", "original_transaction_id"), .text("product", "product_id"), .text("version", "version"),
                    .text("held version", "held_version"),
                ]
            )
            p { a(.href(context.url("events", "\(id)"))) { "Back to event \(id)" } }
        }
    }

    private func checks(_ part: JSONObject) -> [Markup] {
        var failed: [Markup] = []
        if case .object(let check)? = part["failed"] {
            let words = ["step", "reason", "detail"].compactMap { check.word($0)?.shortened }.joined(separator: ": ")
            failed = [li { "✗ \(words)" + (check.word("requires").map { ". Required: \($0)" } ?? "") }]
        }
        return part.words("passed").map { step in li { "✓ \(step)" } } + failed
            + part.words("not_reached").map { step in li { "– \(step), not reached" } }
    }
}

extension JSONObject {
    /// The texts in an array.
    fileprivate func words(_ name: String) -> [String] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
