import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON

extension SignedScene {
    /// Settings with a shared secret for the scene's app.
    static let asking = LegacySettings(mode: .apple, appsWithSecret: [app.bundleID])

    /// Verifies and interprets a notification V1 as event 1.
    static func facts(ofV1 json: JSONObject, settings: LegacySettings = .local) throws -> EventFacts {
        NotificationV1Interpreter.facts(of: try authentic(json), eventID: 1, settings: settings)
    }

    /// Checks app and environment of a notification V1.
    static func authentic(_ json: JSONObject) throws -> AuthenticNotificationV1 {
        let body = try ResponseBodyV1(decoding: JSONParser().parseObject(JSONSerializer.serialize(json)))
        let verifier = try receiptVerifier()
        let receipt: EnclosedReceipt =
            switch body.receiptData.map({ verifier.verify($0, receivedAt: now) }) {
            case .valid(let receipt)?: .verified(receipt)
            case .invalid(let rejection)?: .refused(rejection)
            case nil: .absent
            }
        return try AuthenticNotificationV1(
            body,
            receipt: receipt,
            digest: ContentDigest.ofNotificationV1(json),
            receivedAt: now,
            policy: verifier.policy
        )
    }
}

extension EventFacts {
    /// `kind subject` of each grant, refund and revocation.
    var money: [String] {
        let kinds: Set<EffectKind> = [.granted, .refunded, .revoked]
        return effects.filter { kinds.contains($0.key.kind) }.map { "\($0.key.kind.rawValue) \($0.key.subject)" }
    }

    /// All other effects.
    var others: [Effect] {
        let kinds: Set<EffectKind> = [.granted, .refunded, .revoked]
        return effects.filter { !kinds.contains($0.key.kind) }
    }
}
