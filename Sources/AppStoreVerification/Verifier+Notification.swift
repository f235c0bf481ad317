internal import AppStore

extension Verifier {
    /// The location of the outermost JWS, of any kind.
    package static let outermost = "signedPayload"

    /// Decodes and checks a genuine notification and verifies its nested JWS.
    func notification(
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
    func located<Value>(
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
