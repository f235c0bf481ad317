package import AppStore
package import AppStoreVerification
package import Ledger
import StrictJSON

/// Turns Apple's answer about a receipt into facts. Pure.
package enum VerifyReceiptInterpreter {
    /// - Parameter latest: `latest_receipt`, when it is genuine. Only this part of the answer has the products' types.
    package static func facts(of answer: ReceiptAnswer, latest: VerifiedReceipt?, eventID: Int64) -> EventFacts {
        let (response, environment) = (answer.response, answer.environment)
        var facts = EventFacts(eventID: eventID, environment: environment, notificationUUID: nil)
        let latest = latest.flatMap { $0.environment == environment && $0.bundleID == answer.bundleID ? $0 : nil }
        facts.add(
            reading(response.latestReceiptInfo, .latestReceiptInfo, at: answer.askedAt, of: answer),
            // A receipt without a date holds a single transaction, and is as new as the answer.
            reading(inApp(response.receipt), .inApp, at: response.receipt?.creationDate ?? answer.askedAt, of: answer),
            latest?.reading(classifiedBy: response.latestReceiptInfo) ?? .nothing
        )
        facts.legacyRenewals = response.pendingRenewalInfo.compactMap { renewal in
            renewal.originalTransactionID.map { contract in
                V1RenewalFact(
                    key: V1RenewalFact.Key(
                        contract: LedgerKey(environment: environment, id: contract),
                        bundleID: answer.bundleID
                    ),
                    provenance: .verifyReceipt,
                    renewal: renewal,
                    statedAt: answer.askedAt,
                    receiptDate: response.receipt?.creationDate
                )
            }
        }
        return facts
    }

    private static func inApp(_ receipt: VerifiedReceiptContent?) -> [ReceiptTransaction] {
        guard let receipt else { return [] }
        return receipt.transaction.map { [$0] } ?? receipt.inApp
    }

    private static func reading(
        _ transactions: [ReceiptTransaction],
        _ form: ReceiptFact.Form,
        at date: Timestamp,
        of answer: ReceiptAnswer
    ) -> ReceiptReading {
        ReceiptReading(
            transactions.map(ReceiptEntry.init),
            from: ReceiptReading.Source(environment: answer.environment, bundleID: answer.bundleID, form: form, statedAt: date),
            // Only these entries mark upgrades and family sharing.
            classifiedBy: answer.response.latestReceiptInfo
        )
    }
}

extension VerifyReceiptInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let event = reading.event
        let (_, response) = try reading.decodedDocument(as: VerifyReceiptResponse.self)
        reading.labels = EventLabels(response)
        let answer: ReceiptAnswer
        do throws(ReceiptAnswer.Refusal) {
            answer = try ReceiptAnswer(response, receivedAt: event.receivedAt, policy: reading.reader.receipts.policy)
        } catch {
            let isMissing = [.environmentMissing, .bundleMissing, .requestDateMissing].contains(error) || response.status == nil
            throw (isMissing ? response.odd.first(named: naming) : nil).map(EventRefusal.unreadable) ?? EventRefusal(error.rawValue)
        }
        if let member = response.odd.first(at: ["environment", "receipt.bundle_id", "receipt.bid"]) ?? response.unreadableDate {
            throw .unreadable(member)
        }
        var latest: VerifiedReceipt?
        if let data = response.latestReceipt {
            switch reading.verify(receipt: data) {
            case .invalid(let rejection) where rejection.isRetryable: throw EventRefusal(rejection)
            case .valid(let receipt) where !receipt.containsNUL: latest = receipt
            // The rest of the answer has the same charges.
            case .invalid, .valid: break
            }
        }
        var facts = facts(of: answer, latest: latest, eventID: event.id)
        if let member = response.unreadable { facts.unhandledReason = EventRefusal.unreadableReason(member) }
        reading.labels.name(facts)
        return facts
    }

    /// Members that say whether, when and about what Apple answered.
    private static let naming: Set<String> = [
        "status", "environment", "receipt", "receipt_type", "bundle_id", "bid", "request_date", "transaction_id",
    ]

    static func meaning(type: String?, subtype: String?) -> String? {
        "Apple's answer about a receipt: purchases and renewals as they were when it was asked"
    }
}

extension VerifyReceiptResponse {
    /// A date that versions parts of the answer and cannot be read; without it they would count as new as the answer itself.
    fileprivate var unreadableDate: String? {
        guard let receipt else { return nil }
        let dates = [(receipt.requestDate, "request_date"), (receipt.creationDate, "receipt_creation_date")]
        return dates.lazy.compactMap { date, name in date == nil ? odd.first(at: ["receipt.\(name)", "receipt.\(name)_ms"]) : nil }.first
    }

    /// The first member that is needed and cannot be read; what lacks it is left out.
    fileprivate var unreadable: String? {
        let lists: Set<String> = [
            "latest_receipt", "latest_receipt_info", "latest_expired_receipt_info", "pending_renewal_info", "in_app",
            "original_transaction_id",
        ]
        let purchases = latestReceiptInfo + (receipt?.inApp ?? []) + [receipt?.transaction].compactMap(\.self)
        let isLeftOut = purchases.contains(where: \.isUnreadable)
        return odd.first(named: lists) ?? (isLeftOut ? odd.first(named: ReceiptTransaction.neededMembers) : nil)
    }
}

