import AppStore
package import AppStoreVerification
package import Ledger

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
