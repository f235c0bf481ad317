package import AppStore
internal import OpenSSL

/// A decoded payload whose signature was verified.
package struct SignedValue<Payload: Sendable>: Sendable {
    private let shared: SharedValue<Payload>
    package var value: Payload { _read { yield shared.value } }
    /// The signed JSON.
    package let payloadBytes: [UInt8]
    /// SHA-256 of `payloadBytes`, independent of the signature; computed at each call.
    package var payloadHash: [UInt8] { Digest.sha256(payloadBytes) }
    /// When Apple signed it; `receiptCreationDate` of an app transaction.
    package let signedDate: Timestamp
    /// The known members that cannot be read: `data.bundleVersion`, `transaction.price`.
    package let odd: [String]
    /// The values that this version does not know, each at its place in an event: `transaction.type`.
    package let unknown: [UnknownValue]

    init(value: Payload, payloadBytes: [UInt8], signedDate: Timestamp, odd: [String] = [], unknown: [UnknownValue] = []) {
        shared = SharedValue(value)
        self.payloadBytes = payloadBytes
        self.signedDate = signedDate
        self.odd = odd
        self.unknown = unknown
    }
}
