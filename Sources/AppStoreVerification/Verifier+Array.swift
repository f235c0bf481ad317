package import AppStore

/// Overloads for arrays.
extension Verifier {
    /// Verifies a notification V2 and every JWS in it.
    package func verifyNotification(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<VerifiedNotification> {
        verifyNotification(jws[...], receivedAt: receivedAt)
    }

    /// Verifies a standalone transaction.
    package func verifyTransaction(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<SignedValue<JWSTransactionDecodedPayload>> {
        verifyTransaction(jws[...], receivedAt: receivedAt)
    }

    /// Verifies a standalone renewal info.
    package func verifyRenewalInfo(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<SignedValue<JWSRenewalInfoDecodedPayload>> {
        verifyRenewalInfo(jws[...], receivedAt: receivedAt)
    }

    /// Verifies a standalone app transaction.
    package func verifyAppTransaction(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<SignedValue<AppTransaction>> {
        verifyAppTransaction(jws[...], receivedAt: receivedAt)
    }

    /// Verifies a JWS of any kind; its members determine the kind.
    package func verifyAny(_ jws: [UInt8], receivedAt: Timestamp) -> Verdict<VerifiedPayload> {
        verifyAny(jws[...], receivedAt: receivedAt)
    }
}
