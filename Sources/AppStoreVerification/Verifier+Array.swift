package import AppStore

/// The same for bytes that are not part of a body.
extension Verifier {
    /// Verifies a notification V2 and every JWS in it.
    package func verifyNotification(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<VerifiedNotification> {
        verifyNotification(jws[...], receivedAt: receivedAt)
    }

    /// Verifies a transaction by itself.
    package func verifyTransaction(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<SignedValue<JWSTransactionDecodedPayload>> {
        verifyTransaction(jws[...], receivedAt: receivedAt)
    }

    /// Verifies a renewal info by itself.
    package func verifyRenewalInfo(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<SignedValue<JWSRenewalInfoDecodedPayload>> {
        verifyRenewalInfo(jws[...], receivedAt: receivedAt)
    }

    /// Verifies an app transaction by itself.
    package func verifyAppTransaction(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<SignedValue<AppTransaction>> {
        verifyAppTransaction(jws[...], receivedAt: receivedAt)
    }

    /// Verifies a JWS of whichever kind its members say.
    package func verifyAny(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<VerifiedPayload> {
        verifyAny(jws[...], receivedAt: receivedAt)
    }
}
