import AppStore
import Ledger
import Postgres

/// The rows of the books that an event is about, as they are now.
struct BooksExcerpt {
    /// The register of the charge, and its version.
    let transaction: (row: JSONObject, version: Version)?
    /// The register of the contract's renewal, and its version.
    let subscription: (row: JSONObject, version: Version)?
    let contract: JSONObject?
    /// Who owned the contract from when, latest first.
    let claims: [JSONObject]
    let ownerLinks: [JSONObject]
    let submissions: [JSONObject]
    /// The orders that the charge names or points to.
    let orders: [JSONObject]
    /// Those that the event has or would have, and those that are recorded under it.
    let effects: [JSONObject]
    let refundStatements: [JSONObject]
    /// The event that brought the notificationUUID first.
    let firstEvent: Int64?

    static func read(_ subject: ExplainedSubject, in transaction: Transaction) async throws -> BooksExcerpt {
        let answers = try await transaction.pipeline([
            BooksQuery.transaction(subject), BooksQuery.subscription(subject), BooksQuery.contract(subject), BooksQuery.claims(subject),
            BooksQuery.ownerLinks(subject), BooksQuery.submissions(subject), BooksQuery.orders(subject), BooksQuery.effects(subject),
            BooksQuery.refundStatements(subject), BooksQuery.firstEvent(subject),
        ])
        return BooksExcerpt(
            transaction: try answers[0].first?.register(),
            subscription: try answers[1].first?.register(),
            contract: try answers[2].first?.object(),
            claims: try answers[3].objects(),
            ownerLinks: try answers[4].objects(),
            submissions: try answers[5].objects(),
            orders: try answers[6].objects(),
            effects: try answers[7].objects(),
            refundStatements: try answers[8].objects(),
            firstEvent: try answers[9].first?.decode("first_event_id")
        )
    }
}

extension Row {
    /// A register's row and its place in the order of facts.
    fileprivate func register() throws -> (row: JSONObject, version: Version) {
        let signedDate = try decode("signed_date", as: PostgresTimestamp.self)
        let version = Version(
            signedDate: Timestamp(millisecondsSince1970: signedDate.millisecondsSince1970),
            hash: try decode("hash", as: [UInt8].self)
        )
        return (try object(), version)
    }
}
