package import AppStore
internal import OpenSSL

/// Decides whether signed payloads are genuine and belong to a configured app.
///
/// It uses neither network nor clock and is safe for concurrent use. Validated chains are cached, so a JWS usually costs one P-256
/// verification.
package final class Verifier: Sendable {
    package let policy: VerificationPolicy
    let signatures: SignatureVerifier

    /// Caches up to `chainCacheLimit` chains of about six kilobytes each.
    package init(policy: VerificationPolicy, chainCacheLimit: Int = 64) {
        self.policy = policy
        signatures = SignatureVerifier(roots: policy.roots.map(\.certificate), cache: ChainCache(limit: chainCacheLimit))
    }

    /// Verifies a notification V2 and every JWS in it.
    package func verifyNotification(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp) -> Verdict<VerifiedNotification> {
        Verdict { () throws(Rejection) in
            let payload = try located(Self.outermost) { () throws(Flaw) in try signatures.verify(jws) }
            return try notification(payload, receivedAt: receivedAt)
        }
    }

    /// Verifies a standalone transaction, from a client or Apple's API.
    package func verifyTransaction(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp) -> Verdict<SignedValue<JWSTransactionDecodedPayload>> {
        verifySingle(jws, receivedAt: receivedAt)
    }

    /// Verifies a standalone renewal info.
    package func verifyRenewalInfo(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp) -> Verdict<SignedValue<JWSRenewalInfoDecodedPayload>> {
        verifySingle(jws, receivedAt: receivedAt)
    }

    /// Verifies a standalone app transaction.
    package func verifyAppTransaction(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp) -> Verdict<SignedValue<AppTransaction>> {
        verifySingle(jws, receivedAt: receivedAt)
    }

    /// Verifies a JWS of any kind; its members determine the kind.
    package func verifyAny(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp) -> Verdict<VerifiedPayload> {
        Verdict { () throws(Rejection) in
            let payload = try located(Self.outermost) { () throws(Flaw) in try signatures.verify(jws) }
            switch payload.kind {
            case .transaction: return .transaction(try single(payload, receivedAt: receivedAt))
            case .renewalInfo: return .renewalInfo(try single(payload, receivedAt: receivedAt))
            case .appTransaction: return .appTransaction(try single(payload, receivedAt: receivedAt))
            case .notification: return .notification(try notification(payload, receivedAt: receivedAt))
            case nil: throw Rejection(Flaw(.wrongKind, "none of the four kinds"), at: Self.outermost)
            }
        }
    }

    private func verifySingle<Content: SignedContent>(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp) -> Verdict<SignedValue<Content>> {
        Verdict { () throws(Rejection) in
            let payload = try located(Self.outermost) { () throws(Flaw) in try signatures.verify(jws) }
            return try single(payload, receivedAt: receivedAt)
        }
    }

    private func single<Content: SignedContent>(_ payload: SignedPayload, receivedAt: Timestamp) throws(Rejection) -> SignedValue<Content> {
        let signed = try located(Self.outermost) { () throws(Flaw) in try payload.decode(as: Content.self) }
        try located(Self.outermost, in: signed.value) { () throws(Flaw) in
            try policy.check(try signed.value.subject(), of: payload, receivedAt: receivedAt)
        }
        return signed
    }
}
