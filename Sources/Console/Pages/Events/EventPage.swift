import AppStore
package import Interpretation
package import Postgres
import SQL
package import StrictJSON

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

/// Shows the body of an event once, and writes to the audit log who has read it.
struct ShowBody: ConsoleAction {
    let path = "/events/{id}/body"
    let area = ConsoleArea.events
    let right = ConsoleRight.showBodies

    /// Bytes that are shown: a receipt has megabytes.
    private static let limit = 12_000
    /// The most bytes of a body whose payloads are decoded, and the most payloads: the console has little memory.
    private static let (decodedBytes, payloads) = (256 * 1024, 50)

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("id")
        let note = try form.required("note", "Why do you read it?")
        let statement = Statement.showBody(eventID: id, reason: note)
        guard let bytes = try await context.transaction.query(statement).first?.decode(0, as: [UInt8].self) else {
            throw ConsoleProblem.notFound("There is no event \(id).")
        }
        let page = Page(
            title: "Body of event \(id)",
            elsewhere: Elsewhere(
                psql: ["SELECT convert_from(appstore.show_body(\(id), \(note)), 'UTF8');"],
                commands: ["appstore-inbox explain \(id)"]
            )
        ) {
            p { "That you have read it is in the audit log. It is a customer’s data. Nothing here vouches for a signature." }
            if bytes.count > Self.decodedBytes { p { "Its payloads are not decoded here: it has more than \(Self.decodedBytes) bytes." } }
            for part in Self.parts(of: bytes).prefix(Self.payloads) {
                h2 { part.location }
                pre { part.payload.map { Self.lines($0).start(Self.limit) } ?? "It cannot be decoded." }
            }
            details {
                summary { "The body as it was received, \(bytes.count) bytes" }
                pre { String(decoding: bytes.prefix(Self.limit), as: UTF8.self) }
                if bytes.count > Self.limit { p { "The first \(Self.limit) bytes are shown." } }
            }
            p { a(.href(context.url("events", "\(id)"))) { "Back to event \(id)" } }
        }
        return .page(page)
    }

    private static func parts(of body: [UInt8]) -> [SignedPart] {
        guard body.count <= decodedBytes else { return [] }
        do { return SignedPart.all(in: try JSONParser().parseObject(body)) } catch { return [] }
    }

    /// A member on each line; a JWS stands by itself, under its path.
    private static func lines(_ object: JSONObject, indent: String = "") -> String {
        object.members.map { member in
            switch member.value {
            case .object(let inner): "\(indent)\(member.name):\n" + lines(inner, indent: indent + "  ")
            case .string(let text) where text.isJWS: "\(indent)\(member.name): see below"
            case .string(let text): "\(indent)\(member.name): \(text)"
            default: "\(indent)\(member.name): " + JSONSerializer.text(member.value)
            }
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func start(_ count: Int) -> String { String(prefix(count)) }
}

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
