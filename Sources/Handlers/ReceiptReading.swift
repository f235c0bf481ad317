import AppStore
import Ledger

/// What one list of purchases says: a fact of each purchase that books can be kept of, and what has happened to it.
struct ReceiptReading {
    private(set) var facts: [ReceiptFact] = []
    private(set) var effects: [Effect] = []
    /// The missing member of each purchase that was left out.
    private(set) var missingMembers: [String] = []

    /// No list at all.
    static let nothing = ReceiptReading()

    private init() {}

    /// Where the list was found.
    struct Source {
        let environment: AppStoreEnvironment
        let bundleID: String
        let form: ReceiptFact.Form
        /// The version of all of it.
        let statedAt: Timestamp
    }

    /// A cancellation is another one's upgrade, not a refund, where another product of the same contract was bought so close to it: signed
    /// receipts tell no more, and a customer gets no refund in the minute in which he buys more.
    static let upgradeWindow = Duration.seconds(60)

    /// - Parameter told: entries that nothing vouches for as for the list itself. Where one names the same purchase with the same cancellation,
    ///   it may say what kind of cancellation that is, and nothing else.
    init(_ entries: [ReceiptEntry], from source: Source, classifiedBy told: [ReceiptTransaction] = []) {
        let cancelled = entries.contains { $0.cancellationDate != nil }
        let purchases = cancelled ? Dictionary(grouping: entries, by: \.contract) : [:]
        let hints = cancelled ? Dictionary(grouping: told, by: \.transactionID) : [:]
        facts.reserveCapacity(entries.count)
        for entry in entries {
            guard let transactionID = entry.transactionID, let productID = entry.productID, let purchaseDate = entry.purchaseDate,
                let contract = entry.contract
            else {
                missingMembers.append(entry.missingMember ?? "")
                continue
            }
            var content = entry.content
            var isFamilyShared = content.inAppOwnershipType == .familyShared
            if let date = entry.cancellationDate {
                let hints = (hints[transactionID] ?? []).filter { $0.cancellationDate?.wholeSeconds == date.wholeSeconds }
                content.isUpgraded =
                    entry.isUpgraded || hints.contains { $0.isUpgraded == true }
                    || Self.isUpgrade(entry, at: date, among: purchases[contract] ?? [])
                content.revocationDate = content.isUpgraded ? nil : date
                content.revocationReason = content.isUpgraded ? nil : entry.cancellationReason
                isFamilyShared = isFamilyShared || hints.contains { $0.inAppOwnershipType == .familyShared }
            } else {
                content.isUpgraded = entry.isUpgraded
            }
            let fact = ReceiptFact(
                key: LedgerKey(environment: source.environment, id: transactionID),
                statedAt: source.statedAt,
                form: source.form,
                originalTransactionID: contract,
                bundleID: source.bundleID,
                productID: productID,
                purchaseDate: purchaseDate,
                content: content
            )
            facts.append(fact)
            effects += fact.effects(isFamilyShared: isFamilyShared)
        }
    }

    private static func isUpgrade(_ entry: ReceiptEntry, at date: Timestamp, among purchases: [ReceiptEntry]) -> Bool {
        purchases.contains { other in
            guard let purchaseDate = other.purchaseDate, other.transactionID != entry.transactionID, other.productID != entry.productID
            else { return false }
            return purchaseDate >= date.advanced(by: .zero - upgradeWindow) && purchaseDate <= date.advanced(by: upgradeWindow)
        }
    }
}

extension EventFacts {
    /// Takes in lists of purchases, and why no book can be kept of those that were left out.
    mutating func take(_ readings: ReceiptReading...) {
        var known = Set(effects.map(\.key))
        for reading in readings {
            receipts += reading.facts
            effects += reading.effects.filter { known.insert($0.key).inserted }
        }
        let missing = readings.flatMap(\.missingMembers)
        guard let first = missing.first else { return }
        unhandledReason = "incomplete_transaction:\(first)" + (missing.count > 1 ? ":\(missing.count)" : "")
    }
}
