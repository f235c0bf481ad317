package import AppStore
package import AppStoreVerification
package import Ledger

/// Turns a verified receipt that a client posted into facts or, where Apple is asked about it, into an outbound call. Pure.
///
/// A receipt is incomplete: a charge shared by a family looks like a paid one. Where Apple is asked, the charges come from the answer. The
/// receipt itself counts only when there is no answer (``UnansweredReceipt``).
package enum ClientReceiptInterpreter {
    /// The remark on a post whose named purchase is not in its receipt.
    package static let transactionNotInReceipt = "transaction_not_in_receipt"
    /// The remark on a post whose charges come from Apple's answer.
    package static let appleIsAsked = "verify_receipt_asked"

    /// - Parameters:
    ///   - receivedAt: when the event came in, which decides who posted a purchase first.
    ///   - settings: whether Apple is asked.
    package static func facts(
        of receipt: VerifiedReceipt,
        in post: ClientReceipt,
        eventID: Int64,
        receivedAt: Timestamp,
        settings: LegacySettings
    ) -> EventFacts {
        var facts = EventFacts(eventID: eventID, environment: receipt.environment, notificationUUID: nil)
        facts.add(receipt.reading())
        let named = post.transactionID.flatMap { id in facts.receipts.first { $0.key.id == id } }
        facts.posts = posts(of: facts.receipts, named: named, by: post.user, eventID: eventID, receivedAt: receivedAt)
        if settings.asksApple(about: receipt.bundleID) {
            facts.calls = [.verifyReceipt(about: receipt, eventID: eventID)]
            (facts.awaitedReceipts, facts.receipts, facts.effects, facts.unhandledReason) = (facts.receipts, [], [], nil)
            facts.remark = appleIsAsked
        }
        if post.transactionID != nil, named == nil { facts.remark = transactionNotInReceipt }
        return facts
    }

    /// One post for each contract in the receipt, in the receipt's order.
    private static func posts(
        of receipts: [ReceiptFact],
        named: ReceiptFact?,
        by user: String,
        eventID: Int64,
        receivedAt: Timestamp
    ) -> [ClientPost] {
        var seen: Set<String> = []
        return receipts.filter { seen.insert($0.originalTransactionID).inserted }.map { fact in
            let contract = LedgerKey(environment: fact.key.environment, id: fact.originalTransactionID)
            let ownNamed = named?.originalTransactionID == contract.id ? named?.key.id : nil
            return ClientPost(
                key: ClientPost.Key(contract: contract, user: user, isReceipt: true, transactionID: ownNamed),
                receivedAt: receivedAt,
                eventID: eventID
            )
        }
    }
}

extension ClientReceiptInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, legacy) = (reading.event, reading.reader.legacy)
        let post = try reading.decoded { () throws(ClientReceipt.Malformed) in try ClientReceipt(body: event.body) }
        let request = ClientRequest(post)
        reading.request = request
        let receipt = try reading.accepted(reading.verify(receipt: post.receiptData))
        try reading.refuseNUL(in: receipt)
        try request.check(receipt.environment, receipt.bundleID, reading.diagnostics)
        let facts = facts(of: receipt, in: post, eventID: event.id, receivedAt: event.receivedAt, settings: legacy)
        reading.labels.name(facts)
        return facts
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        "a receipt as the client has it: a fact of each purchase in it, and perhaps a question to Apple"
    }
}
