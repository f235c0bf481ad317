package import AppStore

/// Decides whether signed payloads are genuine and belong to a configured app.
///
/// It uses neither network nor clock and is safe for concurrent use. Validated chains are cached, so a JWS usually costs one P-256
/// verification.
package final class Verifier: Sendable {
    /// The location of the outermost JWS, of any kind.
    package static let outermost = "signedPayload"

    package let policy: VerificationPolicy
    let signatures: SignatureVerifier

    /// Caches up to `chainCacheLimit` chains of about six kilobytes each.
    package init(policy: VerificationPolicy, chainCacheLimit: Int = 64) {
        self.policy = policy
        signatures = SignatureVerifier(roots: policy.roots.map(\.certificate), cache: ChainCache(limit: chainCacheLimit))
    }

    private init(policy: VerificationPolicy, signatures: SignatureVerifier) {
        self.policy = policy
        self.signatures = signatures
    }

    /// A verifier that refuses what revoked certificates signed, and otherwise is this one, with its cache.
    package func refusing(_ revocations: Revocations) -> Verifier {
        var policy = policy
        policy.revocations = revocations
        return Verifier(policy: policy, signatures: signatures)
    }

    /// Hits and misses of the chain cache so far.
    package var chainCacheCounts: ChainCacheCounts { signatures.cache.counts }

    /// The certificates that signed, each with its issuer, below the roots of the policy, since the last call.
    package func takeUsedCertificates() -> Set<IssuedCertificate> {
        Set(
            signatures.cache.takeUsed().flatMap { chain in
                zip(chain.path, chain.path.dropFirst()).map { IssuedCertificate($0, issuer: $1) }
            }
        )
    }

    /// Verifies a notification V2 and every JWS in it.
    package func verifyNotification(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp, diagnostics: VerificationDiagnostics? = nil)
        -> Verdict<VerifiedNotification>
    {
        Verdict { () throws(Rejection) in
            let payload = try signed(jws, .notification, diagnostics)
            return try notification(payload, receivedAt: receivedAt, diagnostics)
        }
    }

    /// Verifies a standalone transaction, from a client or Apple's API.
    package func verifyTransaction(
        _ jws: ArraySlice<UInt8>,
        at location: String = outermost,
        receivedAt: Timestamp,
        diagnostics: VerificationDiagnostics? = nil
    ) -> Verdict<
        SignedValue<JWSTransactionDecodedPayload>
    > {
        verifySingle(jws, at: location, receivedAt: receivedAt, diagnostics)
    }

    /// Verifies a standalone renewal info.
    package func verifyRenewalInfo(
        _ jws: ArraySlice<UInt8>,
        at location: String = outermost,
        receivedAt: Timestamp,
        diagnostics: VerificationDiagnostics? = nil
    ) -> Verdict<
        SignedValue<JWSRenewalInfoDecodedPayload>
    > {
        verifySingle(jws, at: location, receivedAt: receivedAt, diagnostics)
    }

    /// Verifies a standalone app transaction.
    package func verifyAppTransaction(
        _ jws: ArraySlice<UInt8>,
        at location: String = outermost,
        receivedAt: Timestamp,
        diagnostics: VerificationDiagnostics? = nil
    )
        -> Verdict<SignedValue<AppTransaction>>
    {
        verifySingle(jws, at: location, receivedAt: receivedAt, diagnostics)
    }

    /// Verifies a JWS of any kind; its members determine the kind.
    package func verifyAny(_ jws: ArraySlice<UInt8>, receivedAt: Timestamp, diagnostics: VerificationDiagnostics? = nil) -> Verdict<
        VerifiedPayload
    > {
        Verdict { () throws(Rejection) in
            let payload = try signed(jws, nil, diagnostics)
            if let kind = payload.kind { diagnostics?.require(.jws(kind)) }
            switch payload.kind {
            case .transaction: return .transaction(try single(payload, receivedAt: receivedAt, diagnostics))
            case .renewalInfo: return .renewalInfo(try single(payload, receivedAt: receivedAt, diagnostics))
            case .appTransaction: return .appTransaction(try single(payload, receivedAt: receivedAt, diagnostics))
            case .notification: return .notification(try notification(payload, receivedAt: receivedAt, diagnostics))
            case nil:
                return try located(Self.outermost) { () throws(Flaw) in
                    try diagnostics.check(.kind) { () throws(Flaw) in throw payload.wrongKind("none of the four kinds") }
                }
            }
        }
    }

    private func verifySingle<Content: SignedContent>(
        _ jws: ArraySlice<UInt8>,
        at location: String,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) -> Verdict<SignedValue<Content>> {
        Verdict { () throws(Rejection) in
            try single(try signed(jws, Content.kind, at: location, diagnostics), at: location, receivedAt: receivedAt, diagnostics)
        }
    }

    /// The payload of the outermost JWS, whose kind may be expected.
    private func signed(
        _ jws: ArraySlice<UInt8>,
        _ kind: SignedPayloadKind?,
        at location: String = outermost,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Rejection) -> SignedPayload {
        diagnostics?.begin(location, requiring: .jws(kind))
        return try located(location) { () throws(Flaw) in try signatures.verify(jws, diagnostics) }
    }

    private func single<Content: SignedContent>(
        _ payload: SignedPayload,
        at location: String = outermost,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Rejection) -> SignedValue<Content> {
        let signed = try located(location) { () throws(Flaw) in try payload.decode(as: Content.self, diagnostics) }
        try located(location, in: signed.value.genuine) { () throws(Flaw) in
            try check(try signed.value.subject(), of: payload, receivedAt: receivedAt, diagnostics)
        }
        return signed
    }

    /// Checks what a genuine payload names.
    private func check(
        _ subject: Subject,
        of payload: SignedPayload,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) {
        try policy.check(subject, signedAt: payload.signedDate, below: payload.chain.anchor, receivedAt: receivedAt, diagnostics)
        try diagnostics.check(.revocation) { () throws(Flaw) in
            if let index = policy.revocations.refused(payload.chain.fingerprints, signedAt: payload.signedDate) {
                throw Flaw(.certificateRevoked, "x5c[\(index)]")
            }
        }
    }

    /// Decodes and checks a genuine notification and verifies its nested JWS.
    private func notification(
        _ payload: SignedPayload,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Rejection) -> VerifiedNotification {
        let outer = try located(Self.outermost) { () throws(Flaw) in
            try payload.decode(as: ResponseBodyV2DecodedPayload.self, diagnostics)
        }
        let content = outer.value
        let (subject, environment) = try located(Self.outermost, in: content.genuine) { () throws(Flaw) in
            let subject = try diagnostics.check(.agreement) { () throws(Flaw) in try content.subject() }
            try check(subject, of: payload, receivedAt: receivedAt, diagnostics)
            guard let environment = subject.environment else { throw Flaw(.environmentMissing) }
            return (subject, environment)
        }
        var unreadable: [String] = []
        func nested<Content: SignedContent>(_ jws: String?, _ location: String) throws(Rejection) -> SignedValue<Content>? {
            guard let jws else { return nil }
            diagnostics?.begin(location, requiring: .jws(Content.kind, isNested: true))
            do throws(Rejection) {
                return try located(location, in: content.genuine) { () throws(Flaw) in
                    try self.nested(jws, in: subject, receivedAt: receivedAt, diagnostics)
                }
            } catch {
                guard error.isUnreadable else { throw error }
                unreadable.append(error.unreadableMember ?? location)
                return nil
            }
        }
        let transaction: SignedValue<JWSTransactionDecodedPayload>? = try nested(
            content.data?.signedTransactionInfo,
            "data.signedTransactionInfo"
        )
        var renewalInfo: SignedValue<JWSRenewalInfoDecodedPayload>? = try nested(content.data?.signedRenewalInfo, "data.signedRenewalInfo")
        if let contract = renewalInfo?.value.unreadable(["originalTransactionId"]) {
            // Nothing says that it belongs to the transaction.
            unreadable.append(contract)
            renewalInfo = nil
        }
        if let renewalInfo {
            let contracts = [transaction?.value.originalTransactionId, renewalInfo.value.originalTransactionId]
            try located("data.signedRenewalInfo", in: content.genuine) { () throws(Flaw) in
                try diagnostics.check(.contract) { () throws(Flaw) in
                    _ = try Subject.agreed(contracts, otherwise: .originalTransactionIDDisagreement)
                }
            }
        }
        let appTransaction: SignedValue<AppTransaction>? = try nested(
            content.appData?.signedAppTransactionInfo,
            "appData.signedAppTransactionInfo"
        )
        return VerifiedNotification(
            notification: outer,
            transaction: transaction,
            renewalInfo: renewalInfo,
            appTransaction: appTransaction,
            environment: environment,
            bundleID: subject.bundleID ?? transaction?.value.bundleId ?? appTransaction?.value.bundleId,
            unreadableParts: unreadable
        )
    }

    private func nested<Content: SignedContent>(
        _ jws: String,
        in outer: Subject,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) -> SignedValue<Content> {
        let payload = try signatures.verify(Array(jws.utf8)[...], diagnostics)
        let value = try payload.decode(as: Content.self, diagnostics)
        let subject = try diagnostics.check(.agreement) { () throws(Flaw) in try value.value.subject().agreeing(with: outer) }
        try check(subject, of: payload, receivedAt: receivedAt, diagnostics)
        return value
    }

    /// Adds the location to a flaw, and the payload if its signature is genuine.
    private func located<Value>(
        _ location: String,
        in genuine: GenuineContent? = nil,
        _ verify: () throws(Flaw) -> Value
    ) throws(Rejection) -> Value {
        do {
            return try verify()
        } catch {
            throw Rejection(error, at: location, in: genuine)
        }
    }
}
