import Ledger

/// How the facts of an event stand to the registers of their keys.
struct FactStatuses {
    /// Of the charge in a JWS; nil when there is none.
    private(set) var transaction: FactStatus?
    /// Of the contract's renewal in a JWS; nil when there is none.
    private(set) var subscription: FactStatus?
    /// Of charges in receipts, in their order.
    private(set) var receipts: [(fact: ReceiptFact, standing: FactStatus)] = []
    /// Of renewals in a notification V1 or in Apple's answer, in their order.
    private(set) var legacyRenewals: [(fact: V1RenewalFact, standing: FactStatus)] = []

    /// When nothing is known of the books.
    init() {}

    /// - Parameter others: what other events say, to tell which of them brought what a register holds.
    init(of facts: EventFacts, in books: LedgerExcerpt, others: [EventFacts]) {
        transaction = facts.transaction.map { fact in
            let said = Said(others) { $0.transaction.map { [($0.key, $0.version)] } ?? [] }
            return FactStatus(of: fact.version, held: books.transaction?.version, others: said[fact.key])
        }
        subscription = facts.subscription.map { fact in
            let said = Said(others) { $0.subscription.map { [($0.key, $0.version)] } ?? [] }
            return FactStatus(of: fact.version, held: books.subscription?.version, others: said[fact.key])
        }
        let receiptsSaid = Said(others) { $0.receipts.map { ($0.key, $0.version) } }
        receipts = facts.receipts.map { fact in
            (fact, FactStatus(of: fact.version, held: books.receiptVersions[fact.key.id], others: receiptsSaid[fact.key]))
        }
        let renewalsSaid = Said(others) { $0.legacyRenewals.map { ($0.key, $0.version) } }
        legacyRenewals = facts.legacyRenewals.map { fact in
            (fact, FactStatus(of: fact.version, held: books.legacyRenewalVersions[fact.key], others: renewalsSaid[fact.key]))
        }
    }

    /// Versions that events stated, by key.
    private struct Said<Key: Hashable> {
        private var versions: [Key: [(eventID: Int64, version: Version)]] = [:]

        init(_ events: [EventFacts], _ facts: (EventFacts) -> [(key: Key, version: Version)]) {
            for event in events {
                for fact in facts(event) { versions[fact.key, default: []].append((event.eventID, fact.version)) }
            }
        }

        subscript(key: Key) -> [(eventID: Int64, version: Version)] { versions[key] ?? [] }
    }
}

extension LedgerExcerpt {
    /// Whether the registers hold all that the facts say; true also when there are none.
    func holds(_ facts: EventFacts?) -> Bool {
        guard let facts else { return true }
        return (facts.transaction == nil || facts.transaction?.version == transaction?.version)
            && (facts.subscription == nil || facts.subscription?.version == subscription?.version)
            && facts.receipts.allSatisfy { receiptVersions[$0.key.id] == $0.version }
            && facts.legacyRenewals.allSatisfy { legacyRenewalVersions[$0.key] == $0.version }
    }
}
