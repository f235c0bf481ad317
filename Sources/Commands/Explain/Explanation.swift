import AppStore
import Console
import Interpretation
import Ledger
import Logging
import Postgres
import Revocation
import SQL
import StrictJSON

/// Everything that is known of one event, all of one instant, as one document.
struct Explanation: Sendable {
    /// The members of `appstore.explain`, and those that need the body.
    let document: JSONObject

    /// What people read first.
    private static let order = [
        "event_id", "source", "received_at", "bytes", "state", "result", "reason", "odd_members", "first_event_id", "hints", "meaning",
        "if_run_now",
        "request", "verification", "payloads", "facts", "effects", "queue", "outcomes", "audit_log", "contracts", "transactions",
        "v1_renewals", "orders", "ownership_claims", "owner_links", "client_posts", "refund_requests", "outbox",
    ]

    /// - Parameters:
    ///   - database: the document of `appstore.explain`.
    ///   - body: nil when the body has been deleted, or may not be read.
    ///   - facts: those of the body, each with its standing.
    init(_ database: JSONObject, _ body: ExplainedBody?, facts: [JSONValue] = [], hints: ExplanationHints) {
        var all = database
        for member in body?.members.members ?? [] { all[member.name] = member.value }
        let latest = database.rows("outcomes").last
        all["meaning"] = EventReader.meaning(
            of: EventSource(rawValue: database.word("source") ?? ""),
            type: body?.labels.notificationType ?? latest?.word("notification_type"),
            subtype: body?.labels.notificationType == nil ? latest?.word("subtype") : body?.labels.subtype
        ).map(JSONValue.string)
        all["facts"] = .array(facts)
        all["effects"] = .array(Self.effects(database, body?.facts))
        all["hints"] = .array(hints.about(database, body).map(JSONValue.string))
        let members = Self.order.compactMap { name in all[name].map { (name, $0) } }
        document = JSONObject(members.filter { $0.1 != .null && $0.1 != [] })
    }

    /// Those that are recorded, then those that the event states and that are not.
    private static func effects(_ database: JSONObject, _ facts: EventFacts?) -> [JSONValue] {
        let recorded = database.rows("effects")
        let missing = (facts?.effects ?? []).map(\.key).filter { key in
            !recorded.contains { $0.word("kind") == key.kind.rawValue && $0.word("subject") == key.subject }
        }
        return recorded.map(JSONValue.object)
            + missing.map { ["kind": .string($0.kind.rawValue), "subject": .string($0.subject), "is_recorded": false] }
    }

    /// Reads it without changing anything; nil when there is no such event.
    ///
    /// - Parameter reader: nil when the role may not read bodies.
    static func read(
        _ eventID: Int64,
        from connection: Connection,
        reader: EventReader?,
        hints: ExplanationHints
    ) async throws -> Explanation? {
        try await connection.withTransaction { transaction in
            _ = try await transaction.pipeline(["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"])
            let body: ExplainedBody?
            if let reader, let row = try await transaction.query(.explainBody(eventID: eventID)).first {
                body = ExplainedBody(try row.event(eventID), by: reader)
            } else {
                body = nil
            }
            let row = try await transaction.query(statement(eventID, body)).first
            guard let document = try row?.decode(0, as: JSONText?.self) else { return nil }
            var facts: [JSONValue] = []
            if let reader, let stated = body?.facts {
                facts = try await standings(of: stated, in: transaction, reader) + others(in: stated)
            }
            return Explanation(try JSONParser().parseObject(Array(document.text.utf8)), body, facts: facts, hints: hints)
        }
    }

    /// The members `if_run_now`, `request`, `verification` and `facts`, for a role that may not read the bodies of other events.
    private static func checks(_ event: InboxEvent, by reader: EventReader, in transaction: Transaction) async throws -> JSONObject {
        let body = ExplainedBody(event, by: reader)
        var document = body.members
        document["payloads"] = nil
        if let facts = body.facts {
            document["facts"] = .array(try await standings(of: facts, in: transaction, reader, readsOthers: false) + others(in: facts))
        }
        return document
    }

    /// Checks bodies for the console as `explain` does; nil where the settings of the worker cannot be used here.
    static func bodyCheck(_ reader: SettingsReader, _ logger: Logger) -> BodyCheck? {
        let events: EventReader
        do throws(SettingsError) {
            events = try VerificationSettings(reader).eventReader
        } catch {
            logger.notice("the console verifies no bodies: that needs the settings of the worker", metadata: ["error": "\(error)"])
            return nil
        }
        return { event, transaction in
            let revocations = try await RevocationRegister.revocations(transaction)
            return try await checks(event, by: events.refusing(revocations), in: transaction)
        }
    }

