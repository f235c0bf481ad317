import AppStore

/// The keys of what happened to money: the same whoever tells of it.
enum EffectSubject {
    /// Of what was given: the period of a subscription, else the charge.
    static func grant(transactionID: String, contract: String, lineItemID: String?) -> String {
        lineItemID.map { "\(contract)/\($0)" } ?? transactionID
    }

    /// Of what was taken back. Receipts have whole seconds, and so has the key.
    static func revocation(transactionID: String, at date: Timestamp) -> String {
        "\(transactionID)/\(date.wholeSeconds.millisecondsSince1970)"
    }
}

extension Timestamp {
    /// This instant without its milliseconds, as receipts have it.
    var wholeSeconds: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970 / 1000 * 1000) }
}
