import AppStore

/// The subjects of grants and revocations: the same for every source of the fact.
enum EffectSubject {
    /// Of a grant: the period of a subscription, else the charge.
    static func grant(transactionID: String, contract: String, lineItemID: String?) -> String {
        lineItemID.map { "\(contract)/\($0)" } ?? transactionID
    }

    /// Of a refund or revocation. Receipts have whole seconds, hence the key has, too.
    static func revocation(transactionID: String, at date: Timestamp) -> String {
        "\(transactionID)/\(date.wholeSeconds.millisecondsSince1970)"
    }
}

extension Timestamp {
    /// This instant without its milliseconds, as in receipts.
    var wholeSeconds: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970 / 1000 * 1000) }
}