    /// By what the body says; else, when it is gone or does not pass, by the labels of its outcome.
    private static func statement(_ eventID: Int64, _ body: ExplainedBody?) -> Statement {
        let (facts, labels) = (body?.facts, body?.labels)
        let charges = facts.map { facts in
            Set([facts.transaction?.key.id, labels?.transactionID].compactMap(\.self) + facts.allReceipts.map(\.key.id)).sorted()
        }
        return .explain(
            eventID: eventID,
            environment: facts?.environment.rawValue,
            transactionIDs: charges,
            originalTransactionIDs: facts.map(contracts),
            notificationUUID: facts?.notificationUUID,
            effectIDs: facts.map { $0.effects.map(\.key.id) }
        )
    }

    private static func contracts(in facts: EventFacts) -> [String] { Set(facts.lockedContracts.map(\.id)).sorted() }

    /// How each fact stands to its register, and which event brought what the register holds instead.
    private static func standings(
        of facts: EventFacts,
        in transaction: Transaction,
        _ reader: EventReader,
        readsOthers: Bool = true
    ) async throws -> [JSONValue] {
        let stated = StatedFact.all(in: facts)
        let held = try await transaction.query(
            .explainVersions(
                registers: stated.map(\.register.name),
                ids: stated.map(\.register.id),
                bundleIDs: stated.map(\.register.bundleID),
                environment: facts.environment.rawValue
            )
        ).map { try $0.version() }
        let isHeld = zip(stated, held).allSatisfy { $0.version == $1 }
        let others = isHeld || !readsOthers ? [:] : try await otherVersions(about: facts, in: transaction, reader)
        return zip(stated, held).map { fact, version in
            fact.json(FactStatus(of: fact.version, held: version, others: others[fact.register] ?? []))
        }
    }

    /// What the latest other events about the same contracts state.
    private static func otherVersions(
        about facts: EventFacts,
        in transaction: Transaction,
        _ reader: EventReader
    ) async throws -> [StatedFact.Register: [(eventID: Int64, version: Version)]] {
        let rows = try await transaction.query(
            .explainRelatedEvents(
                environment: facts.environment.rawValue,
                originalTransactionIDs: contracts(in: facts),
                eventID: facts.eventID
            )
        )
        var versions: [StatedFact.Register: [(eventID: Int64, version: Version)]] = [:]
        for row in rows {
            let event = try row.event(try row.decode("event_id"))
            guard case .success(let other) = reader.read(event).result else { continue }
            for fact in StatedFact.all(in: other) { versions[fact.register, default: []].append((event.id, fact.version)) }
        }
        return versions
    }

    /// What the event adds to tables without versions.
    private static func others(in facts: EventFacts) -> [JSONValue] {
        let posts: [JSONValue] = facts.posts.map(\.key).map { key in
            [
                "table": "client_posts", "user_id": .string(key.user), "is_receipt": .bool(key.isReceipt),
                "original_transaction_id": .string(key.contract.id), "transaction_id": .optional(key.transactionID),
            ]
        }
        let requests: [JSONValue] = [facts.refundStatement].compactMap(\.self).map { request in
            [
                "table": "refund_requests", "kind": .string(request.kind.rawValue), "transaction_id": .string(request.transactionID),
                "signed_date": .string("\(request.signedDate)"),
            ]
        }
        return posts + requests
            + facts.calls.map { ["table": "outbox", "kind": .string($0.kind), "bundle_id": .string($0.bundleID)] }
    }
}

extension Row {
    /// An event as if it were claimed now.
    fileprivate func event(_ id: Int64) throws -> InboxEvent {
        InboxEvent(
            id: id,
            source: EventSource(rawValue: try decode("source")),
            body: try decode("body"),
            receivedAt: try instant("received_at"),
            readAt: try instant("now")
        )
    }

    /// Nil for a register without facts.
    fileprivate func version() throws -> Version? {
        guard let date = try decode("signed_date", as: PostgresTimestamp?.self), let hash = try decode("hash", as: [UInt8]?.self) else {
            return nil
        }
        return Version(signedDate: Timestamp(date), hash: hash)
    }

    private func instant(_ column: String) throws -> Timestamp {
        Timestamp(try decode(column, as: PostgresTimestamp.self))
    }
}
