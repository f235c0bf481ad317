import StrictJSON

/// The ways in which an attacker might forge a notification.
///
/// A notification of another app or environment needs no forgery: change ``SimulatedNotification/app``. One of another authority is
/// signed by that authority's ``NotificationSigner``.
package enum Forgery: Hashable, Sendable, CaseIterable {
    /// The payload names another notificationUUID than the one that was signed.
    case payloadAltered
    /// The signature is altered.
    case signatureDamaged
    /// The transaction inside says another price than the one that was signed; the outer signature is genuine.
    case transactionAltered
    /// The renewal info inside was signed for another contract; all signatures are genuine.
    case foreignRenewalInfo
    /// The nested JWS are cut in half; the outer signature is genuine.
    case nestedTruncated
}

extension NotificationSigner {
    /// Signs the notification and then alters it. Throws `invalidOption` when the notification lacks the part to alter.
    package func forge(_ notification: SimulatedNotification, _ forgery: Forgery) throws(SimulationError) -> SignedNotification {
        var nested = try nestedJWS(of: notification)
        switch forgery {
        case .payloadAltered:
            let genuine = notification.payload(nested)
            var altered = genuine
            altered["notificationUUID"] = "00000000-0000-4000-8000-000000000000"
            return SignedNotification(notification: notification, jws: try assemble(genuine, showing: altered))
        case .signatureDamaged:
            return SignedNotification(notification: notification, jws: Self.damagingSignature(try sign(notification).jws))
        case .transactionAltered:
            guard let dated = notification.state?.transaction else { throw Self.nothingToForge("transaction") }
            let genuine = dated.value.payload(of: notification.app, signedDate: dated.signedDate, shape: notification.shape)
            var altered = genuine
            altered["price"] = 1
            nested.transaction = try assemble(genuine, showing: altered)
        case .foreignRenewalInfo:
            guard let dated = notification.state?.renewalInfo else { throw Self.nothingToForge("renewal info") }
            var foreign = dated.value
            foreign.originalTransactionID += "9"
            nested.renewalInfo = try sign(foreign, of: notification.app, signedDate: dated.signedDate, shape: notification.shape)
        case .nestedTruncated:
            guard let transaction = nested.transaction else { throw Self.nothingToForge("transaction") }
            nested.transaction = Array(transaction.prefix(transaction.count / 2))
        }
        return SignedNotification(notification: notification, jws: try sign(notification.payload(nested)))
    }

    private func assemble(_ signed: JSONObject, showing shown: JSONObject) throws(SimulationError) -> [UInt8] {
        try assemble(signing: JSONSerializer.serialize(signed), showing: JSONSerializer.serialize(shown))
    }

    /// Changes the first character of the signature: still base64url, with another r.
    private static func damagingSignature(_ jws: [UInt8]) -> [UInt8] {
        var damaged = jws
        guard let dot = jws.lastIndex(of: UInt8(ascii: ".")), dot + 1 < jws.count else { return jws }
        damaged[dot + 1] = jws[dot + 1] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return damaged
    }

    private static func nothingToForge(_ part: String) -> SimulationError {
        SimulationError(.invalidOption, "a notification without \(part) cannot be forged in that way")
    }
}
