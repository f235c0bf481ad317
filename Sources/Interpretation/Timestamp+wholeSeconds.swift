import AppStore

extension Timestamp {
    /// This instant without its milliseconds, as in receipts.
    var wholeSeconds: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970 / 1000 * 1000) }
}
