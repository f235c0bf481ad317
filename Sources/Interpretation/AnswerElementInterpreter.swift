import AppStore
import AppStoreVerification
import Ledger

/// Turns one signed thing of an answer of the App Store Server API into facts. Pure.
///
/// The JWS prove transaction and renewal info. The status is as good as the TLS connection to Apple over which it came.
enum AnswerElementInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let event = reading.event
        let element = try reading.element()
        reading.document = element.document
        reading.odd += element.odd.map(\.kind)
        reading.unknown += element.unknown
        var facts = EventFacts(eventID: event.id, environment: element.environment, notificationUUID: nil)
        switch element.content {
        case .appTransaction(let jws):
            let app = try reading.accepted(
                reading.reader.verifier.verifyAppTransaction(
                    jws.bytes,
                    at: "answer.signedAppTransactionInfo",
                    receivedAt: event.readAt,
                    diagnostics: reading.diagnostics
                )
            )
            try reading.check(app.value.receiptType, app.value.bundleId, element)
            facts.add(app, bundleID: element.bundleID)
            // The purchase of the customer, by which appstore.forget finds the body.
            reading.labels.originalTransactionID = element.askedID?.storable
        case .transaction(let jws):
            facts.add(try reading.transaction(jws, of: element))
        case .status(let entry):
            let transaction = try reading.transaction(entry.signedTransactionInfo, of: element)
            let found = try reading.renewalInfo(of: entry, transaction, element)
            facts.add(transaction)
            // A charge that cannot be read leaves the renewal, which names the contract itself.
            let contract = transaction.odd.isEmpty ? nil : found.renewalInfo?.value.originalTransactionId
            facts.add(entry.status, found.renewalInfo, of: facts.transaction?.originalTransactionID ?? contract)
            if let member = found.unreadable ?? element.odd.first(at: ["answer.status", "answer.signedRenewalInfo"]) {
                facts.unhandledReason = EventRefusal.unreadableReason(member)
            }
        }
        return facts
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        "a part of Apple's answer to a question: a purchase, a subscription's status or a download of the app, as it was then"
    }
}

extension EventReading {
    /// The body. What Apple answered is never rejected for its form.
    fileprivate func element() throws(EventRefusal) -> AnswerElement {
        do throws(AnswerElement.Malformed) {
            return try AnswerElement(body: event.body, source: event.source)
        } catch {
            throw EventRefusal(error.rawValue, error == .answer || error == .noSignedData ? .unhandled : .rejected)
        }
    }

    /// The genuine transaction of the app and environment that were asked about.
    fileprivate mutating func transaction(_ jws: String, of element: AnswerElement) throws(EventRefusal) -> SignedValue<
        JWSTransactionDecodedPayload
    > {
        let transaction = try accepted(
            reader.verifier.verifyTransaction(
                jws.bytes,
                at: "answer.signedTransactionInfo",
                receivedAt: event.readAt,
                diagnostics: diagnostics
            )
        )
        try check(transaction.value.environment, transaction.value.bundleId, element)
        return transaction
    }

