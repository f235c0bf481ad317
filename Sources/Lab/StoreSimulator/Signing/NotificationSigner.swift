package import AppStore
import OpenSSL
package import StrictJSON

/// Signs payloads as the App Store does: compact JWS, ES256, a header of exactly `alg` and `x5c` with three certificates.
package struct NotificationSigner: Sendable {
    private let key: PrivateKey
    private let headerSegment: [UInt8]

    /// A signer with the authority's leaf key and chain.
    package init(authority: TestAuthority) {
        key = authority.leafKey
        let chain = authority.chain.map { JSONValue.string(Base64.encode($0.der)) }
        headerSegment = Base64URL.encode(JSONSerializer.serialize(["alg": "ES256", "x5c": .array(chain)] as JSONObject))
    }

    /// The JWS of a payload. ECDSA is randomized: signing the same payload again gives another valid signature.
    package func sign(_ payload: JSONObject) throws(SimulationError) -> [UInt8] {
        try sign(payloadBytes: JSONSerializer.serialize(payload))
    }

    /// The JWS of bytes that need not be JSON.
    package func sign(payloadBytes: [UInt8]) throws(SimulationError) -> [UInt8] {
        try assemble(signing: payloadBytes, showing: payloadBytes)
    }

    /// The JWS that StoreKit gives an app after a purchase, or that a notification carries in `signedTransactionInfo`.
    package func sign(
        _ transaction: SimulatedTransaction,
        of app: SimulatedApp,
        signedDate: Timestamp,
        shape: PayloadShape = .current
    ) throws(SimulationError) -> [UInt8] {
        try sign(transaction.payload(of: app, signedDate: signedDate, shape: shape))
    }

    /// The JWS of a renewal info.
    package func sign(
        _ renewalInfo: SimulatedRenewalInfo,
        of app: SimulatedApp,
        signedDate: Timestamp,
        shape: PayloadShape = .current
    ) throws(SimulationError) -> [UInt8] {
        try sign(renewalInfo.payload(of: app, signedDate: signedDate, shape: shape))
    }

    /// The notification with all nested JWS, as it is posted. Each call signs again: the same payloads, other signatures.
    package func sign(_ notification: SimulatedNotification) throws(SimulationError) -> SignedNotification {
        let nested = try nestedJWS(of: notification)
        return SignedNotification(notification: notification, jws: try sign(notification.payload(nested)))
    }

    /// The signed parts of the notification's payload.
    func nestedJWS(of notification: SimulatedNotification) throws(SimulationError) -> NestedJWS {
        let (app, shape) = (notification.app, notification.shape)
        var nested = NestedJWS()
        if let dated = notification.state?.transaction {
            nested.transaction = try sign(dated.value, of: app, signedDate: dated.signedDate, shape: shape)
        }
        if let dated = notification.state?.renewalInfo {
            nested.renewalInfo = try sign(dated.value, of: app, signedDate: dated.signedDate, shape: shape)
        }
        if case .appData(let appTransaction) = notification.content {
            nested.appTransaction = try sign(appTransaction.payload(of: app))
        }
        return nested
    }

    /// A JWS with the signature of one payload and the text of another; they differ only in a forgery.
    func assemble(signing signed: [UInt8], showing shown: [UInt8]) throws(SimulationError) -> [UInt8] {
        let signature: [UInt8]
        do {
            signature = try key.signES256(headerSegment + [UInt8(ascii: ".")] + Base64URL.encode(signed))
        } catch {
            throw SimulationError(.signing, "the payload cannot be signed", cause: error)
        }
        return [headerSegment, Base64URL.encode(shown), Base64URL.encode(signature)].joinedByDots()
    }
}

/// The JWS inside a notification's payload.
struct NestedJWS {
    var transaction: [UInt8]?
    var renewalInfo: [UInt8]?
    var appTransaction: [UInt8]?
}

extension [[UInt8]] {
    func joinedByDots() -> [UInt8] { Array<UInt8>(joined(separator: [UInt8(ascii: ".")])) }
}
