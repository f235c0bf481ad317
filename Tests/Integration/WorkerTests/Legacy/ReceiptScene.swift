import AppStore
import Interpretation
import Ledger
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON

@testable import InboxQueue

/// A worker without a database: the preparation of one event.
struct ReceiptScene {
    static let asking = LegacySettings(mode: .apple, appsWithSecret: [SignedScene.app.bundleID])

    let prepared: EventProcessor.Prepared

    /// - Parameter claimedAt: the time of the attempt.
    init(_ body: [UInt8], source: String, legacy: LegacySettings = .local, claimedAt: Timestamp = SignedScene.now) throws {
        let processor = EventProcessor(
            EventReader(verifier: try SignedScene.verifier(), receipts: try SignedScene.receiptVerifier(), legacy: legacy)
        )
        let attemptedAt = PostgresTimestamp(millisecondsSince1970: claimedAt.millisecondsSince1970)
        var event = ClaimedEvent(eventID: 1, claimedAt: attemptedAt, attempts: 0, run: 1)
        event.receivedAt = PostgresTimestamp(millisecondsSince1970: SignedScene.now.millisecondsSince1970)
        (event.source, event.body) = (source, body)
        prepared = processor.prepare(event)
    }

    init(_ json: JSONObject, source: String, legacy: LegacySettings = .local, claimedAt: Timestamp = SignedScene.now) throws {
        try self.init(JSONSerializer.serialize(json), source: source, legacy: legacy, claimedAt: claimedAt)
    }

    /// `rejected reason`, `retry reason`, or `merge` with the reason of the outcome.
    var outcome: String {
        switch prepared {
        case .facts(let facts, _): ["merge", facts.unhandledReason ?? facts.remark].compactMap(\.self).joined(separator: " ")
        case .unusableAnswer(_, let outcome): "unusable, \(outcome.result.rawValue) \(outcome.reason ?? "")"
        case .settled(.outcome(let outcome)): [outcome.result.rawValue, outcome.reason].compactMap(\.self).joined(separator: " ")
        case .settled(.retry(let reason, _, _)): "retry \(reason)"
        }
    }

    var facts: EventFacts? {
        if case .facts(let facts, _) = prepared { facts } else { nil }
    }

    /// Type, uuid, environment, bundle, transaction and contract; `-` for an unknown one.
    var labels: String {
        let labels: OutcomeLabels? =
            switch prepared {
            case .facts(_, let labels): labels
            case .settled(.outcome(let outcome)), .unusableAnswer(_, let outcome): outcome.labels
            case .settled(.retry(_, _, let labels)): labels
            }
        return [
            labels?.notificationType, labels?.notificationUUID.map { _ in "uuid" }, labels?.environment, labels?.bundleID,
            labels?.transactionID, labels?.originalTransactionID,
        ].map { $0 ?? "-" }.joined(separator: " ")
    }
}
