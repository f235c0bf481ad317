import AppStore
import FoundationEssentials
import Ledger

/// All statements about one transactionId, in JWS and in receipts.
struct Charge {
    let environment: String
    let id: String
    let assertions: [Assertion]
    /// The latest JWS.
    let signed: Assertion?
    /// The latest receipt entry.
    let receipt: Assertion?
    /// The source of members that neither last nor change with the state: the JWS, if there is one.
    let constant: Assertion
    /// The source of variable members: the latest statement.
    let state: Assertion
    let contract: String
    let isPurchased: Bool
    let isSubscription: Bool
    let givesAccess: Bool
    let type: String?
    let ownership: String?
    let subscriptionGroup: String?
    let purchaseDate: Int64
    let expiresDate: Int64?
    let revocationDate: Int64?
    /// Milliseconds since 1970 of the first and of the latest statement.
    let firstSigned: Int64
    let lastSigned: Int64
    let token: String?
    /// The token of the oldest assertion that has one.
    let firstToken: String?
    /// The order number of the charge's purchase when no token pays; equal for all charges of the purchase.
    let period: String

    /// Nil without assertions.
    ///
    /// - Parameter postedTypes: the types of the charge in posted receipts whose charges Apple's answer brings.
    init?(id: String, assertions: [Assertion], postedTypes: [String] = []) {
        guard let state = assertions.max(by: Assertion.countsLess) else { return nil }
        let receipts = assertions.filter { $0.half == .receipt }
        let signed = assertions.filter { $0.half == .jws }.max(by: Assertion.older)
        // Not every form of a receipt has these members: a value once stated stays.
        func constantOrSaid(_ member: String, also others: [String] = []) -> String? {
            if let value = Self.newest(member, of: assertions.filter { $0.half == .jws }) { return value }
            return (receipts.compactMap { $0.text(member) } + others).max { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        self.id = id
        self.assertions = assertions
        self.state = state
        self.signed = signed
        receipt = receipts.max(by: Assertion.older)
        constant = signed ?? receipt ?? state
        environment = constant.environment
        contract = constant.text("originalTransactionId") ?? ""
        type = constantOrSaid("type", also: postedTypes)
        ownership = constantOrSaid("inAppOwnershipType")
        subscriptionGroup = constantOrSaid("subscriptionGroupIdentifier")
        isPurchased = ownership ?? "PURCHASED" == "PURCHASED"
        isSubscription =
            type.flatMap(Assertion.isSubscription) ?? signed?.saysSubscription ?? receipts.contains(where: \.saysSubscription)
        givesAccess = isSubscription || type == "Non-Consumable" || type == "Non-Renewing Subscription"
        let stated = constant.number("purchaseDate") ?? 0
        // Apple gives the date of the restore as the purchaseDate of a copy.
        let signedOriginal = Self.newest("originalPurchaseDate", of: assertions.filter { $0.half == .jws })
        let original = signedOriginal ?? receipt?.text("originalPurchaseDate")
        let isCopy = !isSubscription && type != "Consumable" && id != contract
        purchaseDate = isCopy ? original.flatMap { Int64($0) } ?? stated : stated
        expiresDate = state.number("expiresDate")
        revocationDate = state.number("revocationDate")
        firstSigned = assertions.map(\.signed).min() ?? 0
        lastSigned = assertions.map(\.signed).max() ?? 0
        firstToken = assertions.filter(\.namesOrder).min(by: Assertion.older)?.text("appAccountToken")
        // A receipt never replaces a token.
        token = signed == nil ? firstToken : constant.namesOrder ? constant.text("appAccountToken") : nil
        period = Self.period(of: constant, id: id, isSubscription: isSubscription, type: type)
    }

    var product: String { constant.text("productId") ?? "" }
    var bundle: String { constant.text("bundleId") ?? "" }
    var key: Key { Key(environment, contract) }

    /// Decimal numbers: compared by length first.
    static func isEarlier(_ left: Charge, _ right: Charge) -> Bool {
        left.purchaseDate != right.purchaseDate ? left.purchaseDate < right.purchaseDate : hasLowerNumber(left, right)
    }

    static func hasLowerNumber(_ left: Charge, _ right: Charge) -> Bool { left.id.isLowerNumber(than: right.id) }

    /// A member that cannot change: a newer statement without it does not remove it.
    func lasting(_ member: String) -> String? {
        if let value = Self.newest(member, of: assertions.filter { $0.half == .jws }) { return value }
        let isInReceipts = ["quantity", "originalPurchaseDate"].contains(member)
        return signed == nil || isInReceipts ? receipt?.text(member) : nil
    }

    private static func newest(_ member: String, of assertions: [Assertion]) -> String? {
        assertions.filter { $0.text(member) != nil }.max(by: Assertion.older)?.text(member)
    }

    /// Whether the transaction is another one than its purchase's original, which is known by originalTransactionId.
    var isCopyOfProduct: Bool { !isSubscription && type != "Consumable" && id != contract }

    /// The purchase that it grants.
    var grant: String {
        guard isSubscription else { return type == "Consumable" ? id : contract }
        return constant.text("webOrderLineItemId").map { "\(contract)/\($0)" } ?? id
    }

    private static func period(of assertion: Assertion, id: String, isSubscription: Bool, type: String?) -> String {
        let environment = AppStoreEnvironment(rawValue: assertion.environment)
        let contract = assertion.text("originalTransactionId") ?? ""
        guard isSubscription, let lineItem = assertion.text("webOrderLineItemId") else {
            let number = isSubscription || type == "Consumable" ? id : contract
            return OrderNumber.ofCharge(environment: environment, transactionID: number).text
        }
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

extension String {
    /// Compares decimal numbers.
    func isLowerNumber(than other: String) -> Bool { count != other.count ? count < other.count : self < other }
}

extension UUID {
    /// As PostgreSQL writes it.
    package var text: String { uuidString.lowercased() }
}
