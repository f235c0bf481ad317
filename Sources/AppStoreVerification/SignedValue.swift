package import AppStore
internal import OpenSSL

/// A decoded payload whose signature was verified.
package struct SignedValue<Payload: Sendable>: Sendable {
    private let shared: SharedValue<Payload>
    /// The payload.
    package var value: Payload { _read { yield shared.value } }
    /// The JSON that was signed.
    package let payloadBytes: [UInt8]
    /// SHA-256 of `payloadBytes`, computed at each call: the same for every signature over the same payload.
    package var payloadHash: [UInt8] { Digest.sha256(payloadBytes) }
    /// When Apple signed it; an app transaction's receiptCreationDate.
    package let signedDate: Timestamp

    init(value: Payload, payloadBytes: [UInt8], signedDate: Timestamp) {
        shared = SharedValue(value)
        self.payloadBytes = payloadBytes
        self.signedDate = signedDate
    }
}
