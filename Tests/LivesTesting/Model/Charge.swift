import FoundationEssentials
import AppStore
import Ledger

/// All that was ever said of one transactionId.
struct Charge {
    let environment: String
    let id: String
    /// Oldest first.
    let assertions: [Assertion]
    let contract: String
    let isPurchased: Bool
    let isSubscription: Bool
    let givesAccess: Bool
    let purchaseDate: Int64
    let expiresDate: Int64?
    let revocationDate: Int64?
    let token: String?
    /// The token of the oldest assertion that has one.
    let firstToken: String?
    /// The number of the order that its period has when no token pays for it; all charges of one period have the same.
    let period: String

    init(id: String, assertions unsorted: [Assertion]) {
        self.id = id
        assertions = unsorted.sorted(by: Assertion.older)
        let latest = assertions[assertions.count - 1]
        environment = latest.environment
        contract = latest.text("originalTransactionId") ?? ""
        isPurchased = latest.text("inAppOwnershipType") != "FAMILY_SHARED"
        let type = latest.text("type")
        isSubscription = type == "Auto-Renewable Subscription"
        givesAccess = type != "Consumable"
        purchaseDate = latest.number("purchaseDate") ?? 0
        expiresDate = latest.number("expiresDate")
        revocationDate = latest.number("revocationDate")
        token = latest.text("appAccountToken")
        firstToken = assertions.lazy.compactMap { $0.text("appAccountToken") }.first
        period = Self.period(of: latest, id: id, isSubscription: isSubscription)
    }

    /// The latest assertion replaces the older ones as a whole.
    var latest: Assertion { assertions[assertions.count - 1] }
    var product: String { latest.text("productId") ?? "" }
    var bundle: String { latest.text("bundleId") ?? "" }
    var key: Key { Key(environment, contract) }

    /// Numbers are told apart by length first, for they are decimal.
    static func isEarlier(_ left: Charge, _ right: Charge) -> Bool {
        left.purchaseDate != right.purchaseDate ? left.purchaseDate < right.purchaseDate : hasLowerNumber(left, right)
    }

    static func hasLowerNumber(_ left: Charge, _ right: Charge) -> Bool {
        left.id.count != right.id.count ? left.id.count < right.id.count : left.id < right.id
    }

    private static func period(of assertion: Assertion, id: String, isSubscription: Bool) -> String {
        let environment = AppStoreEnvironment(rawValue: assertion.environment)
        guard isSubscription, let lineItem = assertion.text("webOrderLineItemId") else {
            return OrderNumber.ofCharge(environment: environment, transactionID: id).text
        }
        let contract = assertion.text("originalTransactionId") ?? ""
        return OrderNumber.ofPeriod(environment: environment, originalTransactionID: contract, webOrderLineItemID: lineItem).text
    }
}

/// An environment, and a number or name in it.
struct Key: Hashable {
    let environment: String
    let id: String

    init(_ environment: String, _ id: String) {
        self.environment = environment
        self.id = id
    }
}

extension UUID {
    /// As PostgreSQL writes it.
    package var text: String { uuidString.lowercased() }
}
