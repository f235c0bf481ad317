import AppStore
import AppStoreVerification
import Handlers
import Ledger
import SignedTesting
import StoreSimulator

extension SignedScene {
    /// Which apps have a secret to ask Apple with: that of the scene.
    static let asking = LegacySettings(mode: .apple, appsWithSecret: [app.bundleID])

    /// Verifies and interprets a notification V1 as event 1.
    static func facts(ofV1 json: JSONObject, settings: LegacySettings = .local) throws -> EventFacts {
        NotificationV1Interpreter.facts(of: try authentic(json), eventID: 1, settings: settings)
    }

    /// Verifies a notification V1 as far as that goes.
    static func authentic(_ json: JSONObject) throws -> AuthenticNotificationV1 {
        let body = try ResponseBodyV1(JSONParser().parseObject(JSONSerializer.serialize(json)))
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
    /// `kind subject` of each effect that is about money.
    var money: [String] {
        let kinds: Set<EffectKind> = [.granted, .refunded, .revoked]
        return effects.filter { kinds.contains($0.key.kind) }.map { "\($0.key.kind.rawValue) \($0.key.subject)" }
    }

    /// The effects that are about anything else.
    var others: [Effect] {
        let kinds: Set<EffectKind> = [.granted, .refunded, .revoked]
        return effects.filter { !kinds.contains($0.key.kind) }
    }
}
