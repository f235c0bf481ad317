package import AppStore

/// Overloads for arrays.
extension Verifier {
    /// Verifies a notification V2 and every JWS in it.
    package func verifyNotification(_ jws: [UInt8], receivedAt: Timestamp, diagnostics: VerificationDiagnostics? = nil) -> Verdict<
        VerifiedNotification
    > {
        verifyNotification(jws[...], receivedAt: receivedAt, diagnostics: diagnostics)
    }

    /// Verifies a standalone transaction.
    package func verifyTransaction(_ jws: [UInt8], receivedAt: Timestamp, diagnostics: VerificationDiagnostics? = nil) -> Verdict<
        SignedValue<JWSTransactionDecodedPayload>
    > {
        verifyTransaction(jws[...], receivedAt: receivedAt, diagnostics: diagnostics)
    }

    /// Verifies a JWS of any kind; its members determine the kind.
    package func verifyAny(_ jws: [UInt8], receivedAt: Timestamp, diagnostics: VerificationDiagnostics? = nil) -> Verdict<VerifiedPayload> {
        verifyAny(jws[...], receivedAt: receivedAt, diagnostics: diagnostics)
    }
}
