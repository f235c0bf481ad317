import AppStore
package import AppStoreVerification
package import Ledger

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
