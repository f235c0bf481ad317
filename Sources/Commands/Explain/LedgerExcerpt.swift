import AppStore
import Ledger
import Postgres
import StrictJSON

/// The rows of the books that an event is about, as they are now.
struct LedgerExcerpt {
    /// The register of the charge, and the version of its JWS half; nil when only receipts have told of it.
    let transaction: (row: JSONObject, version: Version?)?
    /// The register of the contract's renewal, and its version.
    let subscription: (row: JSONObject, version: Version?)?
    /// The versions of the receipt halves of the charges that receipts in the event tell of, by transaction id.
    let receiptVersions: [String: Version]
    /// The same of the legacy registers of renewals.
    let legacyRenewalVersions: [V1RenewalFact.Key: Version]
    /// Rows of legacy registers of the contract's renewal.
    let legacyRenewals: [JSONObject]
    let contract: JSONObject?
    /// Who owned the contract from when, latest first.
    let claims: [JSONObject]
    let ownerLinks: [JSONObject]
    /// Whose apps posted transactions of the contract, or receipts that hold it.
    let posts: [JSONObject]
    /// The orders that the charge names or points to.
    let orders: [JSONObject]
    /// Those that the event has or would have, and those that are recorded under it.
    let effects: [JSONObject]
    let refundStatements: [JSONObject]
    /// The event that brought the notificationUUID first.
    let firstEvent: Int64?
    /// What was asked outside because of the event, and what became of it.
    let calls: [JSONObject]

    static func read(_ subject: ExplainedSubject, in transaction: Transaction) async throws -> LedgerExcerpt {
        let answers = try await transaction.pipeline([
            LedgerQuery.transaction(subject), LedgerQuery.subscription(subject), LedgerQuery.contract(subject), LedgerQuery.claims(subject),
            LedgerQuery.ownerLinks(subject), LedgerQuery.posts(subject), LedgerQuery.orders(subject), LedgerQuery.effects(subject),
            LedgerQuery.refundStatements(subject), LedgerQuery.firstEvent(subject), LedgerQuery.receiptHalves(subject),
            LedgerQuery.legacyRenewals(subject), LedgerQuery.calls(subject),
        ])
        return LedgerExcerpt(
            transaction: try answers[0].first?.register(),
            subscription: try answers[1].first?.register(),
            receiptVersions: try answers[10].versions(),
            legacyRenewalVersions: try answers[11].renewalVersions(in: subject),
            legacyRenewals: try answers[11].objects(),
            contract: try answers[2].first?.object(),
            claims: try answers[3].objects(),
            ownerLinks: try answers[4].objects(),
            posts: try answers[5].objects(),
            orders: try answers[6].objects(),
            effects: try answers[7].objects(),
            refundStatements: try answers[8].objects(),
            firstEvent: try answers[9].first?.decode("first_event_id"),
            calls: try answers[12].objects()
        )
    }
}

extension Row {
    /// A register's row and its place in the order of facts.
    fileprivate func register() throws -> (row: JSONObject, version: Version?) { (try object(), try version()) }

    /// Nil for a half without facts.
    fileprivate func version() throws -> Version? {
        guard let date = try decode("signed_date", as: PostgresTimestamp?.self), let hash = try decode("hash", as: [UInt8]?.self) else {
            return nil
        }
        return Version(signedDate: Timestamp(millisecondsSince1970: date.millisecondsSince1970), hash: hash)
    }
}

extension Rows {
    /// The version of each row, by its column `id`.
    fileprivate func versions() throws -> [String: Version] {
        var versions: [String: Version] = [:]
        for row in self { versions[try row.decode("id", as: String.self)] = try row.version() }
        return versions
    }

    /// The version of each legacy register.
    fileprivate func renewalVersions(in subject: ExplainedSubject) throws -> [V1RenewalFact.Key: Version] {
        var versions: [V1RenewalFact.Key: Version] = [:]
        for row in self {
            let contract = LedgerKey(environment: AppStoreEnvironment(rawValue: subject.environment), id: try row.decode("id"))
            versions[V1RenewalFact.Key(contract: contract, bundleID: try row.decode("bundle_id"))] = try row.version()
        }
        return versions
    }
}
