import AppStore
import Interpretation
import Ledger
import Postgres
import SQL
import StrictJSON

extension Explanation {
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
    static func checks(_ event: InboxEvent, by reader: EventReader, in transaction: Transaction) async throws -> JSONObject {
        let body = ExplainedBody(event, by: reader)
        var document = body.members
        document["payloads"] = nil
        if let facts = body.facts {
            document["facts"] = .array(try await standings(of: facts, in: transaction, reader, readsOthers: false) + others(in: facts))
        }
        return document
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
        return Version(signedDate: Timestamp(millisecondsSince1970: date.millisecondsSince1970), hash: hash)
    }

    private func instant(_ column: String) throws -> Timestamp {
        Timestamp(millisecondsSince1970: try decode(column, as: PostgresTimestamp.self).millisecondsSince1970)
    }
}
