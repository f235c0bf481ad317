import AppStore
import AppStoreVerification
import InboxQueue
import Interpretation
import Ledger
import Postgres
import StrictJSON

/// The form for programs. Rows of the database stand in it as they are, their members named as the columns.
extension Explanation {
    var json: JSONObject {
        let current = record.outcome
        return [
            "event": .integer(record.eventID), "source": .string(record.source),
            "receivedAt": .string("\(Timestamp(millisecondsSince1970: record.receivedAt.millisecondsSince1970))"),
            "bytes": record.body.map { .integer($0.count) } ?? .null, "state": .string(record.state),
            "result": current?["result"] ?? .null, "reason": current?["reason"] ?? .null,
            "runs": .array((record.history + [current].compactMap(\.self)).map(JSONValue.object)),
            "queue": record.queue.map(JSONValue.object) ?? .null,
            "audit": record.audit.map { .array($0.map(JSONValue.object)) } ?? .null,
            "submission": reading?.submission.map(Self.json) ?? reading?.post.map(Self.json) ?? .null,
            "payloads": .array((reading?.parts.map(json) ?? []) + legacyPayloads), "verification": reading?.checks.json ?? .array([]),
            "ifRunNow": reading?.prepared.map { Self.json(NextRun($0)) } ?? .null, "meaning": meaning.map(Self.json) ?? .null,
            "facts": factsJSON, "effects": .array(effects.map(\.json)), "books": booksJSON,
        ]
    }

    private static func json(_ submission: ClientSubmission) -> JSONValue {
        [
            "user": submission.user.map(JSONValue.string) ?? .null, "environment": .string(submission.environment.rawValue),
            "bundleIds": submission.bundleIDs.map { .array($0.map(JSONValue.string)) } ?? .null,
        ]
    }

    private func json(_ part: SignedPart) -> JSONValue {
        [
            "location": .string(part.location), "kind": (part.kind?.rawValue).map(JSONValue.string) ?? .null,
            "isGenuine": .bool(isGenuine(part)),
            "payload": part.payload.map(JSONValue.object) ?? .null, "problem": part.problem.map(JSONValue.string) ?? .null,
        ]
    }

    private static func json(_ next: NextRun) -> JSONValue {
        ["result": .string(next.result), "reason": next.reason.map(JSONValue.string) ?? .null]
    }

    private static func json(_ meaning: EventMeaning) -> JSONValue {
        [
            "type": meaning.type.map(JSONValue.string) ?? .null, "subtype": meaning.subtype.map(JSONValue.string) ?? .null,
            "isKnown": .bool(meaning.isKnown), "effect": meaning.effect.map(JSONValue.string) ?? .null,
            "summary": .string(meaning.summary),
        ]
    }

    private var factsJSON: JSONValue {
        guard let facts = reading?.facts else { return .null }
        return [
            "transaction": facts.transaction.map { Self.json($0.key, $0.version, standings.transaction) } ?? .null,
            "subscription": facts.subscription.map { Self.json($0.key, $0.version, standings.subscription) } ?? .null,
            "receipts": .array(standings.receipts.map { Self.json($0.fact.key, $0.fact.version, $0.standing) }),
            "legacyRenewals": .array(standings.legacyRenewals.map(Self.json)),
            "posts": .array(facts.posts.map(Self.json)),
            "calls": .array(facts.calls.map { ["kind": .string($0.kind), "bundleId": .string($0.bundleID)] }),
            "refundStatement": facts.refundStatement.map {
                ["kind": .string($0.kind.rawValue), "transactionId": .string($0.transactionID), "signedDate": .string("\($0.signedDate)")]
            } ?? .null,
        ]
    }

    private static func json(_ key: LedgerKey, _ version: Version, _ standing: FactStatus?) -> JSONValue {
        .object(object(key, version, standing))
    }

    private static func json(_ renewal: V1RenewalFact, _ standing: FactStatus) -> JSONValue {
        var object = object(renewal.contract, renewal.version, standing)
        object["bundleId"] = .string(renewal.key.bundleID)
        return .object(object)
    }

    private static func object(_ key: LedgerKey, _ version: Version, _ standing: FactStatus?) -> JSONObject {
        [
            "environment": .string(key.environment.rawValue), "id": .string(key.id), "version": json(version),
            "standing": (standing?.relation.rawValue).map(JSONValue.string) ?? .null,
            "held": standing?.held.map(json) ?? .null, "heldEvent": standing?.heldEvent.map { .integer($0) } ?? .null,
        ]
    }

    private static func json(_ version: Version) -> JSONValue {
        ["signedDate": .string("\(version.signedDate)"), "hash": .string(version.hash.hexadecimal)]
    }

    private var booksJSON: JSONValue {
        guard let books else { return .null }
        func rows(_ rows: [JSONObject]) -> JSONValue { .array(rows.map(JSONValue.object)) }
        return [
            "transaction": (books.transaction?.row).map(JSONValue.object) ?? .null,
            "subscription": (books.subscription?.row).map(JSONValue.object) ?? .null,
            "legacyRenewals": rows(books.legacyRenewals),
            "contract": books.contract.map(JSONValue.object) ?? .null, "claims": rows(books.claims),
            "ownerLinks": rows(books.ownerLinks), "posts": rows(books.posts),
            "orders": rows(books.orders), "calls": rows(books.calls),
            "refundStatements": rows(books.refundStatements), "firstEvent": books.firstEvent.map { .integer($0) } ?? .null,
        ]
    }
}
