package import AppStoreVerification

extension EventReader {
    /// The same reader, which refuses JWS that revoked certificates signed.
    package func refusing(_ revocations: Revocations) -> EventReader {
        EventReader(verifier: verifier.refusing(revocations), receipts: receipts, legacy: legacy)
    }
}
