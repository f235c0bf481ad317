import Postgres

/// The state of the verifyReceipt call for a posted receipt.
struct VerifyReceiptCall: Hashable, Sendable {
    /// Whether the ledger has neither the answer nor the receipt used in its place.
    let isOpen: Bool
    /// Why Apple denied the receipt; nil if it did not.
    let denial: String?

    /// The receipt needs no call.
    static let notNeeded = VerifyReceiptCall(isOpen: false, denial: nil)

    private init(isOpen: Bool, denial: String?) {
        self.isOpen = isOpen
        self.denial = denial
    }

    init(_ row: Row) throws {
        isOpen = try row.decode("is_open")
        denial = try row.decode("denied_because")
    }
}