    /// The genuine renewal info of the contract that the entry and the transaction name; nil when there is none, or with the member that is
    /// needed and cannot be read.
    fileprivate mutating func renewalInfo(
        of entry: AnswerElement.StatusEntry,
        _ transaction: SignedValue<JWSTransactionDecodedPayload>,
        _ element: AnswerElement
    ) throws(EventRefusal) -> (renewalInfo: SignedValue<JWSRenewalInfoDecodedPayload>?, unreadable: String?) {
        var contracts = [transaction.value.originalTransactionId, entry.originalTransactionID]
        var signed: SignedValue<JWSRenewalInfoDecodedPayload>?
        var environment: VerificationReason?
        if let jws = entry.signedRenewalInfo {
            let verdict = reader.verifier.verifyRenewalInfo(
                jws.bytes,
                at: "answer.signedRenewalInfo",
                receivedAt: event.readAt,
                diagnostics: diagnostics
            )
            switch verdict {
            case .valid(let genuine):
                odd += genuine.odd
                unknown += genuine.unknown
                if let member = genuine.odd.first(where: { $0 == "renewalInfo.originalTransactionId" }) { return (nil, member) }
                contracts.append(genuine.value.originalTransactionId)
                // The renewal infos of before 2022 name no environment; their transaction does.
                environment = genuine.value.environment.flatMap { VerificationReason.refusing($0, unless: element.environment) }
                signed = genuine
            case .invalid(let rejection) where rejection.isUnreadable:
                note(rejection)
                return (nil, rejection.unreadableMember ?? rejection.location)
            case .invalid(let rejection): throw EventRefusal(rejection)
            }
        }
        let agree = Set(contracts.compactMap(\.self)).count <= 1
        let contract: VerificationReason? = agree ? nil : .originalTransactionIDDisagreement
        try EventRefusal.check("asked", [(.environment, environment), (.contract, contract)], diagnostics)
        return (signed, nil)
    }

    /// Checks that genuine content is what was asked for.
    fileprivate func check(_ environment: AppStoreEnvironment?, _ bundleID: String?, _ asked: AnswerElement) throws(EventRefusal) {
        let environment = VerificationReason.refusing(environment, unless: asked.environment)
        let app = VerificationReason.refusing(bundleID, unlessAmong: [asked.bundleID])
        try EventRefusal.check("asked", [(.environment, environment), (.app, app)], diagnostics)
    }
}

extension EventFacts {
    /// Adds what an answer says of the contract's renewal, or the member that it lacks: without one, it would take from the register what a
    /// notification knew.
    mutating func add(_ status: Status?, _ renewalInfo: SignedValue<JWSRenewalInfoDecodedPayload>?, of contract: String?) {
        guard let contract else { return }
        guard let renewalInfo, let status else {
            unhandledReason = unhandledReason ?? "incomplete_status:\(renewalInfo == nil ? "signedRenewalInfo" : "status")"
            return
        }
        subscription = SubscriptionFact(
            key: LedgerKey(environment: environment, id: contract),
            signedDate: renewalInfo.signedDate,
            hash: renewalInfo.odd.isEmpty ? renewalInfo.payloadHash : Version.hashBelow(renewalInfo.payloadHash),
            status: status,
            renewalInfo: renewalInfo.value
        )
        if let effect = transaction?.statusFound(status, renewalInfo) { effects.append(effect) }
    }
}

extension TransactionFact {
    /// That Apple's answer said that access has ended, or that a charge failed; nil for other statuses. Its key is its content: an answer has
    /// no notificationUUID.
    fileprivate func statusFound(_ status: Status, _ renewalInfo: SignedValue<JWSRenewalInfoDecodedPayload>) -> Effect? {
        guard let end = payload.expiresDate else { return nil }
        let date: Timestamp?
        switch status {
        case .expired, .billingGracePeriod: date = end
        case .billingRetry: date = max(end, renewalInfo.value.gracePeriodExpiresDate ?? end)
        case .revoked: date = payload.revocationDate
        default: return nil
        }
        let signedDate = renewalInfo.signedDate
        return Effect(
            key: EffectKey(
                environment: key.environment,
                kind: .statusFound,
                subject: "\(originalTransactionID)/\(status.rawValue)/\(end.millisecondsSince1970)"
            ),
            occurredAt: date.map { min($0, signedDate) } ?? signedDate,
            originalTransactionID: originalTransactionID,
            transactionID: key.id,
            productID: productID,
            gracePeriodExpiresDate: status == .expired || status == .revoked ? nil : renewalInfo.value.gracePeriodExpiresDate
        )
    }
}

extension String {
    fileprivate var bytes: ArraySlice<UInt8> { Array(utf8)[...] }
}
