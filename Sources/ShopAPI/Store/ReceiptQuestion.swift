import Postgres

/// What has become of the question to Apple about a receipt.
struct ReceiptQuestion: Hashable, Sendable {
    /// Whether it is to be waited for: there is no answer, and nothing in its place, or it is not in the books yet.
    let isOpen: Bool
    /// Why Apple denied the receipt; nil when it did not.
    let denial: String?

    /// Nobody was asked.
    static let notAsked = ReceiptQuestion(isOpen: false, denial: nil)

    private init(isOpen: Bool, denial: String?) {
        self.isOpen = isOpen
        self.denial = denial
    }

    init(_ row: Row) throws {
        isOpen = try row.decode("is_open")
        denial = try row.decode("denied_because")
    }
}