/// An answer of verifyReceipt about a configured app. It is trusted because it came over a TLS connection to Apple.
package struct ReceiptAnswer: Sendable {
    package let response: VerifyReceiptResponse
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// The version of everything that is as new as the answer.
    package let askedAt: Timestamp

    /// Why an answer cannot be used; the raw value is the code that is stored and shown.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// The receipt is not valid: the status is neither 0 nor, for an iOS 6 style receipt, 21006.
        case notValid = "status_not_valid"
        /// The answer names no environment.
        case environmentMissing = "environment_missing"
        /// The environment is not configured.
        case wrongEnvironment = "wrong_environment"
        /// The receipt names no app.
        case bundleMissing = "bundle_missing"
        /// The app is not configured.
        case wrongBundle = "wrong_bundle"
        /// The answer has no request date.
        case requestDateMissing = "request_date_missing"
    }

    /// - Parameters:
    ///   - receivedAt: when the answer came in. It is the version of answers about iOS 6 style receipts, which have no date.
    ///   - policy: which apps and environments are configured.
    package init(_ response: VerifyReceiptResponse, receivedAt: Timestamp, policy: VerificationPolicy) throws(Refusal) {
        let isOfOneTransaction = response.receipt?.transaction != nil
        guard response.status == .valid || (response.status == .subscriptionExpired && isOfOneTransaction) else { throw .notValid }
        guard let environment = response.environment ?? response.receipt?.receiptType?.environment else { throw .environmentMissing }
        guard policy.environments?.contains(environment) ?? true else { throw .wrongEnvironment }
        guard let bundleID = response.receipt?.bundleID else { throw .bundleMissing }
        guard policy.accepts(bundleID: bundleID) else { throw .wrongBundle }
        guard let askedAt = response.receipt?.requestDate ?? (isOfOneTransaction ? receivedAt : nil) else { throw .requestDateMissing }
        self.response = response
        self.environment = environment
        self.bundleID = bundleID
        self.askedAt = askedAt
    }
}

/// Turns the genuine receipt that Apple has not answered for into facts. Pure.
package enum UnansweredReceiptInterpreter {
    /// The charges in a receipt, as of when Apple made it.
    package static func facts(of receipt: VerifiedReceipt, eventID: Int64) -> EventFacts {
        var facts = EventFacts(eventID: eventID, environment: receipt.environment, notificationUUID: nil)
        facts.add(receipt.reading())
        return facts
    }
}

extension UnansweredReceiptInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let event = reading.event
        let unanswered = try reading.decoded { () throws(UnansweredReceipt.Malformed) in try UnansweredReceipt(body: event.body) }
        let receipt = try reading.accepted(reading.verify(receipt: unanswered.receiptData))
        try reading.refuseNUL(in: receipt)
        let facts = facts(of: receipt, eventID: event.id)
        reading.labels.name(facts)
        return facts
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        "a posted receipt that Apple has not answered for: its purchases as of when Apple made it"
    }
}

extension OutboundCall {
    /// Asks verifyReceipt about a genuine receipt that a client posted; without an answer, the receipt itself is used.
    package static func verifyReceipt(about receipt: VerifiedReceipt, eventID: Int64) -> OutboundCall {
        verifyReceipt(
            receipt.bundleID,
            ContentDigest.hexadecimal(receipt.contentHash),
            eventID,
            fallback: EventSource.unansweredReceipt.rawValue
        )
    }

    /// Asks verifyReceipt about the receipt of a notification V1 that only Apple can read: an iOS 6 style receipt, or one signed by unknown
    /// certificates. Nil when there is no receipt, when it can be read here, and when it does not have the form of a receipt.
    package static func verifyReceipt(about notification: AuthenticNotificationV1, eventID: Int64) -> OutboundCall? {
        guard notification.receipt.mayBeValidForApple, let data = notification.body.receiptData else { return nil }
        return verifyReceipt(notification.bundleID, ContentDigest.ofBytes(Array(data.utf8)), eventID, fallback: nil)
    }

    private static func verifyReceipt(_ bundleID: String, _ contentHash: String, _ eventID: Int64, fallback: String?) -> OutboundCall {
        OutboundCall(
            kind: EventSource.verifyReceipt.rawValue,
            key: verifyReceiptKey(bundleID, contentHash),
            bundleID: bundleID,
            eventID: eventID,
            fallback: fallback
        )
    }

    /// - Parameter contentHash: identifies the receipt, so that a receipt that is posted twice has only one open call.
    fileprivate static func verifyReceiptKey(_ bundleID: String, _ contentHash: String) -> String { "\(bundleID):\(contentHash)" }
}

/// What a posted receipt says before it is verified: enough to look up its charges in the ledger.
package struct ReceiptOutline: Hashable, Sendable {
    /// The charges in it, each once and in its order.
    package let transactionIDs: [String]
    /// The key of the call that asks Apple about the receipt, if there is one; nil when the receipt names no app.
    package let callKey: String?

    /// Nil for a receipt that cannot be read; the worker ignores it, too.
    ///
    /// - Parameter receiptData: as it was posted.
    package init?(receiptData: String) {
        guard case .appReceipt(let encoding) = ReceiptInput(Array(receiptData.utf8)[...]) else { return nil }
        do {
            let content = try SignedReceipt(encoding[...]).content
            let receipt = try AppReceipt(content: content)
            var seen: Set<String> = []
            transactionIDs = receipt.purchases.compactMap(\.transactionID).filter { !$0.hasNUL && seen.insert($0).inserted }
            callKey = receipt.bundleID.map { OutboundCall.verifyReceiptKey($0, ContentDigest.ofBytes(content)) }
        } catch {
            return nil
        }
    }
}
